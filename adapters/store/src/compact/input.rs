//! What a sealed pack holds that is to be taken over from it.

use crate::index::{Location, Pack};
use crate::lane_file::hash_file;
use crate::pack_scan::{PackScan, Step, read_header, read_payload};
use crate::store::Shared;
use isobox_domain::content::ContentId;
use isobox_store_format::entry::{EntryHeader, Place};
use isobox_store_format::frame::decode_payload;
use isobox_store_format::limits::MAX_ENTRIES;
use std::collections::HashMap;
use std::fs::File;
use std::io;

/// What stands behind the last COMMIT of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// A COMMIT elsewhere says that the pack was filled in its course.
    Committed,
    /// It may be of a put that goes on.
    Open,
}

/// A pack in which nothing is damaged, as far as its headers tell.
#[derive(Debug)]
pub(super) struct Input {
    file: File,
    /// Everything but the COMMITs, each with its place.
    pub(super) objects: Vec<(ContentId, Location)>,
    commits: Vec<u64>,
    /// What children are to their records: numbers of roles.
    roles: HashMap<ContentId, u8>,
}

/// Whether the bytes of a sealed pack are those that it is named after: one that was cut off may look whole.
fn bears_its_name(pack: Pack, file: &File) -> io::Result<bool> {
    Ok(matches!(pack, Pack::Sealed(id) if hash_file(file)? == id))
}

impl Input {
    /// Goes through the headers of `pack`; the reason if it cannot be taken over.
    pub(super) fn open(store: &Shared, pack: Pack, rest: Rest) -> io::Result<Result<Self, String>> {
        let file = pack.open(&store.layout)?;
        if !bears_its_name(pack, &file)? {
            return Ok(Err("its bytes are not those that it is named after".into()));
        }
        let (objects, commits, roles) = (Vec::new(), Vec::new(), HashMap::new());
        let mut input = Self { file: file.try_clone()?, objects, commits, roles };
        let mut scan = PackScan::new(store.layout.format.store, pack, &file, 0, file.metadata()?.len());
        let mut uncommitted = Vec::new();
        while let Some(step) = scan.find_next()? {
            match step {
                Step::Damage { offset, .. } => return Ok(Err(format!("it is damaged at {offset}"))),
                Step::Entry(id, location) => uncommitted.push((id, location)),
                Step::Block { offset, members, is_certain } => {
                    let at = |kind| Location { pack, offset, kind, is_certain, is_member: true };
                    input.objects.extend(members.into_iter().map(|member| (member.id, at(member.kind))));
                }
                Step::Commit { commit, offset, .. } => {
                    input.objects.append(&mut uncommitted);
                    // No pack has more objects than that, so more of them can only be those of others.
                    if input.roles.len() < MAX_ENTRIES as usize {
                        input.roles.extend(commit.children.iter().map(|child| (child.reference.id, child.role)));
                    }
                    input.commits.push(offset);
                }
            }
        }
        if !uncommitted.is_empty() && rest == Rest::Open {
            return Ok(Err("no COMMIT follows its last entries".into()));
        }
        input.objects.append(&mut uncommitted);
        Ok(Ok(input))
    }

    /// What `id` is to the record that names it, if one in this pack does.
    pub(super) fn role(&self, id: &ContentId) -> Option<u8> {
        self.roles.get(id).copied()
    }

    /// Its COMMITs, each as it stands; the reason if one cannot be taken over.
    pub(super) fn commits(&self) -> impl Iterator<Item = io::Result<Result<(EntryHeader, Vec<u8>), String>>> {
        self.commits.iter().map(|offset| self.commit(*offset))
    }

    fn commit(&self, offset: u64) -> io::Result<Result<(EntryHeader, Vec<u8>), String>> {
        let damaged = || format!("it is damaged at {offset}");
        let Some(header) = read_header(&self.file, offset, Place::Pack)? else { return Ok(Err(damaged())) };
        let payload = read_payload(&self.file, offset, &header)?;
        let is_sound = decode_payload(&header, payload.clone()).is_ok();
        Ok(if is_sound { Ok((header, payload)) } else { Err(damaged()) })
    }
}
