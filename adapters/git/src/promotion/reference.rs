//! The reference that names a Promotion's commit: HEAD's branch, HEAD itself, or a branch that is made, and removed to take
//! the Promotion back.
//!
//! As with the index, Git's own lock is taken before the point of no return, holding what the reference is to be; after
//! it, renaming the lock is all that is left to do.

use super::dir::{Dir, is_dir, sync_file, write_all};
use super::perform::remove_empty_tree;
use super::permissions::{create_own_file, give_to_owner};
use super::site::{NEW_REFERENCE, REFERENCE, REFERENCE_DRAFT, Site};
use super::trouble::{refused, while_doing};
use crate::fields::invalid;
use crate::oid;
use gix::bstr::{BStr, ByteSlice};
use isobox_domain::escape::Escaped;
use isobox_domain::git_oid::GitOid;
use isobox_ports::ApplyError;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;

const MAGIC: &[u8] = b"ISOBOX-REFERENCE 1";
const LOCK: &[u8] = b".lock";
const MAX_NOTE_BYTES: u64 = 64 * 1024;
const HEAD: &[u8] = b"HEAD";
const BRANCHES: &[u8] = b"refs/heads/";
const PACKED: &[u8] = b"packed-refs";
const LOGS: &[u8] = b"logs";

/// A reference that is moved, as its note in the stage says: a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Move {
    /// The reference: `HEAD` of the working tree, or a branch of the common Git directory.
    pub(super) name: Vec<u8>,
    /// What it names before, in hexadecimal digits; all zeros: it is not there.
    pub(super) old: String,
    /// What it names after; all zeros: it is removed.
    pub(super) new: String,
    /// Who moves it, when and why, as a log of references says so; empty where none is kept.
    pub(super) log: Vec<u8>,
    /// Whether HEAD names the reference, so that its log is written too.
    pub(super) is_head: bool,
}

impl Move {
    fn encode(&self) -> Vec<u8> {
        let is_head: &[u8] = if self.is_head { b"head" } else { b"other" };
        let end: &[u8] = b"";
        [MAGIC, &self.name, self.old.as_bytes(), self.new.as_bytes(), is_head, &self.log, end].join(&b'\n')
    }

    fn load(site: &Site) -> io::Result<Option<Self>> {
        if site.state.stat(REFERENCE)?.is_none() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        site.state.open_file(REFERENCE)?.take(MAX_NOTE_BYTES).read_to_end(&mut bytes)?;
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let [MAGIC, name, old, new, is_head, log, b""] = lines[..] else {
            return Err(invalid("it does not say which reference is moved"));
        };
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(io::Error::other);
        let is_head = is_head == b"head";
        Ok(Some(Self { name: name.to_vec(), old: text(old)?, new: text(new)?, log: log.to_vec(), is_head }))
    }

    /// The directory that the reference lies in, and its name there.
    fn place(&self, site: &Site) -> io::Result<(Dir, Vec<u8>)> {
        let base = if self.name == HEAD { &site.git_dir } else { &site.common_dir };
        let (above, name) = super::paths::split(&self.name);
        Ok((base.open_below(above)?, name.to_vec()))
    }

    /// Whether the reference is removed.
    fn is_removal(&self) -> bool {
        self.new.bytes().all(|digit| digit == b'0')
    }

    fn content(&self) -> Vec<u8> {
        [self.new.as_bytes(), b"\n"].concat()
    }

    /// Whether Git's lock of the reference is what this Promotion wrote.
    fn holds_lock(&self, site: &Site) -> io::Result<bool> {
        let (dir, name) = match self.place(site) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            place => place?,
        };
        let lock = [&name, LOCK].concat();
        if site.state.stat(NEW_REFERENCE)?.is_some() || dir.stat(&lock)?.is_none() {
            return Ok(false);
        }
        let mut found = Vec::new();
        dir.open_file(&lock)?.take(MAX_NOTE_BYTES).read_to_end(&mut found)?;
        Ok(found == self.content())
    }
}

/// What HEAD, which is at `old`, or the branch that it names is moved by.
pub(super) fn of_head(git: &gix::Repository, old: &GitOid, new: &GitOid) -> Result<Move, ApplyError> {
    let head = git.head().map_err(|e| failure(e.into()))?;
    let name = head.referent_name().map_or(HEAD.to_vec(), |name| name.as_bstr().to_vec());
    if name != HEAD && !name.starts_with(BRANCHES) {
        let reason = format!("HEAD names {}, which is no branch", Escaped(&name));
        return Err(refused(reason, "check out a branch, then promote again"));
    }
    let is_head = name != HEAD;
    Ok(Move { name, old: old.to_string(), new: new.to_string(), log: Vec::new(), is_head })
}

/// What a branch is made by.
pub(super) fn of_branch(name: &[u8], new: &GitOid) -> Move {
    let new = new.to_string();
    Move { name: name.to_vec(), old: "0".repeat(new.len()), new, log: Vec::new(), is_head: false }
}

/// What a branch that a Promotion made at `made` is removed by; `None`: somebody removed it already.
pub(super) fn removal_of_branch(git: &gix::Repository, name: &[u8], made: &GitOid) -> Result<Option<Move>, ApplyError> {
    let shown = Escaped(name.strip_prefix(BRANCHES).unwrap_or(name));
    let made = made.to_string();
    let removal = Move { name: name.to_vec(), new: "0".repeat(made.len()), old: made, log: Vec::new(), is_head: false };
    let Some(found) = current(git, &removal)? else { return Ok(None) };
    if found != removal.old {
        let reason = format!("branch {shown} is at {found}, and the promotion left it at {}", removal.old);
        return Err(refused(
            reason,
            "what was committed on it since is yours; `git branch -D` removes the branch with it",
        ));
    }
    if is_checked_out(git, name).map_err(failure)? {
        return Err(refused(format!("branch {shown} is checked out"), "check out another branch, then undo again"));
    }
    Ok(Some(removal))
}

/// Whether HEAD of a working tree of the repository names it.
fn is_checked_out(git: &gix::Repository, name: &[u8]) -> Result<bool, isobox_ports::Cause> {
    let names = |git: &gix::Repository| git.head_name().map(|head| head.is_some_and(|head| head.as_bstr() == name));
    if names(git)? || names(&git.main_repo()?)? {
        return Ok(true);
    }
    for tree in git.worktrees()? {
        if names(&tree.into_repo_with_possibly_inaccessible_worktree()?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Looks whether a branch can be made.
pub(super) fn check_free(git: &gix::Repository, name: &[u8]) -> Result<(), ApplyError> {
    let shown = Escaped(name.strip_prefix(BRANCHES).unwrap_or(name));
    let refuse = |why: &str| Err(refused(format!("branch {shown} cannot be made: {why}"), "choose another name"));
    // As a reference `HEAD` and `-x` would do; as branches, Git takes them for something else.
    let is_mistaken = |short: &[u8]| short == b"HEAD" || short.starts_with(b"-");
    let is_for_branch = name.strip_prefix(BRANCHES).is_some_and(|short| !is_mistaken(short));
    if gix::validate::reference::name(name.as_bstr()).is_err() || !is_for_branch {
        return refuse("it is no name for a branch");
    }
    let above = name.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &name[..at]).skip(2);
    for taken in above.chain([name]) {
        let full: &BStr = taken.as_bstr();
        if git.try_find_reference(full).map_err(|e| failure(e.into()))?.is_some() {
            return refuse(if taken == name { "it is there already" } else { "a branch above it is there already" });
        }
    }
    let below = [name, b"/"].concat();
    let references = git.references().map_err(|e| failure(e.into()))?;
    let mut below = references.prefixed(below.as_bstr()).map_err(|e| failure(e.into()))?;
    if below.next().is_some() { refuse("branches below it are there already") } else { Ok(()) }
}

/// Notes the move and takes Git's lock for it. The reference itself is not moved yet.
pub(super) fn take(git: &gix::Repository, site: &Site, moved: &Move) -> Result<(), ApplyError> {
    note(site, moved).map_err(while_doing("note which reference is moved"))?;
    let (dir, name) = make_place(site, moved).map_err(while_doing("make room for the reference"))?;
    match site.state.move_to(NEW_REFERENCE, &dir, &[&name, LOCK].concat()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let reason = format!("another git process seems to be moving {}", Escaped(&moved.name));
            return Err(refused(reason, "promote again when it is done"));
        }
        taken => taken.map_err(while_doing("lock the reference"))?,
    }
    let found = current(git, moved)?;
    if found.as_deref().unwrap_or(&"0".repeat(moved.old.len())) != moved.old {
        let reason = format!("{} was moved while the promotion was in progress", Escaped(&moved.name));
        return Err(refused(reason, "look at the promotion again, then confirm it"));
    }
    if moved.is_removal() {
        return check_loose(site, moved);
    }
    if dir.stat(&name).map_err(while_doing("look at the reference"))?.is_some_and(|stat| is_dir(&stat)) {
        // Git leaves directories of branches that are gone.
        remove_empty_tree(&dir, &name).map_err(while_doing("make room for the reference"))?;
    }
    Ok(())
}

/// Refuses to remove a reference that is in Git's file of many, which would be written anew for it.
fn check_loose(site: &Site, moved: &Move) -> Result<(), ApplyError> {
    let is_packed = || -> io::Result<bool> {
        if site.common_dir.stat(PACKED)?.is_none() {
            return Ok(false);
        }
        let end = [b" ", moved.name.as_slice()].concat();
        let mut lines = BufReader::new(site.common_dir.open_file(PACKED)?).split(b'\n');
        lines.try_fold(false, |found, line| Ok(found || line?.ends_with(&end)))
    };
    if !is_packed().map_err(while_doing("read the packed references"))? {
        return Ok(());
    }
    let name = Escaped(moved.name.strip_prefix(BRANCHES).unwrap_or(&moved.name));
    Err(refused(format!("branch {name} is a packed reference"), "`git branch -D` removes it from the packed ones, too"))
}

/// What the reference names, in hexadecimal digits.
fn current(git: &gix::Repository, moved: &Move) -> Result<Option<String>, ApplyError> {
    if moved.name == HEAD {
        let head = git.head().map_err(|e| failure(e.into()))?;
        return Ok(head.id().filter(|_| head.is_detached()).map(|id| id.to_string()));
    }
    let found = git.try_find_reference(moved.name.as_bstr()).map_err(|e| failure(e.into()))?;
    Ok(found.and_then(|found| Some(oid::from_gix(found.try_id()?.as_ref()).to_string())))
}

fn note(site: &Site, moved: &Move) -> io::Result<()> {
    let mut new = site.state.create_file(NEW_REFERENCE, 0o666)?;
    give_to_owner(&site.state, NEW_REFERENCE)?;
    write_all(&mut new, &moved.content())?;
    sync_file(&new)?;
    let mut draft = create_own_file(&site.state, REFERENCE_DRAFT)?;
    write_all(&mut draft, &moved.encode())?;
    sync_file(&draft)?;
    site.state.replace(REFERENCE_DRAFT, REFERENCE)?;
    // The objects of the commit too: one flush.
    site.state.sync_file_system()
}

fn make_place(site: &Site, moved: &Move) -> io::Result<(Dir, Vec<u8>)> {
    if moved.name != HEAD {
        make_dirs(&site.common_dir, super::paths::parent_of(&moved.name))?;
    }
    moved.place(site)
}

fn make_dirs(base: &Dir, path: &[u8]) -> io::Result<()> {
    for end in super::paths::component_ends(path) {
        let (above, name) = super::paths::split(&path[..end]);
        let above = base.open_below(above)?;
        match above.make_dir(name, 0o777) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => {
                made?;
                give_to_owner(&above, name)?;
            }
        }
    }
    Ok(())
}

/// Moves or removes the reference, if that was not done yet.
pub(super) fn replace(site: &Site) -> Result<(), ApplyError> {
    let replace = || {
        let Some(moved) = Move::load(site)? else { return Ok(()) };
        if !moved.holds_lock(site)? {
            return Ok(());
        }
        let (dir, name) = moved.place(site)?;
        let lock = [&name, LOCK].concat();
        if moved.is_removal() {
            // The lock goes last: as long as it is there, this is not done.
            dir.remove_file(&name)?;
            forget_log(site, &moved)?;
            dir.remove_file(&lock)?;
        } else {
            log(site, &moved)?;
            dir.replace(&lock, &name)?;
        }
        dir.sync()
    };
    replace().map_err(while_doing("move the reference"))
}

/// Gives Git's lock back, if it was taken.
pub(super) fn give_back(site: &Site) -> Result<(), ApplyError> {
    let give_back = || match Move::load(site)? {
        Some(moved) if moved.holds_lock(site)? => {
            let (dir, name) = moved.place(site)?;
            dir.move_to(&[&name, LOCK].concat(), &site.state, NEW_REFERENCE)
        }
        _ => Ok(()),
    };
    give_back().map_err(while_doing("unlock the reference"))
}

/// Adds the move to the logs of the references, unless it is their last line.
fn log(site: &Site, moved: &Move) -> io::Result<()> {
    if moved.log.is_empty() {
        return Ok(());
    }
    let line = [moved.old.as_bytes(), b" ", moved.new.as_bytes(), b" ", &moved.log, b"\n"].concat();
    if moved.name != HEAD {
        append(&site.common_dir, &[LOGS, &moved.name].join(&b'/'), &line)?;
    }
    if moved.is_head || moved.name == HEAD {
        append(&site.git_dir, &[LOGS, HEAD].join(&b'/'), &line)?;
    }
    Ok(())
}

/// Removes the log of a reference that is removed, as Git does.
fn forget_log(site: &Site, moved: &Move) -> io::Result<()> {
    let (above, name) = super::paths::split(&moved.name);
    match site.common_dir.open_below(&[LOGS, above].join(&b'/')) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        dir => dir?.remove_file(name),
    }
}

fn append(base: &Dir, path: &[u8], line: &[u8]) -> io::Result<()> {
    let (above, name) = super::paths::split(path);
    make_dirs(base, above)?;
    let dir = base.open_below(above)?;
    let is_fresh = dir.stat(name)?.is_none();
    let mut file = dir.open_log(name)?;
    if is_fresh {
        give_to_owner(&dir, name)?;
    }
    let length = file.metadata()?.len();
    let mut last = vec![0; line.len()];
    if length >= line.len() as u64 {
        file.read_exact_at(&mut last, length - line.len() as u64)?;
    }
    if last != line {
        write_all(&mut file, line)?;
    }
    Ok(())
}

fn failure(source: isobox_ports::Cause) -> ApplyError {
    ApplyError::Io { operation: "look at the references".into(), source }
}
