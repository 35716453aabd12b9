//! Views as directories of plain files.

use crate::dir::{Access, Dir};
use crate::error::{failed, shown};
use crate::locks::wait_for;
use crate::random::random_name;
use isobox_domain::content::parse_hex;
use isobox_domain::policy::ViewLimit;
use isobox_domain::task_id::TaskId;
use isobox_ports::{ObjectStore, StoreError, View, Views};
use rustix::fs::{RenameFlags, renameat_with};
use std::cmp::Reverse;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

const RECORD: &str = "record.json";
const ARTIFACTS: &str = "artifacts";
/// What the record of another tool's directory says near its beginning, apart from white space.
const OLD_VERSION: &[u8] = b"\"schema_version\":\"v1\"";
/// How much of a record is looked at, in bytes.
const RECORD_START: u64 = 4 << 10;
/// Larger artifacts are left out, in bytes.
const LARGEST: u64 = 1 << 20;
/// Names of Views that are being made or unmade; what a killed process left is removed under the next one's lock.
const UNFINISHED: &str = ".isobox-view-";
/// Makes Git overlook the directory with everything in it, itself included; see gitignore(5).
const IGNORE_FILE: &str = ".gitignore";
const IGNORE_ALL: &[u8] = b"*\n";

/// The Views in one directory.
#[derive(Clone, Debug)]
pub struct FsViews {
    directory: PathBuf,
}

impl FsViews {
    /// Views below `directory`, which is made when the first is written. No part of the path may be a symbolic link.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Makes the directory, if it is not there. One that is empty is made to be overlooked by Git: records must not make
    /// the repository dirty that they are kept in.
    pub fn create(&self) -> Result<(), StoreError> {
        self.make().map(drop).map_err(failed("create", &shown(&self.directory)))
    }

    fn make(&self) -> io::Result<Dir> {
        let dir = make_beneath(&self.directory)?;
        hide_from_git(&dir)?;
        Ok(dir)
    }
}

impl Views for FsViews {
    fn write(&self, view: &View<'_>, objects: &dyn ObjectStore, limit: ViewLimit) -> Result<(), StoreError> {
        let subject = shown(&self.directory);
        let dir = self.make().map_err(failed("open views in", &subject))?;
        let _lock = lock(&dir, &subject)?;
        remove_unfinished(&dir).map_err(failed("remove unfinished views in", &subject))?;
        let is_taken = is_foreign(&dir, &view.task.to_string()).map_err(failed("look at views in", &subject))?;
        if limit != ViewLimit::Newest(0) && !is_taken {
            write_view(&dir, view, objects)?;
        }
        trim(&dir, limit, Some(view.task)).map_err(failed("trim views in", &subject))
    }

    fn make_room(&self, limit: ViewLimit) -> Result<(), StoreError> {
        let ViewLimit::Newest(limit @ 1..) = limit else { return Ok(()) };
        let subject = shown(&self.directory);
        let trimming = failed("trim views in", &subject);
        let Some(dir) = find_beneath(&self.directory).map_err(&trimming)? else { return Ok(()) };
        let file = dir.as_file().map_err(&trimming)?;
        match file.try_lock() {
            Ok(()) => trim(&dir, ViewLimit::Newest(limit - 1), None).map_err(trimming),
            Err(TryLockError::WouldBlock) => Ok(()),
            Err(TryLockError::Error(error)) => Err(trimming(error)),
        }
    }

    fn remove(&self, task: TaskId) -> Result<(), StoreError> {
        let subject = shown(&self.directory);
        let name = task.to_string();
        let removing = failed("remove view from", &subject);
        let Some(dir) = find_beneath(&self.directory).map_err(&removing)? else { return Ok(()) };
        let _lock = lock(&dir, &subject)?;
        let is_view =
            dir.find_dir(&name).map_err(&removing)?.is_some() && !is_foreign(&dir, &name).map_err(&removing)?;
        if is_view { remove_view(&dir, &name).map_err(removing) } else { Ok(()) }
    }
}

/// Held while Views are made and unmade, until it is dropped.
fn lock(dir: &Dir, subject: &str) -> Result<File, StoreError> {
    let file = dir.as_file().map_err(failed("lock views in", subject))?;
    wait_for(subject, || match file.try_lock() {
        Ok(()) => Ok(Some(())),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(failed("lock views in", subject)(error)),
    })?;
    Ok(file)
}

fn write_view(dir: &Dir, view: &View<'_>, objects: &dyn ObjectStore) -> Result<(), StoreError> {
    let name = view.task.to_string();
    let subject = dir.shown(&name).to_string();
    let fresh = random_name().map(|random| format!("{UNFINISHED}{random}")).map_err(failed("write view", &*subject))?;
    dir.make_dir(fresh.as_str()).map_err(failed("write view", &*subject))?;
    let unfinished = dir.dir(fresh.as_str()).map_err(failed("write view", &*subject))?;
    let filled = fill(&unfinished, view, objects, &subject)
        .and_then(|()| put_in_place(dir, &fresh, &name).map_err(failed("write view", &*subject)));
    if filled.is_err() && remove_view(dir, &fresh).is_err() {
        // The next View removes it.
    }
    filled
}

fn fill(unfinished: &Dir, view: &View<'_>, objects: &dyn ObjectStore, subject: &str) -> Result<(), StoreError> {
    let io = failed("write view", subject);
    unfinished.file(RECORD, Access::CreateNew).and_then(|mut file| file.write_all(view.record_json)).map_err(&io)?;
    let mut shown = view.artifacts.iter().filter(|(_, content)| content.length <= LARGEST).peekable();
    if shown.peek().is_none() {
        return Ok(());
    }
    unfinished.make_dir(ARTIFACTS).map_err(&io)?;
    let artifacts = unfinished.dir(ARTIFACTS).map_err(&io)?;
    for (name, content) in shown {
        if let Some(mut content) = objects.open(&content.id)? {
            let copied = artifacts.file(name, Access::CreateNew).and_then(|mut file| io::copy(&mut content, &mut file));
            copied.map_err(&io)?;
        }
    }
    Ok(())
}

fn put_in_place(dir: &Dir, fresh: &str, name: &str) -> io::Result<()> {
    match renameat_with(dir, fresh, dir, name, RenameFlags::EXCHANGE) {
        // What bore the name before bears the unfinished one now.
        Ok(()) => remove_view(dir, fresh),
        Err(_) => dir.rename(fresh, dir, name),
    }
}

fn remove_unfinished(dir: &Dir) -> io::Result<()> {
    dir.names()?.iter().filter(|name| name.starts_with(UNFINISHED)).try_for_each(|name| remove_view(dir, name))
}

/// Removes all but the newest Views, of which `newest` is one whatever the clock says.
fn trim(dir: &Dir, limit: ViewLimit, newest: Option<TaskId>) -> io::Result<()> {
    let ViewLimit::Newest(limit) = limit else { return Ok(()) };
    let names: Vec<_> = dir.names()?.into_iter().filter(|name| is_view_name(name)).collect();
    if names.len() <= limit as usize {
        return Ok(());
    }
    let newest = newest.map(|task| task.to_string());
    let mut views = Vec::new();
    for name in names {
        if let Some(modified) = dir.modified_below(&name)? {
            views.push((Reverse((newest.as_ref() == Some(&name), modified)), name));
        }
    }
    views.sort();
    // Only what would go is opened: a call that removes one View does not read all others.
    views.iter().skip(limit as usize).try_for_each(|(_, name)| match is_foreign(dir, name)? {
        true => Ok(()),
        false => remove_view(dir, name),
    })
}

// Version 1 kept its only copy of a record where Views are now. Such a directory says so, or has a record that is empty or
// missing because its writer was killed; a View is there whole or not at all.
fn is_foreign(dir: &Dir, name: &str) -> io::Result<bool> {
    let view = match dir.find_dir(name) {
        Ok(Some(view)) => view,
        Ok(None) => return Ok(false),
        // Something else of that name, a link for example, makes way for a View.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(false),
        Err(error) => return Err(error),
    };
    let Some(record) = view.find_file(RECORD)? else { return Ok(true) };
    let mut start = Vec::new();
    record.take(RECORD_START).read_to_end(&mut start)?;
    start.retain(|byte| !byte.is_ascii_whitespace());
    Ok(start.is_empty() || start.windows(OLD_VERSION.len()).any(|piece| piece == OLD_VERSION))
}

fn is_view_name(name: &str) -> bool {
    name.strip_prefix("task-").and_then(parse_hex::<8>).is_some()
}

fn remove_view(dir: &Dir, name: &str) -> io::Result<()> {
    if let Some(view) = dir.find_dir(name)? {
        view.remove_dir(ARTIFACTS)?;
    }
    dir.remove_dir(name)
}

// A directory that was in use before is the user's own, such as the root of a repository.
fn hide_from_git(dir: &Dir) -> io::Result<()> {
    if !dir.names()?.is_empty() {
        return Ok(());
    }
    match dir.file(IGNORE_FILE, Access::CreateNew) {
        Ok(mut file) => file.write_all(IGNORE_ALL),
        // Another process was as fast.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn make_beneath(path: &Path) -> io::Result<Dir> {
    beneath(path, step)
}

// Where a part of the path is a link, there are no Views that isobox made.
fn find_beneath(path: &Path) -> io::Result<Option<Dir>> {
    match beneath(path, |dir, name| dir.passage(name)) {
        Ok(dir) => Ok(Some(dir)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

fn beneath(path: &Path, step: impl Fn(&Dir, &OsStr) -> io::Result<Dir>) -> io::Result<Dir> {
    let start = if path.is_absolute() { Path::new("/") } else { Path::new(".") };
    let mut dir = Dir::open(start)?;
    for component in path.components() {
        dir = match component {
            Component::RootDir | Component::CurDir => dir,
            Component::Normal(name) => step(&dir, name)?,
            Component::ParentDir | Component::Prefix(_) => {
                return Err(io::Error::other("the path has a component `..`"));
            }
        };
    }
    dir.dir(".")
}

fn step(dir: &Dir, name: &OsStr) -> io::Result<Dir> {
    match dir.passage(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            dir.make_dir(name)?;
            dir.passage(name)
        }
        found => found,
    }
}
