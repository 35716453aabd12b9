//! Random messy edits, and the tree that they are made in.

use super::{at, chmod, git, link, write};
use nix::errno::Errno;
use nix::sys::stat::Mode as Permissions;
use proptest::prelude::*;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::SystemTime;

/// Names that edits make paths of: what Git quotes, takes for options or pathspecs, ignores or converts.
const NAMES: &[&[u8]] = &[
    b"a",
    b"a.txt",
    b"a-b",
    b"b",
    b"c",
    b"d",
    b"build",
    b"x.log",
    b"keep.log",
    b"t.log",
    b"\xff\xfe",
    b"q\"\\\n",
    b" sp ace ",
    b":foo",
    b":!x",
    b"-rf",
    b"x.win",
    b"x.id",
    b".gitignore",
    b"\xc3\xa9",
    b"link",
    b"bin",
    b"b b",
    b"A",
    b".GITX",
    b"..x",
];

/// An edit of a tree.
#[derive(Clone, Debug)]
pub enum Edit {
    Write(Vec<u8>, Vec<u8>),
    Append(Vec<u8>, Vec<u8>),
    /// Other bytes of the same length, with the old modification time.
    Forge(Vec<u8>),
    Remove(Vec<u8>),
    Directory(Vec<u8>),
    Link(Vec<u8>, Vec<u8>),
    Chmod(Vec<u8>, u32),
    Rename(Vec<u8>, Vec<u8>),
    DirectoryMode(Vec<u8>, u32),
    Fifo(Vec<u8>),
    HardLink(Vec<u8>, Vec<u8>),
    /// Another length; what is added is a hole.
    Hole(Vec<u8>, u64),
    Exchange(Vec<u8>, Vec<u8>),
    /// A directory made anew, and empty.
    Remake(Vec<u8>),
    /// What looks like a repository.
    Nest(Vec<u8>),
    /// A commit inside.
    Commit,
    /// A commit on a branch inside, and packed references.
    Branch,
    /// No `.git` any more.
    LoseGit,
}

/// A path of names that make trouble.
pub fn path() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(NAMES), 1..4).prop_map(|names| names.join(&b'/'))
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    let line = prop::sample::select(vec![
        "",
        "one",
        "two",
        "*.log",
        "!keep.log",
        "/build",
        "a/**/c",
        "$Id$",
        "\0",
        "#",
        "b*/",
    ]);
    let lines = prop::collection::vec((line, prop::sample::select(vec!["\n", "\r\n"])), 0..6);
    (lines, any::<bool>()).prop_map(|(lines, is_ended)| {
        let mut text: String = lines.iter().flat_map(|(line, end)| [*line, *end]).collect();
        text.truncate(if is_ended { text.len() } else { text.trim_end().len() });
        text.into_bytes()
    })
}

/// Any edit that Git notices as isobox does.
pub fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        5 => (path(), content()).prop_map(|(path, content)| Edit::Write(path, content)),
        2 => (path(), content()).prop_map(|(path, content)| Edit::Append(path, content)),
        1 => path().prop_map(Edit::Forge),
        3 => path().prop_map(Edit::Remove),
        1 => path().prop_map(Edit::Directory),
        2 => (path(), path()).prop_map(|(path, target)| Edit::Link(path, target)),
        2 => (path(), prop::sample::select(vec![0o755, 0o644, 0o600, 0o700, 0o455])).prop_map(|(p, m)| Edit::Chmod(p, m)),
        3 => (path(), path()).prop_map(|(from, to)| Edit::Rename(from, to)),
    ]
}

type Git<'a> = Box<dyn Fn(&[&str]) + 'a>;

/// A tree that is edited.
pub struct Site<'a> {
    /// Its root.
    root: &'a Path,
    /// Runs `git` in it.
    git: Git<'a>,
}

impl<'a> Site<'a> {
    /// The tree at `root`.
    pub fn of(root: &'a Path) -> Self {
        Self::with_git(root, move |arguments| drop(git(root, arguments)))
    }

    /// The tree at `root`, where `git` is run in a way of its own.
    pub fn with_git(root: &'a Path, git: impl Fn(&[&str]) + 'a) -> Self {
        Self { root, git: Box::new(git) }
    }

    /// Performs edits; one that cannot be performed is none, in every tree alike.
    pub fn perform_all(&self, edits: &[Edit]) {
        edits.iter().for_each(|edit| drop(self.perform(edit)));
    }

    fn perform(&self, edit: &Edit) -> io::Result<()> {
        let at = |path| at(self.root, path);
        match edit {
            Edit::Write(path, content) => {
                fs::create_dir_all(at(path).parent().expect("it lies in a directory"))?;
                opening().create(true).truncate(true).open(at(path))?.write_all(content)
            }
            Edit::Append(path, content) => opening().append(true).open(at(path))?.write_all(content),
            Edit::Forge(path) => forge(&at(path)),
            Edit::Remove(path) => remove(&at(path)),
            Edit::Directory(path) => fs::create_dir_all(at(path)),
            Edit::Link(path, target) => symlink(OsStr::from_bytes(target), at(path)),
            Edit::Chmod(path, mode) => set_mode(&at(path), *mode, fs::Metadata::is_file),
            Edit::Rename(from, to) => rename(&at(from), &at(to)),
            Edit::DirectoryMode(path, mode) => set_mode(&at(path), *mode, fs::Metadata::is_dir),
            Edit::Fifo(path) => Ok(nix::unistd::mkfifo(&at(path), Permissions::S_IRWXU)?),
            Edit::HardLink(from, to) => fs::hard_link(at(from), at(to)),
            Edit::Hole(path, length) => opening().open(at(path))?.set_len(*length),
            Edit::Exchange(one, other) => exchange(&at(one), &at(other)),
            Edit::Remake(path) => {
                fs::remove_dir_all(at(path))?;
                fs::create_dir(at(path))
            }
            Edit::Nest(path) => {
                fs::create_dir_all(at(path).join(".git"))?;
                fs::write(at(path).join(".git/HEAD"), "ref: refs/heads/main\n")
            }
            Edit::Commit => {
                // An index may be as new as what was changed, so that Git takes it for unchanged.
                (self.git)(&["read-tree", "--empty"]);
                (self.git)(&["add", "-A"]);
                (self.git)(&["commit", "-q", "-m", "inside"]);
                Ok(())
            }
            Edit::Branch => {
                (self.git)(&["checkout", "-q", "-b", "other"]);
                (self.git)(&["commit", "-q", "--allow-empty", "-m", "on another branch"]);
                (self.git)(&["pack-refs", "--all"]);
                Ok(())
            }
            Edit::LoseGit => fs::remove_dir_all(at(b".git")),
        }
    }
}

/// For writing, without waiting for a reader of a pipe.
fn opening() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true).custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits());
    options
}

fn set_mode(path: &Path, mode: u32, is_wanted: fn(&fs::Metadata) -> bool) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if is_wanted(&metadata) => fs::set_permissions(path, fs::Permissions::from_mode(mode)),
        _ => Ok(()),
    }
}

/// Renames as `mv` does: an overlay does not rename a directory that lies below it, and says EXDEV.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.raw_os_error() == Some(Errno::EXDEV as i32) => {}
        result => return result,
    }
    let mode = fs::symlink_metadata(from)?.permissions();
    match fs::symlink_metadata(to) {
        // An empty directory alone makes room for another.
        Ok(_) => fs::remove_dir(to)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        rename(&from.join(&name), &to.join(&name))?;
    }
    fs::set_permissions(to, mode)?;
    fs::remove_dir(from)
}

fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    if fs::symlink_metadata(one)?.is_dir() || fs::symlink_metadata(other)?.is_dir() {
        return Ok(());
    }
    let here = nix::fcntl::AT_FDCWD;
    Ok(nix::fcntl::renameat2(here, one, here, other, nix::fcntl::RenameFlags::RENAME_EXCHANGE)?)
}

fn forge(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok(());
    }
    let mtime: SystemTime = fs::metadata(path)?.modified()?;
    let length = fs::metadata(path)?.len();
    let file = fs::OpenOptions::new().write(true).open(path)?;
    (&file).write_all(&vec![b'!'; usize::try_from(length).expect("it is short")])?;
    file.set_modified(mtime)
}

fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

/// Writes the tree that is edited.
pub fn fill(root: &Path, attributes: &str) {
    write(root, b".gitattributes", attributes);
    write(root, b".gitignore", "*.log\nbuild/\n!keep.log\n");
    write(root, b"a/.gitignore", "/c\n");
    write(root, b"a/b/c", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\n");
    write(root, b"a/a.txt", "one\ntwo\n");
    write(root, b"a.txt", "one\r\ntwo\r\n");
    write(root, b"a-b", "");
    write(root, b"d/x.win", "one\r\ntwo\r\n");
    write(root, b"x.win", "one\ntwo\n");
    write(root, b"x.id", "$Id$\none\n");
    write(root, b"t.log", "tracked though ignored\n");
    write(root, b"build/keep.log", "tracked in an ignored directory\n");
    write(root, b"bin", b"\0\x01\x02binary");
    write(root, b"\xff\xfe", "no newline at the end");
    write(root, b"q\"\\\n/ sp ace ", "quoted\n");
    write(root, b"-rf", "#!/bin/sh\n");
    chmod(root, b"-rf", 0o755);
    link(root, b"link", b"a/b");
    link(root, b"b", b"/nowhere/\xff");
}
