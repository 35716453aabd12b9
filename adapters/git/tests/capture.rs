//! What capture finds, what it leaves out, and that it obeys nothing in the Workspace.

mod support;

use isobox_domain::change::{ChangeKind, Mode, NotCapturedReason, RuleOrigin};
use isobox_domain::escape::Escaped;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::fake::RecordingSink;
use nix::fcntl::RenameFlags;
use nix::sys::stat::{Mode as Permissions, SFlag, makedev};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use support::{Kept, Scene, chmod, git, git_line, git_with_input, link, write};

fn repo_path(path: &[u8]) -> RepoPath {
    RepoPath::parse(path).expect("a valid path")
}

fn two_files() -> Scene {
    Scene::new(|root| {
        write(root, b"a.txt", "one\n");
        write(root, b"d/b.txt", "two\n");
    })
}

fn paths(kept: &Kept) -> Vec<(&[u8], ChangeKind)> {
    kept.changes().map(|change| (change.path.as_bytes(), change.kind())).collect()
}

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
    let _listener = UnixListener::bind(root.join("socket")).expect("a socket is made");
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
                    let exchange = RenameFlags::RENAME_EXCHANGE;
                    nix::fcntl::renameat2(&handle, one, &handle, other, exchange).expect("they are exchanged");
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
