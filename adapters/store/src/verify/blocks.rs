//! What blocks of a pack hold, and the files of large artifacts.

use super::pack::PackCheck;
use super::part::{Lost, Part};
use crate::large_reader::{find_large, large_header, verify_large};
use crate::pack_scan::{read_payload, read_table};
use isobox_domain::content::ContentId;
use isobox_domain::verification::DefectKind;
use isobox_store_format::block::{Block, Member};
use isobox_store_format::entry::{EntryHeader, EntryKind, HEADER_LEN, Place};
use isobox_store_format::frame::decode_payload;
use std::io;
use std::sync::Arc;

impl PackCheck<'_> {
    /// A block: that its table is whole, and the content of its members where it is to be read.
    pub(super) fn block(&mut self, offset: u64, header: &EntryHeader) -> io::Result<()> {
        let Some(members) = read_table(self.file, offset, header)? else {
            self.damaged(offset, "the table of a block is damaged".into(), None);
            self.note_hurt(offset, offset + header.entry_length());
            return Ok(());
        };
        // The block itself was counted, and a table has at least one member.
        self.found.entries += members.len() as u64 - 1;
        for member in &members {
            self.span.remember(member.id);
            if member.kind == EntryKind::Large {
                self.large_file(member.id)?;
            }
        }
        if !members.iter().any(|member| self.how.takes(&member.id)) {
            return Ok(());
        }
        match Block::decode(header, &read_payload(self.file, offset, header)?) {
            Ok(block) => self.content_of(offset, &block),
            Err(error) => self.lose(offset, &members, error.to_string()),
        }
        Ok(())
    }

    fn content_of(&mut self, offset: u64, block: &Block) {
        let how = self.how;
        for (member, raw) in block.members().filter(|(member, _)| how.takes(&member.id)) {
            match raw {
                Ok(_) if member.kind == EntryKind::Large => {}
                Ok(raw) => self.has_read(raw.len() as u64),
                Err(error) => self.damaged(offset, error.to_string(), Some(member.id)),
            }
        }
    }

    /// All members of a block are damaged: one defect, by which the walk from the records names them.
    fn lose(&mut self, offset: u64, members: &[Member], reason: String) {
        let room = Part::MOST_LOST.saturating_sub(self.lost.len());
        let lost = members.iter().map(|member| Lost { object: member.id, pack: self.pack, offset });
        self.lost.extend(lost.take(room));
        self.damaged(offset, reason, None);
    }

    /// A reference to a large artifact, and its file.
    pub(super) fn large(&mut self, offset: u64, header: &EntryHeader) -> io::Result<()> {
        let payload = decode_payload(header, read_payload(self.file, offset, header)?);
        let named = payload.ok().as_deref().and_then(|bytes| bytes.first_chunk::<HEADER_LEN>().copied());
        let Some(named) = named.and_then(|bytes| EntryHeader::decode(&bytes, Place::Large).ok()) else {
            self.damaged(offset, "a reference to a large artifact is damaged".into(), None);
            return Ok(());
        };
        self.span.add(named.id, EntryKind::Large);
        self.large_file(named.id)
    }

    fn large_file(&mut self, id: ContentId) -> io::Result<()> {
        let layout = &self.store.shared.layout;
        let file = match find_large(&layout.large, &id) {
            Ok(Some(file)) => Arc::new(file),
            found => {
                // What lies there in its place, a link or a pipe for example, costs this artifact alone.
                let reason = found.err().map_or_else(|| "its file is missing".into(), |error| error.to_string());
                self.damaged_file(id, reason);
                return Ok(());
            }
        };
        match large_header(&file)?.filter(|header| header.id == id) {
            None => self.damaged_file(id, "its header or its length is damaged".into()),
            Some(_) if !self.how.takes(&id) => {}
            Some(header) => match verify_large(&file, &header)? {
                Ok(()) => self.has_read(header.raw_length),
                Err(error) => self.damaged_file(id, error.to_string()),
            },
        }
        Ok(())
    }

    fn damaged_file(&mut self, id: ContentId, reason: String) {
        let file = self.store.shared.layout.large.shown(&id.to_string()).to_string();
        self.add(DefectKind::Damaged { file, offset: 0, reason, object: Some(id) }, Vec::new());
    }
}
