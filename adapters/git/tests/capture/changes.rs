//! Changes of every kind, and what is none.

use super::support::{Scene, git_line, git_with_input, link, write};
use super::{paths, repo_path, two_files};
use isobox_domain::change::{ChangeKind, Mode};
use isobox_ports::fake::RecordingSink;
use std::fs;

#[test]
fn an_untouched_workspace_gives_nothing() {
    let scene = Scene::new(|root| {
        write(root, b".gitattributes", "*.win text eol=crlf\n*.id ident\n");
        write(root, b"x.win", "one\n");
        write(root, b"x.id", "$Id$\n");
        write(root, b".gitignore", "*.log\n");
        write(root, b"tracked.log", "one\n");
        link(root, b"link", b"/nowhere");
    });
    let kept = scene.capture();
    assert_eq!(kept.recorded, RecordingSink::default());
}

#[test]
fn a_file_that_is_written_again_with_its_own_bytes_is_not_changed() {
    let scene = two_files();
    write(scene.root(), b"a.txt", "one\n");
    assert_eq!(scene.capture().lines, vec![]);
}

#[test]
fn a_change_is_found_though_the_modification_time_was_set_back() {
    let scene = two_files();
    let path = scene.root().join("a.txt");
    let mtime = fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("it has a time");
    write(scene.root(), b"a.txt", "two\n");
    fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(mtime)).expect("the time is set");
    assert_eq!(paths(&scene.capture()), [(&b"a.txt"[..], ChangeKind::Modified)]);
}

#[test]
fn a_rename_is_a_deletion_and_an_addition_that_says_where_it_was() {
    let scene = Scene::new(|root| {
        write(root, b"m/old", "moved\n");
        write(root, b"z", "also moved\n");
        write(root, b"empty", "");
    });
    let root = scene.root();
    fs::rename(root.join("m"), root.join("n")).expect("a directory is renamed");
    fs::rename(root.join("z"), root.join("a")).expect("a file is renamed");
    fs::rename(root.join("empty"), root.join("void")).expect("an empty file is renamed");
    let kept = scene.capture();
    let from: Vec<_> =
        kept.changes().map(|c| (c.path.as_bytes(), c.renamed_from.as_ref().map(|p| p.as_bytes()))).collect();
    let expected: [(&[u8], Option<&[u8]>); 6] = [
        (b"a", Some(b"z")),
        (b"empty", None),
        (b"m/old", None),
        (b"n/old", Some(b"m/old")),
        (b"void", None),
        (b"z", None),
    ];
    assert_eq!(from, expected);
}

#[test]
fn before_is_what_checkout_wrote_and_after_is_what_the_workload_left() {
    let scene = Scene::new(|root| {
        write(root, b".gitattributes", "*.win text eol=crlf\n");
        write(root, b"x.win", "one\n");
    });
    write(scene.root(), b"x.win", "one\r\nt\0o\n");
    let kept = scene.capture();
    let change = kept.change(b"x.win").expect("it changed");
    let before = change.before.as_ref().expect("it was there");
    let oid = git_line(&scene.repository(), &["rev-parse", "HEAD:x.win"]);
    assert_eq!((before.mode, before.oid.to_string()), (Mode::File, oid));
    let materialised = before.content.expect("it is a file");
    assert_eq!((materialised.id.as_bytes(), materialised.length), (blake3::hash(b"one\r\n").as_bytes(), 5));
    assert_eq!(kept.bytes(b"x.win"), Some(&b"one\r\nt\0o\n"[..]));
    assert_eq!(change.after.as_ref().map(|after| after.binary), Some(true));
}

#[test]
fn edits_in_a_submodule_are_captured_under_its_path() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (inner, repository) = (directory.path().join("inner"), directory.path().join("repository"));
    for root in [&inner, &repository] {
        fs::create_dir(root).expect("a directory is made");
        git_line(root, &["init", "-q", "-b", "main"]);
        write(root, b"file", "one\n");
        write(root, b"gone", "one\n");
        git_line(root, &["add", "-A"]);
        git_line(root, &["commit", "-q", "-m", "first"]);
    }
    git_line(&repository, &["submodule", "--quiet", "add", "../inner", "sub"]);
    git_line(&repository, &["commit", "-q", "-m", "submodule"]);
    let scene = Scene::of(directory);
    assert_eq!(scene.capture().lines, vec![]);
    write(scene.root(), b"sub/file", "two\n");
    write(scene.root(), b"sub/new", "new\n");
    fs::remove_file(scene.root().join("sub/gone")).expect("a file is removed");
    let kept = scene.capture();
    let sub = repo_path(b"sub");
    let found: Vec<_> = kept.changes().map(|c| (c.path.as_bytes(), c.kind(), c.submodule.as_ref())).collect();
    let expected = [
        (&b"sub/file"[..], ChangeKind::Modified, Some(&sub)),
        (b"sub/gone", ChangeKind::Deleted, Some(&sub)),
        (b"sub/new", ChangeKind::Added, Some(&sub)),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_submodule_that_became_something_else_is_a_change_that_git_applies() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let repository = directory.path().join("repository");
    fs::create_dir(&repository).expect("a directory is made");
    git_line(&repository, &["init", "-q", "-b", "main"]);
    let commit = "160000,0123456789012345678901234567890123456789,";
    for name in ["file", "gone"] {
        git_line(&repository, &["update-index", "--add", "--cacheinfo", &format!("{commit}{name}")]);
    }
    git_line(&repository, &["commit", "-q", "-m", "submodules"]);
    let scene = Scene::of(directory);
    assert_eq!(scene.capture().lines, vec![]);
    for name in ["file", "gone"] {
        fs::remove_dir(scene.root().join(name)).expect("an empty directory is removed");
    }
    write(scene.root(), b"file", "one\n");
    let kept = scene.capture();
    assert_eq!(paths(&kept), [(&b"file"[..], ChangeKind::TypeChanged), (b"gone", ChangeKind::Deleted)]);
    assert_eq!(
        kept.change(b"gone").and_then(|c| c.before.as_ref()).map(|b| (b.mode, b.content)),
        Some((Mode::Submodule, None))
    );
    let clone = scene.clone("clone");
    let applied = git_with_input(&clone, &["apply", "--index", "-"], &kept.patch);
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    assert_eq!(
        git_line(&clone, &["ls-files", "--stage"]),
        format!("100644 {} 0\tfile", git_line(&clone, &["hash-object", "file"]))
    );
}
