//! `isobox export` for Git: commits, branches, mails, bundles and tar archives, as Git and tar take them.

use crate::schema_checker::assert_described;
use crate::support::{assert_told, document, tool};
use isobox_tests::{Outcome, Project, User};
use std::fs;
use std::path::PathBuf;

/// Every kind of change: text, with ends of lines of either kind; binary; modes, links, odd names, renames, deletions.
pub(crate) const CHANGES: &str = r#"
printf 'one\r\ntwo\r\n' > crlf
printf '\000\001\377binary' > binary
printf 'caf\351' > "$(printf 'b\377d\tname\nhere')"
mkdir -p deep/er 'with blank' && echo x > deep/er/file && chmod +x deep/er/file && echo y > 'with blank/äöü'
ln -s ../outside link && ln -s README.md second
git mv run.sh moved.sh 2> /dev/null || mv run.sh moved.sh
rm src/main.rs && rmdir src && echo file > src
printf 'From here\n-- \n---\n>From there\n' > mail
: > empty
echo more >> README.md
"#;

pub(crate) fn project() -> (Project, String) {
    let project = Project::initialised(User::Current);
    let task = tool(&project, CHANGES);
    (project, task)
}

fn export(project: &Project, format: &str, task: &str, destination: &str) -> Outcome {
    project.isobox(&["export", "--format", format, task, destination])
}

/// Everything that no Export touches: references, index and working tree.
pub(crate) fn untouched(project: &Project) -> (String, Vec<u8>, String) {
    let index = fs::read(project.repository().join(".git/index")).expect("an index");
    (project.git(&["for-each-ref"]), index, project.git(&["status", "--porcelain", "--ignored"]))
}

/// The tree that a Promotion of the same result makes.
pub(crate) fn promoted_tree(project: &Project, task: &str) -> String {
    let promoted = project.isobox(&["promote", "--yes", "--branch", "promoted", task]);
    assert_eq!(promoted.code, 0, "{promoted:?}");
    tree(project, "promoted")
}

pub(crate) fn tree(project: &Project, revision: &str) -> String {
    project.git(&["rev-parse", &format!("{revision}^{{tree}}")])
}

fn scratch(project: &Project, name: &str) -> (PathBuf, String) {
    let path = project.scratch().join(name);
    let text = path.to_str().expect("text").to_owned();
    (path, text)
}

#[test]
fn a_commit_is_made_that_nothing_names_and_is_the_same_each_time() {
    let (project, task) = project();
    let before = untouched(&project);
    let made = export(&project, "commit", &task, "-");
    assert_eq!((made.code, made.stderr.as_str()), (0, ""), "{made:?}");
    assert_eq!(export(&project, "commit", &task, "-").stdout, made.stdout);
    assert_eq!(untouched(&project), before);
    let commit = made.stdout.trim();
    project.git(&["fsck", "--strict"]);
    assert_eq!(project.git(&["rev-parse", &format!("{commit}^")]), project.git(&["rev-parse", "HEAD"]));
    let record = document(&project.isobox(&["show", "--json", &task]));
    let digest = record["record"].as_str().expect("a digest");
    let message = format!("Result of {task}\n\nIsobox-Task: {task}\nIsobox-Record: {digest}\n\n");
    assert_eq!(project.git(&["log", "-1", "--format=%B", commit]), message);
    assert_eq!(project.git(&["log", "-1", "--format=%an <%ae>", commit]), "Ana <ana@example.com>\n");
    assert_eq!(tree(&project, commit), promoted_tree(&project, &task));
    let told = project.isobox(&["export", "--json", "--format", "commit", &task, "-"]);
    assert_described("export", &document(&told));
    assert_eq!(document(&told)["commit"], commit);
}

#[test]
fn a_commit_goes_to_any_repository_that_has_its_base() {
    let (project, task) = project();
    let made = export(&project, "commit", &task, "-").stdout;
    let (bare, bare_text) = scratch(&project, "bare.git");
    project.git(&["clone", "-q", "--bare", "--no-local", ".", &bare_text]);
    for (name, value) in [("user.name", "Ana"), ("user.email", "ana@example.com")] {
        project.git(&["-C", &bare_text, "config", name, value]);
    }
    let exported = export(&project, "commit", &task, &bare_text);
    assert_eq!((exported.code, &exported.stdout), (0, &made), "{exported:?}");
    project.git(&["-C", &bare_text, "cat-file", "commit", made.trim()]);
    fs::remove_dir_all(bare).expect("it goes");
    project.git(&["init", "-q", "--bare", &bare_text]);
    let refused = export(&project, "commit", &task, &bare_text);
    assert_told(&refused, 1, &["which the task started from, is not in the repository at", "fetch that commit"]);
    assert_eq!(refused.stdout, "");
}

#[test]
fn a_branch_is_made_once_and_nothing_else_is_touched() {
    let (project, task) = project();
    let (_, index, status) = untouched(&project);
    let exported = export(&project, "branch", &task, "try/this");
    assert_told(&exported, 0, &["as branch try/this"]);
    assert_eq!(untouched(&project).1, index);
    assert_eq!(untouched(&project).2, status);
    assert_eq!(tree(&project, "try/this"), promoted_tree(&project, &task));
    let references = project.git(&["for-each-ref"]);
    for (name, why) in
        [("try/this", "there already"), ("try", "below it"), ("a..b", "no name"), ("refs/tags/x", "no name")]
    {
        assert_told(&export(&project, "branch", &task, name), 1, &[why]);
    }
    assert_eq!(project.git(&["for-each-ref"]), references);
}

#[test]
fn git_am_makes_the_tree_of_a_promotion_from_a_mail() {
    let (project, task) = project();
    project.git(&["config", "user.name", "Änne Ö. (x)"]);
    let (mail, name) = scratch(&project, "mail");
    assert_told(&export(&project, "mbox", &task, &name), 0, &["exported the result of"]);
    let text = fs::read_to_string(&mail).expect("text");
    assert!(text.contains("\nContent-Transfer-Encoding: base64\n"), "{text}");
    project.git(&["am", "-q", &name]);
    assert_eq!(tree(&project, "HEAD"), promoted_tree_of_parent(&project, &task));
    let commit = export(&project, "commit", &task, "-").stdout;
    let said = |revision: &str| project.git(&["log", "-1", "--format=%an %ae %ad %B", revision]);
    assert_eq!(said("HEAD"), said(commit.trim()));
}

fn promoted_tree_of_parent(project: &Project, task: &str) -> String {
    let made = export(project, "branch", task, "made");
    assert_eq!(made.code, 0, "{made:?}");
    tree(project, "made")
}

#[test]
fn a_mail_without_carriage_returns_reads_as_text() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo more >> README.md");
    let mail = export(&project, "mbox", &task, "-").stdout;
    assert!(mail.starts_with("From ") && mail.contains(&format!("\nSubject: [PATCH] Result of {task}\n")), "{mail}");
    assert!(mail.contains(" hello\n+more\n-- \nisobox "), "{mail}");
    project.write("../scratch/mail", &mail);
    project.git(&["am", "-q", "../scratch/mail"]);
    assert_eq!(tree(&project, "HEAD"), promoted_tree_of_parent(&project, &task));
}

#[test]
fn git_fetches_from_a_bundle_that_says_what_it_needs() {
    let (project, task) = project();
    let (_, bundle) = scratch(&project, "bundle");
    assert_eq!(export(&project, "git-bundle", &task, &bundle).code, 0);
    let (_, clone) = scratch(&project, "clone");
    project.git(&["clone", "-q", "--no-local", ".", &clone]);
    project.git(&["-C", &clone, "bundle", "verify", "-q", &bundle]);
    project.git(&["-C", &clone, "fetch", "-q", &bundle]);
    let commit = export(&project, "commit", &task, "-").stdout;
    assert_eq!(project.git(&["-C", &clone, "rev-parse", "FETCH_HEAD"]), commit);
    project.git(&["-C", &clone, "fetch", "-q", &bundle, &format!("{task}:result")]);
    project.git(&["-C", &clone, "fsck", "--strict"]);
    assert_told(&export(&project, "git-bundle", &task, &bundle), 1, &["is there already"]);
}

#[test]
fn a_tar_archive_has_the_changed_files_as_they_were_left_and_is_the_same_each_time() {
    let project = Project::initialised(User::Current);
    let long = "n".repeat(120);
    let task = tool(&project, &format!("{CHANGES}\nmkdir {long} && echo long > {long}/file && ln -s {long}/file far"));
    let (first, name) = scratch(&project, "one.tar");
    let exported = export(&project, "tar", &task, &name);
    assert_told(&exported, 0, &["2 deleted paths cannot be told by a tar archive", "exported the changed files"]);
    let (second, again) = scratch(&project, "two.tar");
    assert_eq!(export(&project, "tar", &task, &again).code, 0);
    assert_eq!(fs::read(&first).expect("one"), fs::read(&second).expect("the other"));
    let (out, out_name) = scratch(&project, "out");
    fs::create_dir(&out).expect("a directory");
    let untarred = project.command("tar").args(["-xf", &name, "-C", &out_name]).output().expect("tar starts");
    assert!(untarred.status.success() && untarred.stderr.is_empty(), "{untarred:?}");
    assert_eq!(fs::read(out.join("crlf")).expect("a file"), b"one\r\ntwo\r\n");
    assert_eq!(fs::read_link(out.join("far")).expect("a link").to_str(), Some(&*format!("{long}/file")));
    // On the tree that the task started from, less what was deleted, it is the tree of the result.
    let expected = promoted_tree(&project, &task);
    for gone in ["src/main.rs", "run.sh"] {
        project.git(&["rm", "-q", "-r", gone]);
    }
    project.command("tar").args(["-xf", &name]).output().expect("tar starts");
    project.git(&["add", "-A"]);
    assert_eq!(project.git(&["write-tree"]), expected);
}

#[test]
fn what_has_no_result_to_export_is_told_with_what_to_do() {
    let project = Project::initialised(User::Current);
    let nothing = tool(&project, "true");
    for format in ["commit", "branch", "mbox", "git-bundle", "tar"] {
        let destination = if format == "commit" { "-" } else { "../scratch/x" };
        let told = export(&project, format, &nothing, destination);
        assert_told(&told, 1, &["the task changed nothing that a commit could hold", "isobox show"]);
        assert_eq!(told.stdout, "");
        assert_told(&export(&project, format, "@all", destination), 2, &["the result of one task"]);
    }
    assert_eq!(fs::read_dir(project.scratch()).expect("a directory").count(), 0);
    let task = tool(&project, "echo a > a; mkfifo pipe");
    let told = export(&project, "mbox", &task, "../scratch/x");
    assert_told(&told, 0, &["1 thing was not captured, and not exported"]);
    assert_told(&project.isobox(&["export", "--force", "--format", "branch", &task, "x"]), 2, &["writes none"]);
    assert_told(&project.isobox(&["export", "--redact", "--format", "mbox", &task, "-"]), 2, &["cannot be redacted"]);
}

#[test]
fn a_file_that_no_patch_holds_is_told_rather_than_left_out_of_a_mail() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "truncate -s 257M large");
    let (mail, written) = scratch(&project, "m");
    assert_told(&export(&project, "mbox", &task, &written), 1, &["269484032 bytes of one file, large", "git-bundle"]);
    assert!(!mail.exists());
}

#[test]
fn uncommitted_changes_that_a_task_started_from_are_no_part_of_a_commit() {
    let project = Project::initialised(User::Current);
    project.write("README.md", "hello\nmine\n");
    let ran = project.isobox(&["tool", "--allow-dirty", "--", "sh", "-c", "echo a > a"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let told = export(&project, "commit", "@latest", "-");
    assert_told(&told, 1, &["the task started from uncommitted changes", "--format patch"]);
    assert_eq!(export(&project, "tar", "@latest", "../scratch/x.tar").code, 0);
}
