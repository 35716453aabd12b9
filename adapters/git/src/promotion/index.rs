//! Staging: an index that matches what was written, put in place under Git's own lock.

use super::dir::{Dir, identify, sync_file, write_all};
use super::journal::{Entry, JournalReader, New};
use super::paths::parent_of;
use super::permissions::create_own_file;
use super::site::{INDEX_HASH, INDEX_HASH_DRAFT, NEW_INDEX, Site};
use super::target::{Normalised, Target};
use super::trouble::{conflict, while_doing, while_doing_to};
use gix::bstr::ByteSlice;
use gix::index::entry::{Flags, Mode as IndexEntryMode, Stage, Stat};
use gix::objs::{Exists, Write as _};
use isobox_domain::change::Mode;
use isobox_domain::content::ContentRef;
use isobox_ports::ApplyError;
use nix::unistd::geteuid;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Write};

const INDEX: &[u8] = b"index";
/// Git's own lock of the index: who may make it may replace the index by it.
const LOCK: &[u8] = b"index.lock";

/// Writes the index that matches what was performed, and takes Git's lock with it. The index itself is not replaced yet.
pub(super) fn take(target: &Target<'_>, site: &Site) -> Result<(), ApplyError> {
    let before = identity(&site.git_dir, INDEX).map_err(while_doing("read the index"))?;
    let index = updated(target, site)?;
    let write = || {
        let after = write_draft(site, &index)?;
        note_hash(site, after)?;
        site.git_dir.sync_file_system()
    };
    write().map_err(while_doing("write the new index"))?;
    match site.state.move_to(NEW_INDEX, &site.git_dir, LOCK) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(conflict(LOCK, "another git process seems to be using the index"));
        }
        taken => taken.map_err(while_doing("lock the index"))?,
    }
    match identity(&site.git_dir, INDEX).map_err(while_doing("read the index"))? {
        now if now == before => Ok(()),
        _ => Err(conflict(INDEX, "it was changed while the promotion was in progress")),
    }
}

/// Replaces the index by the one that holds its lock, if that was not done yet.
pub(super) fn replace(site: &Site) -> Result<(), ApplyError> {
    let replace = || {
        if holds_lock(site)? {
            site.git_dir.replace(LOCK, INDEX)?;
            site.git_dir.sync()?;
        }
        Ok(())
    };
    replace().map_err(while_doing("replace the index"))
}

/// Gives Git's lock back, if it was taken.
pub(super) fn give_back(site: &Site) -> Result<(), ApplyError> {
    let give_back = || match holds_lock(site)? && site.state.stat(NEW_INDEX)?.is_none() {
        true => site.git_dir.move_to(LOCK, &site.state, NEW_INDEX),
        false => Ok(()),
    };
    give_back().map_err(while_doing("unlock the index"))
}

/// Whether the lock is the index that this Promotion wrote.
fn holds_lock(site: &Site) -> io::Result<bool> {
    if site.state.stat(INDEX_HASH)?.is_none() {
        return Ok(false);
    }
    let mut hash = [0; 32];
    site.state.open_file(INDEX_HASH)?.read_exact(&mut hash)?;
    Ok(identity(&site.git_dir, LOCK)?.is_some_and(|lock| *lock.id.as_bytes() == hash))
}

fn identity(dir: &Dir, name: &[u8]) -> io::Result<Option<ContentRef>> {
    match dir.stat(name)? {
        Some(_) => identify(dir.open_file(name)?).map(Some),
        None => Ok(None),
    }
}

/// The index as it is, with every changed path as it was written.
fn updated(target: &Target<'_>, site: &Site) -> Result<gix::index::File, ApplyError> {
    let opened = target.git().open_index();
    let mut index = opened.map_err(|e| ApplyError::Io { operation: "read the index".into(), source: e.into() })?;
    let journal = site.journal().and_then(JournalReader::new).map_err(while_doing("read the journal"))?;
    let (mut removed, mut added) = (HashSet::new(), Vec::new());
    for entry in journal {
        let (_, entry) = entry.map_err(while_doing("read the journal"))?;
        let path = entry.path.as_bytes();
        for stage in [Stage::Unconflicted, Stage::Base, Stage::Ours, Stage::Theirs] {
            removed.extend(index.entry_index_by_path_and_stage(path.as_bstr(), stage));
        }
        if let Some(new) = entry.new {
            let staged = staged(target, site, &entry, new).map_err(while_doing_to("stage in the index", path))?;
            added.push((entry.path, staged));
        }
    }
    index.remove_entries(|at, _, _| removed.contains(&at));
    for (path, (stat, id, mode)) in added {
        index.dangerously_push_entry(stat, id, Flags::empty(), mode, path.as_bytes().as_bstr());
    }
    index.sort_entries();
    // It describes the trees of the old entries.
    index.remove_tree();
    Ok(index)
}

fn staged(
    target: &Target<'_>,
    site: &Site,
    entry: &Entry,
    new: New,
) -> io::Result<(Stat, gix::ObjectId, IndexEntryMode)> {
    let parent = site.root.open_below(parent_of(entry.path.as_bytes()))?;
    let name = entry.path.file_name();
    let metadata = gix::index::fs::Metadata::from_file(&parent.open_itself(name)?)?;
    let stat = Stat::from_fs(&metadata).map_err(io::Error::other)?;
    let (id, mode) = match new.mode {
        Mode::Symlink => {
            let link = parent.read_link(name)?;
            (write_blob(target.git(), Normalised::Bytes(&link))?, IndexEntryMode::SYMLINK)
        }
        _ => {
            let id = target.convert(&entry.path, parent.open_file(name)?, |git, content| {
                let again = parent.open_file(name)?;
                write_blob(
                    git,
                    match content {
                        Normalised::File(_) => Normalised::File(again),
                        bytes => bytes,
                    },
                )
            })?;
            (id, if new.mode == Mode::Executable { IndexEntryMode::FILE_EXECUTABLE } else { IndexEntryMode::FILE })
        }
    };
    hand_over(target.git(), &id)?;
    Ok((stat, id, mode))
}

/// Writes a blob unless it is there; a file without holding it in memory.
fn write_blob(git: &gix::Repository, content: Normalised<'_>) -> io::Result<gix::ObjectId> {
    let id = content.oid(git)?;
    if git.objects.exists(&id) {
        return Ok(id);
    }
    crate::fault::step()?;
    let kind = gix::objs::Kind::Blob;
    let written = match content {
        Normalised::Bytes(bytes) => git.objects.write_buf(kind, bytes),
        Normalised::File(mut file) => {
            io::Seek::rewind(&mut file)?;
            let length = file.metadata()?.len();
            git.objects.write_stream(kind, length, &mut file)
        }
    };
    written.map_err(io::Error::other)
}

/// Gives a loose object that root wrote to the owner of the repository.
pub(super) fn hand_over(git: &gix::Repository, id: &gix::oid) -> io::Result<()> {
    let common_dir = Dir::open(git.common_dir())?;
    let owner = common_dir.stat_self()?;
    if !geteuid().is_root() || owner.st_uid == 0 {
        return Ok(());
    }
    let hex = id.to_hex().to_string().into_bytes();
    let (fan_out, rest) = hex.split_at(2);
    let objects = common_dir.open_below(b"objects")?;
    let Some(stat) = objects.stat(fan_out)? else { return Ok(()) };
    let directory = objects.open_below(fan_out)?;
    if stat.st_uid == 0 {
        objects.change_owner(fan_out, owner.st_uid, owner.st_gid)?;
    }
    match directory.stat(rest)? {
        Some(stat) if stat.st_uid == 0 => directory.change_owner(rest, owner.st_uid, owner.st_gid),
        _ => Ok(()),
    }
}

/// Writes the new index with owner and bits of the old one.
fn write_draft(site: &Site, index: &gix::index::File) -> io::Result<ContentRef> {
    let file = site.state.create_file(NEW_INDEX, 0o666)?;
    let mut out = Buffered { file: &file, buffer: Vec::new() };
    index.write_to(&mut out, gix::index::write::Options::default()).map_err(io::Error::other)?;
    out.flush()?;
    if let Some(old) = site.git_dir.stat(INDEX)? {
        if geteuid().is_root() {
            site.state.change_owner(NEW_INDEX, old.st_uid, old.st_gid)?;
        }
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(old.st_mode & 0o777))?;
    }
    sync_file(&file)?;
    identify(site.state.open_file(NEW_INDEX)?)
}

fn note_hash(site: &Site, index: ContentRef) -> io::Result<()> {
    let mut draft = create_own_file(&site.state, INDEX_HASH_DRAFT)?;
    write_all(&mut draft, index.id.as_bytes())?;
    sync_file(&draft)?;
    site.state.replace(INDEX_HASH_DRAFT, INDEX_HASH)?;
    site.state.sync()
}

/// Writes in pieces of 64 KiB, each one step.
struct Buffered<'a> {
    file: &'a File,
    buffer: Vec<u8>,
}

impl Write for Buffered<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= super::dir::CHUNK_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        write_all(&mut self.file, &self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}
