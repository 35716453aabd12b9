//! What is left out of a Change Set, and why.

use super::support::{Scene, chmod, git, git_line, link, write};
use super::{paths, repo_path, two_files};
use isobox_domain::change::{ChangeKind, NotCapturedReason, RuleOrigin};
use isobox_domain::escape::Escaped;
use nix::sys::stat::{Mode as Permissions, SFlag, makedev};
use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;
use std::path::Path;

#[test]
fn ignored_things_are_listed_at_the_top_with_their_rule_and_its_origin() {
    let scene = Scene::new(|root| {
        write(root, b".gitignore", "*.log\nbuild/\n");
        write(root, b"build/tracked", "one\n");
    });
    let root = scene.root();
    write(root, b"x.log", "");
    write(root, b"target/deep/er/file", "");
    write(root, b"build/tracked", "two\n");
    write(root, b"build/new", "");
    write(root, b"sub/.gitignore", "!x.log\nsecret\n");
    write(root, b"sub/x.log", "kept\n");
    write(root, b"sub/secret", "");
    write(root, b".gitignore", "*.log\nbuild/\n/target\n");
    let kept = scene.capture();
    let ignored = |rule: &[u8], file: &[u8], origin| NotCapturedReason::Ignored {
        rule: rule.to_vec(),
        rule_file: repo_path(file),
        origin,
    };
    let expected = [
        (&b"build/new"[..], ignored(b"build/", b".gitignore", RuleOrigin::Commit)),
        (b"sub/secret", ignored(b"secret", b"sub/.gitignore", RuleOrigin::Workload)),
        (b"target", ignored(b"/target", b".gitignore", RuleOrigin::Workload)),
        (b"x.log", ignored(b"*.log", b".gitignore", RuleOrigin::Commit)),
    ];
    assert_eq!(kept.left(), expected.iter().map(|(path, reason)| (*path, reason)).collect::<Vec<_>>());
    let changed: Vec<_> = kept.changes().map(|change| change.path.as_bytes()).collect();
    assert_eq!(changed, [&b".gitignore"[..], b"build/tracked", b"sub/.gitignore", b"sub/x.log"]);
}

#[test]
fn a_rule_file_that_is_a_link_has_no_rules() {
    let scene = two_files();
    write(scene.directory.path(), b"outside", "*\n");
    link(scene.root(), b".gitignore", b"../../../outside");
    write(scene.root(), b"new", "new\n");
    assert_eq!(paths(&scene.capture()), [(&b".gitignore"[..], ChangeKind::Added), (b"new", ChangeKind::Added)]);
}

#[test]
fn what_a_rule_file_beyond_the_budget_would_ignore_is_captured() {
    let scene = two_files();
    write(scene.root(), b".gitignore", "*.log\n".repeat(50_000));
    write(scene.root(), b"d/.gitignore", "new\n");
    write(scene.root(), b"d/new", "");
    write(scene.root(), b"x.log", "kept\n");
    let kept = scene.capture();
    assert_eq!(kept.bytes(b"x.log"), Some(&b"kept\n"[..]));
    assert_eq!(kept.left().iter().map(|(path, _)| *path).collect::<Vec<_>>(), [b"d/new"]);
}

#[test]
fn ignore_rules_agree_with_git() {
    let rules = "*.o\n!keep.o\n/top\ndir/\na/**/z\n**/deep\nx?y\n[a-c]1\n[!a-c]2\n\\#hash\n\\!bang\ntrail \nkeep\\ \ntab\t\n\
                 foo/*\n!foo/bar\n*.tmp/\ncr\r\n/a/b/\nnot/anchored\n**\\/x\n***/y\n[[:digit:]]9\nq[]]q\n";
    let names = [
        "1.o", "keep.o", "top", "dir", "a", "b", "z", "deep", "xay", "b1", "d1", "b2", "d2", "#hash", "!bang", "trail",
        "trail ", "keep ", "tab\t", "foo", "bar", "x.tmp", "cr", "not", "anchored", "y", "x", "59", "q]q",
    ];
    let scene = Scene::new(|root| write(root, b".gitignore", rules));
    for (i, first) in names.iter().enumerate() {
        for second in names.iter().skip(i % 3).step_by(3) {
            write(scene.root(), format!("{first}/{second}/file").as_bytes(), "");
            write(scene.root(), format!("{first}/{second}/1.o").as_bytes(), "");
            write(scene.root(), format!("w/{second}").as_bytes(), "");
        }
    }
    let output = git(scene.root(), &["status", "--porcelain", "--ignored=matching", "-z", "--untracked-files=all"]);
    let of_kind = |kind: &[u8]| {
        let entries = output.stdout.split(|&b| b == 0).filter_map(|entry| entry.strip_prefix(kind));
        entries.map(|path| path.strip_suffix(b"/").unwrap_or(path).to_vec()).collect::<BTreeSet<_>>()
    };
    let kept = scene.capture();
    let captured: BTreeSet<_> = kept.changes().map(|change| change.path.as_bytes().to_vec()).collect();
    let ignored: BTreeSet<_> = kept.left().into_iter().map(|(path, _)| path.to_vec()).collect();
    assert!(captured.len() > 50 && ignored.len() > 50, "{} captured, {} ignored", captured.len(), ignored.len());
    for (ours, theirs) in [(captured, of_kind(b"?? ")), (ignored, of_kind(b"!! "))] {
        let differences: Vec<_> = ours.symmetric_difference(&theirs).map(|path| Escaped(path).to_string()).collect();
        assert_eq!(differences, Vec::<String>::new());
    }
}

#[test]
fn what_git_cannot_hold_is_listed_with_the_reason() {
    let scene = two_files();
    let root = scene.root();
    nix::unistd::mkfifo(&root.join("fifo"), Permissions::S_IRWXU).expect("a pipe is made");
    // The name of a socket has at most 107 bytes, and the Workspace may lie deep: unix(7).
    let directory = fs::File::open(root).expect("the root is opened");
    let short = format!("/proc/self/fd/{}/socket", directory.as_raw_fd());
    let _listener = UnixListener::bind(short).expect("a socket is made");
    fs::create_dir_all(root.join("empty/inner")).expect("directories are made");
    fs::remove_file(root.join("d/b.txt")).expect("a file is removed");
    write(root, b"nested/.git/HEAD", "ref: refs/heads/main\n");
    write(root, b"nested/file", "");
    write(root, b"cased/.GIT", "");
    write(root, b"odd", "new\n");
    chmod(root, b"odd", 0o4755);
    chmod(root, b"a.txt", 0o2644);
    // Only root may make a device, and not in every container.
    let device = nix::sys::stat::mknod(&root.join("device"), SFlag::S_IFCHR, Permissions::S_IRUSR, makedev(1, 3));
    let kept = scene.capture();
    let mut expected = vec![
        (&b"a.txt"[..], NotCapturedReason::SpecialModeBits(0o2000)),
        (b"cased", NotCapturedReason::NestedRepository),
        (b"device", NotCapturedReason::Device),
        (b"empty/inner", NotCapturedReason::EmptyDirectory),
        (b"fifo", NotCapturedReason::Fifo),
        (b"nested", NotCapturedReason::NestedRepository),
        (b"odd", NotCapturedReason::SpecialModeBits(0o4000)),
        (b"socket", NotCapturedReason::Socket),
    ];
    expected.retain(|(path, _)| *path != b"device" || device.is_ok());
    assert_eq!(kept.left(), expected.iter().map(|(path, reason)| (*path, reason)).collect::<Vec<_>>());
    assert_eq!(paths(&kept), [(&b"d/b.txt"[..], ChangeKind::Deleted), (b"odd", ChangeKind::Added)]);
    assert_eq!(kept.bytes(b"odd"), Some(&b"new\n"[..]));
}

#[test]
fn a_repository_made_in_a_tracked_directory_hides_no_tracked_file() {
    let scene = two_files();
    git_line(&scene.root().join("d"), &["init", "-q"]);
    write(scene.root(), b"d/b.txt", "three\n");
    write(scene.root(), b"d/c.txt", "new\n");
    let kept = scene.capture();
    assert_eq!(kept.left(), [(&b"d/.git"[..], &NotCapturedReason::NestedRepository)]);
    assert_eq!(paths(&kept), [(&b"d/b.txt"[..], ChangeKind::Modified), (b"d/c.txt", ChangeKind::Added)]);
}

#[test]
fn an_unreadable_file_or_directory_costs_itself_alone() {
    let scene = two_files();
    write(scene.root(), b"a.txt", "two\n");
    chmod(scene.root(), b"a.txt", 0o000);
    write(scene.root(), b"new", "new\n");
    chmod(scene.root(), b"d", 0o000);
    let kept = as_an_ordinary_user(scene.directory.path(), || scene.capture());
    chmod(scene.root(), b"d", 0o755);
    let denied = NotCapturedReason::Unreadable("Permission denied".to_owned());
    assert_eq!(kept.left(), [(&b"a.txt"[..], &denied), (b"d", &denied)]);
    assert_eq!(paths(&kept), [(&b"new"[..], ChangeKind::Added)]);
}

/// Root reads everything: let this thread look at files as the owner of `directory` alone. See setfsuid(2).
fn as_an_ordinary_user<T>(directory: &Path, look: impl FnOnce() -> T) -> T {
    if !nix::unistd::geteuid().is_root() {
        return look();
    }
    let nobody = 65_534;
    let mut paths = vec![directory.to_owned()];
    while let Some(path) = paths.pop() {
        std::os::unix::fs::lchown(&path, Some(nobody), Some(nobody)).expect("the owner is changed");
        if fs::symlink_metadata(&path).expect("it is there").is_dir() {
            paths.extend(fs::read_dir(path).expect("it is read").map(|entry| entry.expect("it is there").path()));
        }
    }
    nix::unistd::setfsuid(nobody.into());
    let result = look();
    nix::unistd::setfsuid(0.into());
    result
}

#[test]
fn a_file_beyond_the_limit_is_listed_and_not_read() {
    let scene = two_files();
    for (name, length) in [("a.txt", 65 << 30), ("holes", 17 << 30)] {
        fs::File::create(scene.root().join(name)).and_then(|file| file.set_len(length)).expect("a sparse file is made");
    }
    let kept = scene.capture();
    let expected = [
        (&b"a.txt"[..], &NotCapturedReason::TooLarge { length: 65 << 30 }),
        (b"holes", &NotCapturedReason::TooLarge { length: 17 << 30 }),
    ];
    assert_eq!(kept.left(), expected);
    assert_eq!(paths(&kept), []);
}
