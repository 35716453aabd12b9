//! Git as an oracle: a capture of random messy edits is the tree that `git add -A` makes of the same edits elsewhere, and
//! its patch makes that tree of the base. `ISOBOX_ORACLE_CASES` asks for more cases than the default.

mod support;

use isobox_domain::change::{Change, Mode};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError};
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::SystemTime;
use support::{Kept, Scene, at, chmod, git, git_line, git_with_input, link, write};

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

#[derive(Clone, Debug)]
enum Edit {
    Write(Vec<u8>, Vec<u8>),
    Append(Vec<u8>, Vec<u8>),
    /// Other bytes of the same length, with the old modification time.
    Forge(Vec<u8>),
    Remove(Vec<u8>),
    Directory(Vec<u8>),
    Link(Vec<u8>, Vec<u8>),
    Chmod(Vec<u8>, u32),
    Rename(Vec<u8>, Vec<u8>),
}

fn path() -> impl Strategy<Value = Vec<u8>> {
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

fn edit() -> impl Strategy<Value = Edit> {
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

/// Performs an edit; one that cannot be performed is none, in every tree alike.
fn perform(root: &Path, edit: &Edit) {
    let done = match edit {
        Edit::Write(path, content) => {
            let path = at(root, path);
            fs::create_dir_all(path.parent().expect("it lies in a directory")).and_then(|()| fs::write(path, content))
        }
        Edit::Append(path, content) => {
            fs::OpenOptions::new().append(true).open(at(root, path)).and_then(|mut file| file.write_all(content))
        }
        Edit::Forge(path) => forge(&at(root, path)),
        Edit::Remove(path) => remove(&at(root, path)),
        Edit::Directory(path) => fs::create_dir_all(at(root, path)),
        Edit::Link(path, target) => std::os::unix::fs::symlink(OsStr::from_bytes(target), at(root, path)),
        Edit::Chmod(path, mode) => match fs::symlink_metadata(at(root, path)) {
            Ok(metadata) if metadata.is_file() => {
                fs::set_permissions(at(root, path), fs::Permissions::from_mode(*mode))
            }
            _ => Ok(()),
        },
        Edit::Rename(from, to) => fs::rename(at(root, from), at(root, to)),
    };
    drop(done);
}

fn forge(path: &Path) -> std::io::Result<()> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok(());
    }
    let mtime: SystemTime = fs::metadata(path)?.modified()?;
    let length = fs::metadata(path)?.len();
    let file = fs::OpenOptions::new().write(true).open(path)?;
    (&file).write_all(&vec![b'!'; usize::try_from(length).expect("it is short")])?;
    file.set_modified(mtime)
}

fn remove(path: &Path) -> std::io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

fn fill(root: &Path, attributes: &str) {
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

/// The tree of a directory's files, with everything forced in.
fn tree(directory: &Path) -> String {
    git_line(directory, &["add", "-A", "-f"]);
    git_line(directory, &["write-tree"])
}

/// Replays a capture onto a clone of its base.
fn replay(kept: &Kept, root: &Path) {
    for change in kept.changes().filter(|change| change.before.is_some()) {
        fs::remove_file(at(root, change.path.as_bytes())).expect("what was changed was there");
        remove_empty_parents(root, change);
    }
    for change in kept.changes() {
        let Some(after) = &change.after else { continue };
        let bytes = kept.bytes(change.path.as_bytes()).expect("its content was staged");
        match after.mode {
            Mode::Symlink => {
                fs::create_dir_all(at(root, change.path.as_bytes()).parent().expect("a parent")).expect("parents");
                link(root, change.path.as_bytes(), bytes);
            }
            mode => {
                write(root, change.path.as_bytes(), bytes);
                chmod(root, change.path.as_bytes(), if mode == Mode::Executable { 0o755 } else { 0o644 });
            }
        }
    }
}

fn remove_empty_parents(root: &Path, change: &Change) {
    let path = at(root, change.path.as_bytes());
    for parent in path.ancestors().skip(1).take_while(|parent| *parent != root) {
        if fs::remove_dir(parent).is_err() {
            break;
        }
    }
}

fn agrees_with_git(edits: &[Edit], attributes: &str) -> Result<(), TestCaseError> {
    let scene = Scene::new(|root| fill(root, attributes));
    let oracle = scene.clone("oracle");
    for edit in edits {
        perform(scene.root(), edit);
        perform(&oracle, edit);
    }
    let kept = scene.capture();
    let added = git(&oracle, &["add", "-A"]);
    prop_assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    let expected = git_line(&oracle, &["write-tree"]);
    let replayed = scene.clone("replayed");
    replay(&kept, &replayed);
    prop_assert_eq!(tree(&replayed), expected.clone(), "the captured tree; lines: {:#?}", kept.lines);
    if attributes.is_empty() {
        let patched = scene.clone("patched");
        let applied = git_with_input(&patched, &["apply", "--binary", "--allow-empty", "-"], &kept.patch);
        let why = String::from_utf8_lossy(&applied.stderr).into_owned();
        prop_assert!(applied.status.success(), "{}\n{}", why, String::from_utf8_lossy(&kept.patch));
        prop_assert_eq!(tree(&patched), expected, "the patched tree; {}", String::from_utf8_lossy(&kept.patch));
    }
    Ok(())
}

fn config() -> ProptestConfig {
    let cases = std::env::var("ISOBOX_ORACLE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(24);
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x0150_b0c5),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_captured_tree_and_its_patch_are_what_git_makes_of_the_same_edits(
        edits in prop::collection::vec(edit(), 1..25),
    ) {
        agrees_with_git(&edits, "")?;
    }

    #[test]
    fn a_captured_tree_is_what_git_makes_of_the_same_edits_where_attributes_convert(
        edits in prop::collection::vec(edit(), 1..25),
    ) {
        agrees_with_git(&edits, "*.win text eol=crlf\n*.id ident\n")?;
    }
}
