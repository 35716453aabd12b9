//! Moving: everything out of the way, then everything into its place; and the way back.
//!
//! A path is changed by at most two renames, and what the stage holds tells which of them were done: `old/<n>` is there
//! once the old file was moved away, `new/<n>` is gone once the new one is in its place. So every step can be repeated,
//! and every step can be undone, however often the process is killed.

use super::dir::{Dir, is_dir};
use super::journal::{Entry, Fingerprint, JournalReader, New, Old};
use super::paths::{component_ends, parent_of, split};
use super::permissions::Permissions;
use super::prepare::is_staged;
use super::site::Site;
use super::survey::count_things;
use super::trouble::{conflict, while_doing, while_doing_to};
use isobox_domain::repo_path::RepoPath;
use isobox_ports::ApplyError;
use std::io;
use std::os::unix::ffi::OsStrExt;

/// Performs every change of the journal, durably.
pub(super) fn perform(site: &Site) -> Result<(), ApplyError> {
    let mut mover = Mover::new(site);
    // All deletions first: a directory can take the place of a file, and a file that of an emptied directory.
    each_entry(site, |name, entry| match entry.new {
        None => mover.move_away(name, entry),
        Some(_) => Ok(()),
    })?;
    each_entry(site, |name, entry| match entry.new {
        Some(_) => mover.move_away(name, entry).and_then(|()| mover.put(name, entry)),
        None => Ok(()),
    })?;
    site.root.sync_file_system().map_err(while_doing("flush the working tree"))
}

/// Undoes whatever of the journal was performed, durably.
pub(super) fn undo(site: &Site) -> Result<(), ApplyError> {
    let mut mover = Mover::new(site);
    each_entry(site, |name, entry| match entry.new {
        Some(new) => {
            mover.take_back(name, entry, new)?;
            mover.remove_made_parents(entry)?;
            mover.restore(name, entry)
        }
        None => Ok(()),
    })?;
    each_entry(site, |name, entry| match entry.new {
        None => mover.restore(name, entry),
        Some(_) => Ok(()),
    })?;
    site.root.sync_file_system().map_err(while_doing("flush the working tree"))
}

/// Removes the directories that the deletions left empty, as Git does.
pub(super) fn remove_emptied_directories(site: &Site) -> Result<(), ApplyError> {
    each_entry(site, |_, entry| {
        if entry.new.is_some() {
            return Ok(());
        }
        let parent = parent_of(entry.path.as_bytes());
        for end in component_ends(parent).rev() {
            let is_gone = remove_if_empty(site, &parent[..end]).map_err(while_doing_to("remove", &parent[..end]))?;
            if !is_gone {
                break;
            }
        }
        Ok(())
    })
}

/// Hands every entry with the name of its contents in the stage to `act`.
fn each_entry(site: &Site, mut act: impl FnMut(&[u8], &Entry) -> Result<(), ApplyError>) -> Result<(), ApplyError> {
    let reading = "read the journal";
    let journal = site.journal().and_then(JournalReader::new).map_err(while_doing(reading))?;
    for entry in journal {
        let (number, entry) = entry.map_err(while_doing(reading))?;
        act(number.to_string().as_bytes(), &entry)?;
    }
    Ok(())
}

/// Moves things between the stage and the working tree.
struct Mover<'a> {
    site: &'a Site,
    parent: Option<(Vec<u8>, Dir)>,
}

impl<'a> Mover<'a> {
    fn new(site: &'a Site) -> Self {
        Self { site, parent: None }
    }

    /// The directory of `path`.
    fn parent(&mut self, path: &RepoPath) -> io::Result<&Dir> {
        let wanted = parent_of(path.as_bytes());
        let (_, dir) = match self.parent.take() {
            Some(known) if known.0 == wanted => self.parent.insert(known),
            _ => self.parent.insert((wanted.to_vec(), self.site.root.open_below(wanted)?)),
        };
        Ok(dir)
    }

    fn move_away(&mut self, name: &[u8], entry: &Entry) -> Result<(), ApplyError> {
        let path = entry.path.as_bytes();
        if entry.old == Old::Nothing {
            return Ok(());
        }
        let old = &self.site.old;
        let moved = self.parent(&entry.path).and_then(|parent| parent.move_to(entry.path.file_name(), old, name));
        match moved {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(conflict(path, "it is not there any more"));
            }
            // On an overlay file system, a directory of a lower layer cannot be renamed. Its own permissions are then
            // lost if this is undone: what was in it is put back into a fresh one.
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices && entry.old == Old::Directory => {
                let parent = self.parent(&entry.path).map_err(while_doing_to("open the directory of", path))?;
                return remove_empty_tree(parent, entry.path.file_name()).map_err(while_doing_to("remove", path));
            }
            moved => moved.map_err(while_doing_to("move away", path))?,
        }
        let is_expected = self.is_expected(name, entry.old).map_err(while_doing_to("look at", path))?;
        if is_expected { Ok(()) } else { Err(conflict(path, "it was changed while the promotion was in progress")) }
    }

    /// Whether what was moved away is what was looked at. Only now nobody else can move something else there.
    fn is_expected(&self, name: &[u8], old: Old) -> io::Result<bool> {
        let Some(stat) = self.site.old.stat(name)? else { return Ok(false) };
        match old {
            Old::File(fingerprint) => Ok(Fingerprint::of(&stat) == fingerprint),
            Old::Directory => Ok(is_dir(&stat) && count_things(&self.site.old.open_below(name)?)? == Some(0)),
            Old::Nothing => Ok(true),
        }
    }

    fn put(&mut self, name: &[u8], entry: &Entry) -> Result<(), ApplyError> {
        let path = entry.path.as_bytes();
        self.make_parents(&entry.path, entry.existing_parents)
            .map_err(while_doing_to("make the directory of", path))?;
        let new = &self.site.new;
        let put = self.parent(&entry.path).and_then(|parent| new.move_to(name, parent, entry.path.file_name()));
        match put {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(conflict(path, "something appeared in its place while the promotion was in progress"))
            }
            put => put.map_err(while_doing_to("write", path)),
        }
    }

    /// Makes the directories above a path, of which `existing` are there.
    fn make_parents(&mut self, path: &RepoPath, existing: u16) -> io::Result<()> {
        let parent = parent_of(path.as_bytes());
        if self.parent.as_ref().is_some_and(|(known, _)| known == parent) {
            return Ok(());
        }
        for end in component_ends(parent).skip(usize::from(existing)) {
            let (above, name) = split(&parent[..end]);
            let above = self.site.root.open_below(above)?;
            match above.make_dir(name, 0o777) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            let permissions = Permissions::of_directory(&above.stat_self()?, &self.site.root.stat_self()?);
            permissions.set_on_directory(&above, name)?;
        }
        Ok(())
    }

    /// Takes a new file back into the stage, if it is in its place.
    fn take_back(&mut self, name: &[u8], entry: &Entry, new: New) -> Result<(), ApplyError> {
        let path = entry.path.as_bytes();
        if self.site.new.stat(name).map_err(while_doing_to("look for the staged content of", path))?.is_some() {
            return Ok(());
        }
        let stage = &self.site.new;
        let parent = match self.parent(&entry.path) {
            // Somebody removed it since, and all above it.
            Err(error) if is_absent(&error) => return Ok(()),
            parent => parent.map_err(while_doing_to("open the directory of", path))?,
        };
        let file_name = entry.path.file_name();
        if parent.stat(file_name).map_err(while_doing_to("look at", path))?.is_none() {
            return Ok(());
        }
        if !is_staged(parent, file_name, new).map_err(while_doing_to("look at", path))? {
            return Err(conflict(path, "it was changed after the interrupted promotion; move it away, then try again"));
        }
        parent.move_to(file_name, stage, name).map_err(while_doing_to("take back", path))
    }

    /// Puts an old file back, if it was moved away.
    fn restore(&mut self, name: &[u8], entry: &Entry) -> Result<(), ApplyError> {
        let path = entry.path.as_bytes();
        let old = &self.site.old;
        if old.stat(name).map_err(while_doing_to("look for the old content of", path))?.is_none() {
            return Ok(());
        }
        // Somebody may have removed the directories above it since.
        self.make_parents(&entry.path, 0).map_err(while_doing_to("make the directory of", path))?;
        let restored = self.parent(&entry.path).and_then(|parent| old.move_to(name, parent, entry.path.file_name()));
        match restored {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(conflict(path, "something else is in its place; move it away, then try again"))
            }
            restored => restored.map_err(while_doing_to("put back", path)),
        }
    }

    /// Removes the directories that were made for a path, as far as they are empty.
    fn remove_made_parents(&mut self, entry: &Entry) -> Result<(), ApplyError> {
        let parent = parent_of(entry.path.as_bytes());
        let made = component_ends(parent).skip(usize::from(entry.existing_parents)).collect::<Vec<_>>();
        for end in made.into_iter().rev() {
            self.parent = None;
            remove_if_empty(self.site, &parent[..end]).map_err(while_doing_to("remove", &parent[..end]))?;
        }
        Ok(())
    }
}

/// Removes a directory; says whether it is gone. One that is in use, or not ours to remove, stays.
fn remove_if_empty(site: &Site, path: &[u8]) -> io::Result<bool> {
    let (above, name) = split(path);
    let removed = site.root.open_below(above).and_then(|above| above.remove_dir(name));
    match removed {
        Ok(()) => Ok(true),
        Err(error) if is_absent(&error) => Ok(error.kind() == io::ErrorKind::NotFound),
        Err(error) => match error.kind() {
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists | io::ErrorKind::ResourceBusy => Ok(false),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Ok(false),
            _ => Err(error),
        },
    }
}

/// Removes a directory below which there is nothing but directories.
pub(super) fn remove_empty_tree(parent: &Dir, name: &[u8]) -> io::Result<()> {
    let dir = parent.open_below(name)?;
    for below in dir.names()? {
        remove_empty_tree(&dir, below?.as_bytes())?;
    }
    parent.remove_dir(name)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error().map(nix::Error::from_raw),
        Some(nix::Error::ENOENT | nix::Error::ENOTDIR | nix::Error::ELOOP)
    )
}
