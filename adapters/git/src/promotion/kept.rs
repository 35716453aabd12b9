//! What the last Promotion replaced, kept so that it can be taken back: its journal, and the old files.
//!
//! `<common Git directory>/isobox/undo/` has `place`, `journal` and `old/<n>`, as `site` describes them. The journal is
//! moved there last: without it, what is there belongs to a Promotion that has not been forgotten yet.

use super::dir::{Dir, identify, is_file, is_link};
use super::journal::{Entry, JournalReader, Old};
use super::permissions::make_own_dir;
use super::site::{JOURNAL, OLD, PLACE, Place, Site};
use crate::fields::invalid;
use isobox_domain::change::{After, Before, Change, ChangeLine, ChangeSetRef, Mode};
use isobox_domain::content::ContentId;
use isobox_domain::git_oid::GitOid;
use isobox_ports::{ChangeLines, Content, ObjectStore, StoreError, StoreErrorKind};
use std::collections::HashMap;
use std::io;

const UNDO: &[u8] = b"undo";

/// Keeps what a finished Promotion replaced, in place of what an earlier one did, and forgets its journal with that. Nothing is
/// kept where that would take a copy: the working tree lies on another file system.
pub(super) fn keep(home: &Dir, site: &Site) -> io::Result<()> {
    if !is_begun(home, site)? {
        home.remove_all(UNDO)?;
        make_own_dir(home, UNDO)?;
    }
    let undo = home.open_below(UNDO)?;
    if undo.stat(OLD)?.is_none() {
        match site.stage.move_to(OLD, &undo, OLD) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => return home.remove_all(UNDO),
            moved => moved?,
        }
    }
    undo.remove_file(PLACE)?;
    site.write_place(&undo)?;
    site.state.move_to(JOURNAL, &undo, JOURNAL)?;
    site.state.sync()
}

/// Whether what is kept is this Promotion's: a kill came while it was being kept. One that came while an earlier one's was
/// being removed leaves some of that, also without its journal, while the stage has what this one replaced still.
fn is_begun(home: &Dir, site: &Site) -> io::Result<bool> {
    if home.stat(UNDO)?.is_none() {
        return Ok(false);
    }
    let undo = home.open_below(UNDO)?;
    if undo.stat(JOURNAL)?.is_some() {
        return Ok(false);
    }
    Ok(undo.stat(OLD)?.is_none() || site.old.names()?.next().is_none())
}

/// The last Promotion into a working tree.
pub(super) struct Kept {
    pub(super) receipt: Vec<u8>,
    changes: Vec<Change>,
    contents: HashMap<ContentId, (Vec<u8>, Mode)>,
    old: Dir,
}

impl Kept {
    /// What was kept for the working tree `root`.
    pub(super) fn load(home: &Dir, root: &Dir) -> io::Result<Option<Self>> {
        if home.stat(UNDO)?.is_none() {
            return Ok(None);
        }
        let undo = home.open_below(UNDO)?;
        if undo.stat(JOURNAL)?.is_none() || !Place::names_root(&undo, root)? {
            return Ok(None);
        }
        let mut journal = JournalReader::new(undo.open_file(JOURNAL)?)?;
        let old = undo.open_below(OLD)?;
        let mut kept = Self { receipt: Vec::new(), changes: Vec::new(), contents: HashMap::new(), old };
        for entry in journal.by_ref() {
            let (number, entry) = entry?;
            kept.add(number.to_string().into_bytes(), entry)?;
        }
        kept.receipt = journal.into_receipt();
        Ok(Some(kept))
    }

    /// Adds the way back of one path.
    fn add(&mut self, name: Vec<u8>, entry: Entry) -> io::Result<()> {
        let oid = GitOid::Sha1([0; 20]);
        let before = entry.new.map(|new| Before { mode: new.mode, oid, content: Some(new.content) });
        let after = match entry.old {
            // What was moved away with a directory were empty directories.
            Old::Nothing | Old::Directory => None,
            Old::File(_) => Some(self.after(name)?),
        };
        self.changes.push(Change { path: entry.path, before, after, renamed_from: None, submodule: None });
        Ok(())
    }

    fn after(&mut self, name: Vec<u8>) -> io::Result<After> {
        let stat = self.old.stat(&name)?.ok_or_else(|| invalid("a file that was replaced is not there any more"))?;
        let (mode, content) = if is_link(&stat) {
            (Mode::Symlink, identify(self.old.read_link(&name)?.as_slice())?)
        } else if is_file(&stat) {
            let mode = if stat.st_mode & 0o100 != 0 { Mode::Executable } else { Mode::File };
            (mode, identify(self.old.open_file(&name)?)?)
        } else {
            return Err(invalid("what was replaced is neither a file nor a link"));
        };
        self.contents.insert(content.id, (name, mode));
        Ok(After { mode, content, binary: false })
    }

    /// The changes that take it back.
    pub(super) fn lines(&self) -> ChangeLines<'_> {
        Box::new(self.changes.iter().cloned().map(|change| Ok(ChangeLine::Change(change))))
    }
}

impl ObjectStore for Kept {
    fn open(&self, id: &ContentId) -> Result<Option<Content>, StoreError> {
        let Some((name, mode)) = self.contents.get(id) else { return Ok(None) };
        let opened: io::Result<Content> = match mode {
            Mode::Symlink => self.old.read_link(name).map(|target| Box::new(io::Cursor::new(target)) as Content),
            _ => self.old.open_file(name).map(|file| Box::new(file) as Content),
        };
        opened.map(Some).map_err(|source| StoreError {
            kind: StoreErrorKind::Io,
            operation: "read what a promotion replaced,",
            subject: id.to_string(),
            source: source.into(),
        })
    }

    fn changes(&self, _: &ChangeSetRef) -> Result<ChangeLines<'_>, StoreError> {
        Ok(self.lines())
    }
}
