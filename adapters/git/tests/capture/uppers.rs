//! Upper directories of overlays, made by hand: what they say, and what only seems to say something.

use super::support::overlay::Laid;
use super::support::{Scene, at, git_line, link, write};
use super::{paths, repo_path, two_files};
use isobox_domain::change::{ChangeKind, NotCapturedReason, RuleOrigin};
use isobox_ports::{MemorySize, OverlayKind, WorkspaceError, WorkspaceMount};
use nix::sys::stat::{Mode as Permissions, SFlag, makedev, mknod};
use rustix::fs::{XattrFlags, setxattr};
use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;

const KIND: OverlayKind = OverlayKind::Unprivileged;

fn whiteout(upper: &Path, path: &[u8]) {
    fs::create_dir_all(at(upper, path).parent().expect("it lies in a directory")).expect("directories are made");
    mknod(&at(upper, path), SFlag::S_IFCHR, Permissions::empty(), makedev(0, 0)).expect("a whiteout is made");
}

fn mark(upper: &Path, path: &[u8], attribute: &str, value: &[u8]) {
    fs::create_dir_all(at(upper, path)).expect("directories are made");
    setxattr(at(upper, path), attribute, value, XattrFlags::empty()).expect("an attribute is set");
}

#[test]
fn what_an_upper_directory_does_not_name_is_not_looked_at() {
    let scene = two_files();
    let laid = Laid::on(&scene, scene.first(), KIND);
    write(&laid.upper(), b"new", "new\n");
    for path in [&b"a.txt"[..], b"d/b.txt"] {
        fs::remove_file(at(scene.root(), path)).expect("a file below is removed");
    }
    assert_eq!(paths(&laid.capture()), [(&b"new"[..], ChangeKind::Added)]);
}

#[test]
fn a_whiteout_removes_its_path_and_all_below_each_in_its_place() {
    let scene = Scene::new(|root| {
        for path in [&b"a-/b"[..], b"a-b", b"a.txt", b"a/b", b"a/c/d", b"a0", b"b", b"b-", b"c/d", b"c/e"] {
            write(root, path, "one\n");
        }
    });
    let laid = Laid::on(&scene, scene.first(), KIND);
    let upper = laid.upper();
    whiteout(&upper, b"a");
    whiteout(&upper, b"a-");
    whiteout(&upper, b"b");
    whiteout(&upper, b"c/e");
    write(&upper, b"a.txt", "two\n");
    let expected = [
        (&b"a-/b"[..], ChangeKind::Deleted),
        (b"a.txt", ChangeKind::Modified),
        (b"a/b", ChangeKind::Deleted),
        (b"a/c/d", ChangeKind::Deleted),
        (b"b", ChangeKind::Deleted),
        (b"c/e", ChangeKind::Deleted),
    ];
    assert_eq!(paths(&laid.capture()), expected);
}

#[test]
fn what_replaces_a_directory_removes_all_below_it() {
    let scene = Scene::new(|root| {
        for path in [&b"a/b"[..], b"a/c/d", b"a.txt", b"e/f", b"e/g"] {
            write(root, path, "one\n");
        }
    });
    let laid = Laid::on(&scene, scene.first(), KIND);
    write(&laid.upper(), b"a", "a file\n");
    mark(&laid.upper(), b"e", "user.overlay.opaque", b"y");
    write(&laid.upper(), b"e/f", "one\n");
    let expected = [
        (&b"a"[..], ChangeKind::Added),
        (b"a/b", ChangeKind::Deleted),
        (b"a/c/d", ChangeKind::Deleted),
        (b"e/g", ChangeKind::Deleted),
    ];
    assert_eq!(paths(&laid.capture()), expected);
}

#[test]
fn only_the_mark_of_its_own_kind_makes_a_directory_opaque() {
    let scene = two_files();
    let opaque = |kind, attribute, value: &[u8]| {
        let laid = Laid::on(&scene, scene.first(), kind);
        mark(&laid.upper(), b"d", attribute, value);
        !laid.capture().lines.is_empty()
    };
    let (user, trusted) = ("user.overlay.opaque", "trusted.overlay.opaque");
    assert!(opaque(OverlayKind::Unprivileged, user, b"y"));
    for value in [&b"n"[..], b"x", b"yy", b""] {
        assert!(!opaque(OverlayKind::Unprivileged, user, value), "{value:?}");
    }
    if nix::unistd::geteuid().is_root() {
        assert!(!opaque(OverlayKind::Privileged, user, b"y"));
        assert!(opaque(OverlayKind::Privileged, trusted, b"y"));
        assert!(!opaque(OverlayKind::Unprivileged, trusted, b"y"));
    }
}

#[test]
fn marks_that_only_root_can_read_are_not_taken_for_none() {
    if nix::unistd::geteuid().is_root() {
        return println!("ignored: root reads them");
    }
    let scene = two_files();
    let laid = Laid::on(&scene, scene.first(), OverlayKind::Privileged);
    let mount = WorkspaceMount::Overlay(laid.overlay.clone());
    let error = scene.capture_mount(scene.first(), &mount, &mut super::support::Kept::default()).expect_err("refused");
    let source = std::error::Error::source(&error).expect("it has a cause").to_string();
    assert_eq!(source, "what root's overlay hides is marked by attributes that this process cannot read");
}

#[test]
fn what_looks_like_a_whiteout_and_hides_nothing_is_a_device() {
    let scene = two_files();
    let laid = Laid::on(&scene, scene.first(), KIND);
    whiteout(&laid.upper(), b"unknown");
    whiteout(&laid.upper(), b"new/unknown");
    mark(&laid.upper(), b"d", "user.overlay.opaque", b"y");
    whiteout(&laid.upper(), b"d/b.txt");
    let kept = laid.capture();
    let device = NotCapturedReason::Device;
    assert_eq!(kept.left(), [(&b"d/b.txt"[..], &device), (b"new/unknown", &device), (b"unknown", &device)]);
    assert_eq!(paths(&kept), [(&b"d/b.txt"[..], ChangeKind::Deleted)]);
}

#[test]
fn a_file_copied_up_as_it_was_is_not_changed() {
    let scene = two_files();
    let laid = Laid::on(&scene, scene.first(), KIND);
    fs::copy(scene.root().join("a.txt"), laid.upper().join("a.txt")).expect("a file is copied");
    write(&laid.upper(), b"d/b.txt", "TWO\n");
    let modified = scene.root().join("d/b.txt").metadata().and_then(|metadata| metadata.modified());
    let file = fs::File::options().write(true).open(laid.upper().join("d/b.txt")).expect("it opens");
    file.set_modified(modified.expect("it has a time")).expect("the time is set");
    assert_eq!(paths(&laid.capture()), [(&b"d/b.txt"[..], ChangeKind::Modified)]);
}

#[test]
fn rules_of_the_commit_hold_where_nothing_hides_them() {
    let scene = Scene::new(|root| {
        for directory in ["", "kept/", "gone/", "opaque/"] {
            write(root, format!("{directory}.gitignore").as_bytes(), "*.log\n");
            write(root, format!("{directory}file").as_bytes(), "one\n");
        }
    });
    let laid = Laid::on(&scene, scene.first(), KIND);
    let upper = laid.upper();
    whiteout(&upper, b".gitignore");
    whiteout(&upper, b"gone/.gitignore");
    mark(&upper, b"opaque", "user.overlay.opaque", b"y");
    for path in [&b"kept/x.log"[..], b"gone/x.log", b"opaque/x.log"] {
        write(&upper, path, "one\n");
    }
    let kept = laid.capture();
    let added: Vec<_> = paths(&kept).into_iter().filter(|(_, kind)| *kind == ChangeKind::Added).collect();
    assert_eq!(added, [(&b"gone/x.log"[..], ChangeKind::Added), (b"opaque/x.log", ChangeKind::Added)]);
    let rule_file = repo_path(b"kept/.gitignore");
    let reason = NotCapturedReason::Ignored { rule: b"*.log".to_vec(), rule_file, origin: RuleOrigin::Commit };
    assert_eq!(kept.left(), [(&b"kept/x.log"[..], &reason)]);
}

#[test]
fn unchanged_references_come_from_the_uppermost_directory_below() {
    let scene = two_files();
    let mut laid = Laid::on(&scene, scene.first(), KIND);
    let between = scene.directory.path().join("between");
    write(&between, b".git/HEAD", "ref: refs/heads/between\n");
    write(&between, b".git/objects/pack/pack-1.pack", "known\n");
    write(&between, b".git/refs/heads/gone/one", "1\n");
    write(&between, b".git/refs/heads/kept", "2\n");
    laid.overlay.lowers.insert(0, between);
    write(&laid.upper(), b".git/objects/pack/pack-1.pack", "touched\n");
    whiteout(&laid.upper(), b".git/refs/heads/gone");
    assert_eq!(laid.capture().workspace_git, b"", "nothing is new");
    write(&laid.upper(), b".git/objects/12/34", "new\n");
    let archive = scene.directory.path().join("archive.tar");
    fs::write(&archive, &laid.capture().workspace_git).expect("it is written");
    let tar = |arguments: &[&str]| {
        let output = std::process::Command::new("tar").args(arguments).arg(&archive).output().expect("tar starts");
        String::from_utf8(output.stdout).expect("it is text")
    };
    assert_eq!(tar(&["-tf"]), "HEAD\nobjects/12/34\npacked-refs\nrefs/heads/kept\n");
    assert_eq!(tar(&["-xO", "HEAD", "-f"]), "ref: refs/heads/between\n");
    mark(&laid.upper(), b".git", "user.overlay.opaque", b"y");
    fs::write(&archive, &laid.capture().workspace_git).expect("it is written");
    assert_eq!(tar(&["-tf"]), "objects/12/34\n");
}

#[test]
fn edits_in_a_submodule_are_found_without_passing_it_by() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (inner, repository) = (directory.path().join("inner"), directory.path().join("repository"));
    for root in [&inner, &repository] {
        fs::create_dir(root).expect("a directory is made");
        git_line(root, &["init", "-q", "-b", "main"]);
        (0..40).for_each(|number| write(root, format!("file{number}").as_bytes(), "one\n"));
        git_line(root, &["add", "-A"]);
        git_line(root, &["commit", "-q", "-m", "first"]);
    }
    git_line(&repository, &["submodule", "--quiet", "add", "../inner", "sub"]);
    git_line(&repository, &["commit", "-q", "-m", "submodule"]);
    let scene = Scene::of(directory);
    let laid = Laid::on(&scene, scene.first(), KIND);
    write(&laid.upper(), b"sub/file39", "two\n");
    whiteout(&laid.upper(), b"sub/file8");
    let kept = laid.capture();
    let found: Vec<_> = kept.changes().map(|c| (c.path.as_bytes(), c.kind(), c.submodule.as_ref())).collect();
    let sub = repo_path(b"sub");
    let expected =
        [(&b"sub/file39"[..], ChangeKind::Modified, Some(&sub)), (b"sub/file8", ChangeKind::Deleted, Some(&sub))];
    assert_eq!(found, expected);
}

#[test]
fn a_place_in_memory_is_reached_by_its_descriptor_alone() {
    let scene = two_files();
    let mut laid = Laid::on(&scene, scene.first(), KIND);
    write(&laid.upper(), b"new", "new\n");
    let place = std::mem::take(&mut laid.overlay.place);
    let descriptor = fs::File::open(&place).expect("it opens");
    laid.overlay.place = format!("/proc/self/fd/{}", descriptor.as_raw_fd()).into();
    assert_eq!(paths(&laid.capture()), [(&b"new"[..], ChangeKind::Added)]);
    laid.overlay.place = place.clone();
    link(scene.directory.path(), b"link", place.as_os_str().as_encoded_bytes());
    for (path, is_link) in [(place.clone(), false), (scene.directory.path().join("link"), true)] {
        let mount = WorkspaceMount::Overlay(isobox_ports::Overlay { place: path, ..laid.overlay.clone() });
        let captured = scene.capture_mount(scene.first(), &mount, &mut super::support::Kept::default());
        assert_eq!(captured.is_err(), is_link);
    }
}

#[test]
fn an_upper_directory_that_is_gone_with_its_memory_is_told() {
    let scene = two_files();
    let mut laid = Laid::on(&scene, scene.first(), KIND);
    laid.overlay.memory = Some(MemorySize { bytes: 0, inodes: 0 });
    fs::remove_dir(laid.upper()).expect("it is removed");
    let mount = WorkspaceMount::Overlay(laid.overlay.clone());
    let error =
        scene.capture_mount(scene.first(), &mount, &mut super::support::Kept::default()).expect_err("it is gone");
    let WorkspaceError::Io { operation, source } = error else { panic!("another error: {error}") };
    assert_eq!(operation, format!("read the workspace at {}", laid.overlay.place.display()));
    assert_eq!(
        source.to_string(),
        "what was written to it was kept in memory, and is gone with the process that held it"
    );
}
