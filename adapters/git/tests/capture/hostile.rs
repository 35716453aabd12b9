//! A Workspace that tries to hide, to deceive or to reach outside.

use super::support::{Scene, chmod, git_line, link, write};
use super::{paths, two_files};
use isobox_domain::change::{ChangeKind, Mode, NotCapturedReason};
use nix::sys::stat::Mode as Permissions;
use rustix::fs::RenameFlags;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn what_was_committed_staged_or_hidden_inside_is_captured() {
    let scene = Scene::new(|root| {
        for name in ["committed", "assumed", "skipped", "staged", "mode"] {
            write(root, name.as_bytes(), "one\n");
        }
    });
    let root = scene.root();
    for name in ["committed", "assumed", "skipped", "staged"] {
        write(root, name.as_bytes(), "two\n");
    }
    write(root, b"excluded", "new\n");
    write(root, b".git/info/exclude", "excluded\n");
    git_line(root, &["commit", "-q", "-m", "inside", "committed"]);
    git_line(root, &["update-index", "--assume-unchanged", "assumed"]);
    git_line(root, &["update-index", "--skip-worktree", "skipped"]);
    git_line(root, &["add", "staged"]);
    git_line(root, &["config", "core.fileMode", "false"]);
    chmod(root, b"mode", 0o755);
    write(root, b".git/index.lock", "");
    let kept = scene.capture();
    let names: Vec<_> = kept.changes().map(|change| change.path.as_bytes()).collect();
    assert_eq!(names, [&b"assumed"[..], b"committed", b"excluded", b"mode", b"skipped", b"staged"]);
    let mode = kept.change(b"mode").and_then(|change| change.after.as_ref()).map(|after| after.mode);
    assert_eq!(mode, Some(Mode::Executable));
}

#[test]
fn a_git_directory_that_is_broken_replaced_or_gone_does_not_matter() {
    let breaks: [fn(&Path); 5] = [
        |root| fs::write(root.join(".git/index"), "garbage").expect("written"),
        |root| fs::remove_dir_all(root.join(".git")).expect("removed"),
        |root| {
            fs::remove_dir_all(root.join(".git")).expect("removed");
            link(root, b".git", b"/");
        },
        |root| {
            fs::remove_dir_all(root.join(".git")).expect("removed");
            write(root, b".git", "gitdir: /");
        },
        |root| {
            fs::rename(root.join(".git"), root.join("moved")).expect("moved");
            link(root, b".git", b"moved");
        },
    ];
    for break_git in breaks {
        let scene = two_files();
        write(scene.root(), b"a.txt", "two\n");
        break_git(scene.root());
        let kept = scene.capture();
        assert_eq!(kept.bytes(b"a.txt"), Some(&b"two\n"[..]));
    }
}

#[test]
fn the_workspaces_git_configuration_and_attributes_change_nothing() {
    let scene = two_files();
    let root = scene.root();
    let marker = scene.directory.path().join("executed");
    let command = format!("touch {}", marker.display());
    for key in ["core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "diff.external"] {
        git_line(root, &["config", key, &command]);
    }
    git_line(root, &["config", "core.worktree", "/"]);
    git_line(root, &["config", "core.autocrlf", "true"]);
    write(root, b".git/info/attributes", "* filter=evil diff=evil\n");
    write(root, b".gitattributes", "* filter=evil diff=evil text eol=crlf ident\n");
    write(root, b"a.txt", "$Id$ \r\n");
    let kept = scene.capture();
    assert_eq!(kept.bytes(b"a.txt"), Some(&b"$Id$ \r\n"[..]));
    assert!(!marker.exists(), "a program of the workspace was executed");
}

#[test]
fn a_result_is_captured_though_the_trusted_repository_is_gone() {
    let scene = two_files();
    write(scene.root(), b"a.txt", "two\n");
    write(scene.root(), b"new", "new\n");
    fs::rename(scene.repository(), scene.directory.path().join("moved")).expect("the repository is moved");
    let kept = scene.capture();
    assert_eq!(paths(&kept), [(&b"a.txt"[..], ChangeKind::Modified), (b"new", ChangeKind::Added)]);
    assert_eq!((kept.bytes(b"a.txt"), kept.bytes(b"new")), (Some(&b"two\n"[..]), Some(&b"new\n"[..])));
}

#[test]
fn a_tree_deeper_than_any_path_and_any_stack_is_walked() {
    let scene = two_files();
    let root = fs::File::open(scene.root()).expect("the root opens");
    let mut at = std::os::fd::OwnedFd::from(root);
    for _ in 0..3_000 {
        nix::sys::stat::mkdirat(&at, "n", Permissions::S_IRWXU).expect("a directory is made");
        let flags = nix::fcntl::OFlag::O_DIRECTORY;
        at = nix::fcntl::openat(&at, "n", flags, Permissions::empty()).expect("it opens");
    }
    let kept = scene.capture();
    let left = kept.left();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].0.len(), 4_097);
    assert!(matches!(left[0].1, NotCapturedReason::UnsupportedName(_)), "{:?}", left[0].1);
    assert_eq!(paths(&kept), []);
    // Neither removing the Workspace nor the temporary directory need cope with more than a path can name.
    let shallow = scene.directory.path().join("shallow");
    while scene.root().join("n").exists() {
        let tail = scene.root().join("n/".repeat(1_000));
        if !tail.exists() {
            break;
        }
        fs::rename(&tail, &shallow).expect("the lower part is moved");
        fs::remove_dir_all(scene.root().join("n")).expect("the upper part is removed");
        fs::rename(&shallow, scene.root().join("n")).expect("the lower part is moved back");
    }
}

#[test]
fn the_workloads_own_commits_are_archived_as_they_are() {
    let scene = two_files();
    write(scene.root(), b"a.txt", "stashed\n");
    git_line(scene.root(), &["stash", "-q"]);
    let stash = git_line(scene.root(), &["rev-parse", "refs/stash"]);
    let kept = scene.capture();
    assert_eq!(kept.lines, vec![]);
    let archive = scene.directory.path().join("archive.tar");
    let unpacked = scene.clone("unpacked");
    fs::write(&archive, &kept.workspace_git).expect("the archive is written");
    let unpack = std::process::Command::new("tar").arg("-xf").arg(&archive).current_dir(unpacked.join(".git")).status();
    assert!(unpack.expect("tar starts").success());
    assert_eq!(git_line(&unpacked, &["rev-parse", "refs/stash"]), stash);
    assert_eq!(git_line(&unpacked, &["show", "refs/stash:a.txt"]), "stashed");
}

#[test]
fn capturing_changes_nothing() {
    let scene = two_files();
    write(scene.root(), b"a.txt", "two\n");
    write(scene.root(), b"new/.gitignore", "*.log\n");
    write(scene.root(), b"new/x.log", "");
    git_line(scene.root(), &["commit", "-q", "-a", "-m", "inside"]);
    let look = || {
        let mut seen = vec![];
        let mut directories = vec![scene.root().to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).expect("it is read").map(|entry| entry.expect("it is there")) {
                let stat = entry.metadata().expect("it is looked at");
                seen.push((entry.path(), stat.ino(), stat.size(), stat.mode(), stat.ctime(), stat.ctime_nsec()));
                if stat.is_dir() {
                    directories.push(entry.path());
                }
            }
        }
        seen.sort();
        seen
    };
    let before = look();
    let first = scene.capture();
    assert_eq!(look(), before);
    assert_eq!(first.recorded, scene.capture().recorded);
}

#[test]
fn no_byte_from_outside_is_read_while_directories_and_links_are_swapped() {
    let scene = two_files();
    let outside = scene.directory.path().join("outside");
    write(&outside, b"file", "MARKER FROM OUTSIDE");
    write(&outside, b".gitignore", "MARKER FROM OUTSIDE");
    let root = scene.root().to_owned();
    write(&root, b"swap/file", "inside");
    link(&root, b"link", outside.as_os_str().as_encoded_bytes());
    write(&root, b"file", "inside");
    link(&root, b"file-link", outside.join("file").as_os_str().as_encoded_bytes());
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let handle = fs::File::open(&root).expect("the root opens");
            while !is_done.load(Ordering::Relaxed) {
                for (one, other) in [("swap", "link"), ("file", "file-link")] {
                    let exchange = RenameFlags::EXCHANGE;
                    rustix::fs::renameat_with(&handle, one, &handle, other, exchange).expect("they are exchanged");
                }
            }
        });
        // A capture in which something could not be opened met a swap in the middle of a step.
        let mut met = 0;
        for _ in 0..1_000 {
            let kept = scene.capture();
            let leaked = |bytes: &[u8]| bytes.windows(6).any(|window| window == b"MARKER");
            let is_leaked = kept.contents.values().any(|bytes| leaked(bytes)) || leaked(&kept.patch);
            met += u32::from(!kept.left().is_empty());
            is_done.store(is_leaked || met == 25, Ordering::Relaxed);
            assert!(!is_leaked, "bytes from outside were captured");
            if met == 25 {
                break;
            }
        }
        println!("{met} captures met a swap");
        is_done.store(true, Ordering::Relaxed);
    });
}
