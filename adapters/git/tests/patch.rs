//! `git apply` takes the patch of a capture, forwards and backwards.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use support::{Kept, Scene, chmod, git_line, git_with_input, link, write};

/// The tree of a directory's files.
fn tree(directory: &Path) -> String {
    git_line(directory, &["add", "-A", "-f"]);
    git_line(directory, &["write-tree"])
}

fn apply(clone: &Path, options: &[&str], patch: &[u8]) {
    let arguments = [&["apply", "--binary", "--whitespace=nowarn"], options, &["-"]].concat();
    let output = git_with_input(clone, &arguments, patch);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Captures what `edit` makes of a commit of what `fill` writes, and has Git apply the patch. Gives the clone that has it,
/// and the tree before.
fn forwards(fill: impl FnOnce(&Path), edit: impl FnOnce(&Path)) -> (Scene, Kept, PathBuf, String) {
    let scene = Scene::new(fill);
    let clone = scene.clone("clone");
    let base = tree(&clone);
    edit(scene.root());
    let kept = scene.capture();
    fs::remove_dir_all(scene.root().join(".git")).expect("the workspace's own git directory is removed");
    git_line(scene.root(), &["init", "-q"]);
    let expected = tree(scene.root());
    assert_ne!(base, expected, "the edit changes something");
    apply(&clone, &[], &kept.patch);
    assert_eq!(tree(&clone), expected, "{}", String::from_utf8_lossy(&kept.patch));
    (scene, kept, clone, base)
}

/// The same, and has Git take the patch back.
fn round_trip(fill: impl FnOnce(&Path), edit: impl FnOnce(&Path)) -> Kept {
    let (_scene, kept, clone, base) = forwards(fill, edit);
    apply(&clone, &["-R"], &kept.patch);
    assert_eq!(tree(&clone), base);
    kept
}

/// Bytes that do not compress, the same every time.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn text_is_changed_added_and_removed_whatever_its_ends_of_line() {
    let lines = |range: std::ops::Range<u32>| range.map(|i| format!("line {i}\n")).collect::<String>();
    let kept = round_trip(
        |root| {
            write(root, b"middle", lines(0..100));
            write(root, b"crlf", "one\r\ntwo\r\n\rthree");
            write(root, b"no end", "one\ntwo");
            write(root, b"gains an end", "one");
            write(root, b"gone", "one\n");
            write(root, b"gone empty", "");
            write(root, b"gets empty", "one");
            write(root, b"was empty", "");
        },
        |root| {
            write(root, b"middle", lines(0..20) + "new\n" + &lines(21..30) + &lines(40..100) + "last");
            write(root, b"crlf", "one\r\ntwo\n\rthree\r\n");
            write(root, b"no end", "zero\none\ntwo");
            write(root, b"gains an end", "one\n");
            fs::remove_file(root.join("gone")).expect("removed");
            fs::remove_file(root.join("gone empty")).expect("removed");
            write(root, b"gets empty", "");
            write(root, b"was empty", "\n");
            write(root, b"added", "\x0c\x1b one\n");
            write(root, b"added empty", "");
            write(root, b"latin", b"caf\xe9\n");
        },
    );
    let patch = String::from_utf8_lossy(&kept.patch);
    assert!(patch.contains("@@ -18,7 +18,7 @@\n line 17\n line 18\n line 19\n-line 20\n+new\n line 21\n"), "{patch}");
    assert!(!patch.contains("GIT binary patch"), "{patch}");
}

#[test]
fn binary_content_of_any_length_is_a_literal_both_ways() {
    let lengths = [0, 1, 2, 3, 4, 5, 25, 26, 27, 51, 52, 53, 104, 1_000, 70_000, 3_000_000];
    let name = |length: usize| format!("binary {length}").into_bytes();
    let kept = round_trip(
        |root| {
            write(root, b"swapped", [b"\0".as_slice(), &noise(5_000)].concat());
            write(root, b"removed", [b"\0".as_slice(), &noise(500)].concat());
        },
        |root| {
            for length in lengths {
                write(root, &name(length), [b"\0".as_slice(), &noise(length)].concat());
            }
            write(root, b"zeros", vec![0; 200_000]);
            write(root, b"swapped", "now text\n");
            fs::remove_file(root.join("removed")).expect("removed");
        },
    );
    assert_eq!(kept.changes().filter(|change| change.after.as_ref().is_some_and(|after| after.binary)).count(), 17);
}

#[test]
fn a_repository_with_sha256_names_takes_its_patch() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let repository = directory.path().join("repository");
    fs::create_dir(&repository).expect("a directory is made");
    git_line(&repository, &["init", "-q", "-b", "main", "--object-format=sha256"]);
    write(&repository, b"binary", b"\0one");
    write(&repository, b"text", "one\n");
    git_line(&repository, &["add", "-A"]);
    git_line(&repository, &["commit", "-q", "-m", "first"]);
    let scene = Scene::of(directory);
    let clone = scene.clone("clone");
    write(scene.root(), b"binary", b"\0two");
    write(scene.root(), b"text", "two\n");
    let kept = scene.capture();
    apply(&clone, &["--index"], &kept.patch);
    assert_eq!(fs::read(clone.join("binary")).ok().as_deref(), Some(&b"\0two"[..]));
    assert_eq!(fs::read(clone.join("text")).ok().as_deref(), Some(&b"two\n"[..]));
}

#[test]
fn names_are_quoted_as_git_quotes_them() {
    let names: [&[u8]; 14] = [
        b"sp ace",
        b" lead",
        b"trail ",
        b"tab\t",
        b"new\nline",
        b"quote\"",
        b"back\\slash",
        b"\xff\xfe",
        b"caf\xc3\xa9",
        b"b/b b/b",
        b"\x01\x7f\x07\x0b",
        b"a b/a",
        b"-rf",
        b"dev/null",
    ];
    let kept = round_trip(
        |root| names.iter().for_each(|name| write(root, name, "one\n")),
        |root| {
            for (i, name) in names.iter().enumerate() {
                match i % 3 {
                    0 => write(root, name, "two\n"),
                    1 => chmod(root, name, 0o755),
                    _ => write(root, name, b"\0two\n"),
                }
                write(root, &[name, b".new".as_slice()].concat(), "");
            }
        },
    );
    assert!(kept.patch.windows(13).any(|bytes| bytes == b"+++ b/sp ace\t"), "a name with a space ends with a tab");
}

#[test]
fn modes_links_and_changes_of_type_are_applied() {
    // Only forwards: Git cannot take back its own patch of a link that became a file either.
    forwards(
        |root| {
            write(root, b"to-executable", "one\n");
            write(root, b"from-executable", "one\n");
            chmod(root, b"from-executable", 0o755);
            write(root, b"file-to-link", "one\n");
            link(root, b"link-to-file", b"target");
            link(root, b"link-to-link", b"target");
        },
        |root| {
            chmod(root, b"to-executable", 0o755);
            write(root, b"from-executable", "two\n");
            chmod(root, b"from-executable", 0o644);
            for name in ["file-to-link", "link-to-file", "link-to-link"] {
                fs::remove_file(root.join(name)).expect("removed");
            }
            link(root, b"file-to-link", b"/absolute\n\xff");
            write(root, b"link-to-file", "target");
            link(root, b"link-to-link", b"other");
        },
    );
}

#[test]
fn a_directory_that_came_or_went_is_applied() {
    // Only forwards: Git cannot take back its own patches of all of this either.
    forwards(
        |root| {
            write(root, b"outside/inner", "one\n");
            link(root, b"link", b"outside");
            write(root, b"file", "one\n");
            write(root, b"directory/inner", "one\n");
        },
        |root| {
            fs::remove_file(root.join("link")).expect("removed");
            write(root, b"link/inner", "two\n");
            fs::remove_file(root.join("file")).expect("removed");
            write(root, b"file/inner", "two\n");
            fs::remove_dir_all(root.join("directory")).expect("removed");
            write(root, b"directory", "two\n");
        },
    );
}

#[test]
fn text_beyond_the_limits_of_a_diff_is_a_literal() {
    let kept = round_trip(
        |root| {
            write(root, b"long", "a line of text\n".repeat(150_000));
            write(root, b"many", "\n".repeat(100_001));
            write(root, b"few", "\n".repeat(100_000));
        },
        |root| {
            write(root, b"long", "a line of text\n".repeat(150_001));
            write(root, b"many", "\n".repeat(100_002));
            write(root, b"few", "\n".repeat(99_999));
        },
    );
    let patch = String::from_utf8_lossy(&kept.patch);
    assert_eq!((patch.matches("GIT binary patch").count(), patch.matches("@@ -").count()), (2, 1));
}

#[test]
fn a_file_too_large_to_render_is_named_and_refused_by_git_apply() {
    let scene = Scene::new(|root| write(root, b"a", "one\n"));
    fs::File::create(scene.root().join("large")).and_then(|file| file.set_len((256 << 20) + 1)).expect("it is made");
    // Its bytes are not what is looked at: keep them out of the memory of the test.
    let kept = scene.capture_without_content();
    let patch = String::from_utf8_lossy(&kept.patch);
    assert!(patch.ends_with("Binary files /dev/null and b/large differ\n"), "{patch}");
    let clone = scene.clone("clone");
    assert!(!git_with_input(&clone, &["apply", "--binary", "-"], &kept.patch).status.success());
    assert!(!clone.join("large").exists());
}
