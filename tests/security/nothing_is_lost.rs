//! Promise: whatever a workload leaves in its Workspace is captured, or listed with the reason why not.

use isobox_tests::Case;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

isobox_tests::promises! {
    every: [
        arguments_that_are_no_text_arrive_unchanged,
        names_that_git_would_read_as_something_else_are_plain_names,
        a_broken_git_directory_inside_drops_nothing,
        what_was_committed_inside_is_in_the_result,
        a_stash_of_the_workload_is_kept,
        binary_content_and_the_text_beside_it_are_promoted,
        line_ends_and_keyword_expansion_come_through_byte_for_byte,
        what_git_inside_was_told_to_overlook_is_captured,
        one_unreadable_file_drops_nothing_else,
        what_is_not_captured_is_listed_with_its_reason,
        forty_thousand_untracked_files_are_captured_and_promoted,
        the_word_bwrap_on_standard_error_is_the_workloads_own,
        edits_in_a_submodule_are_captured_under_their_path_and_refused_at_promotion,
    ],
}

fn promoted(case: &Case, path: &str) -> String {
    case.promote_well();
    case.project.read(path)
}

fn what_was_committed_inside_is_in_the_result(case: &Case) {
    case.run_well("echo committed >> README.md; git add -A; git -c commit.gpgsign=false commit -qm inside; git checkout -qb other; echo more > more.txt; git add -A; git commit -qm more");
    assert_eq!(case.captured("README.md"), "hello\ncommitted\n");
    assert_eq!(case.captured("more.txt"), "more\n");
    assert!(!case.record()["result"]["artifacts"]["workspace_git"].is_null(), "{}", case.record());
    assert_eq!(promoted(case, "more.txt"), "more\n");
}

fn a_stash_of_the_workload_is_kept(case: &Case) {
    case.run_well("echo stashed >> README.md; git stash -q; echo kept > kept.txt");
    assert!(!case.record()["result"]["artifacts"]["workspace_git"].is_null(), "{}", case.record());
}

fn binary_content_and_the_text_beside_it_are_promoted(case: &Case) {
    case.run_well(r"printf '\000\001\377\nbinary' > data.bin; echo text >> README.md");
    case.promote_well();
    assert_eq!(fs::read(case.project.repository().join("data.bin")).expect("read"), b"\x00\x01\xff\nbinary");
    assert_eq!(case.project.read("README.md"), "hello\ntext\n");
}

fn line_ends_and_keyword_expansion_come_through_byte_for_byte(case: &Case) {
    case.project.write(".gitattributes", "*.crlf text eol=crlf\n*.id ident\n");
    case.project.write("a.crlf", "one\r\ntwo\r\n");
    case.project.write("b.id", "$Id$\n");
    case.project.commit_all("Attributes");
    case.project.git(&["rm", "-q", "--cached", "-r", "."]);
    case.project.git(&["reset", "-q", "--hard"]);
    let untouched = case.run_well("true");
    assert_eq!(case.patch(), "", "{untouched:?}");
    case.run_well(r"printf 'three\r\n' >> a.crlf; printf 'mixed\n' > mixed.crlf; echo more >> b.id");
    case.promote_well();
    assert_eq!(case.project.read("a.crlf"), "one\r\ntwo\r\nthree\r\n");
    assert_eq!(case.project.read("mixed.crlf"), "mixed\n");
    assert!(case.project.read("b.id").ends_with("\nmore\n"));
}

fn what_git_inside_was_told_to_overlook_is_captured(case: &Case) {
    case.run_well(
            "git update-index --assume-unchanged README.md; git update-index --skip-worktree src/main.rs; git config core.fileMode false
            echo a >> README.md; echo b >> src/main.rs; chmod -x run.sh; mkdir -p .git/info; echo hidden.txt > .git/info/exclude; echo c > hidden.txt",
        );
    case.promote_well();
    assert_eq!(case.project.read("README.md"), "hello\na\n");
    assert_eq!(case.project.read("src/main.rs"), "fn main() {}\nb\n");
    assert_eq!(case.project.read("hidden.txt"), "c\n");
    let mode = fs::metadata(case.project.repository().join("run.sh")).expect("metadata").permissions().mode();
    assert_eq!(mode & 0o111, 0);
}

fn a_broken_git_directory_inside_drops_nothing(case: &Case) {
    for breakage in [
        "touch .git/index.lock",
        "echo garbage > .git/index",
        "rm -rf .git",
        "rm -rf .git; mkfifo .git",
        "chmod 000 .git",
    ] {
        let case = &case.another();
        case.run_well(&format!("echo said; echo change >> README.md; {breakage}"));
        assert_eq!(case.project.isobox(&["logs", "@latest"]).stdout, "said\n");
        assert_eq!(promoted(case, "README.md"), "hello\nchange\n", "{breakage}");
    }
}

fn one_unreadable_file_drops_nothing_else(case: &Case) {
    case.run_well("echo said; echo change >> README.md; echo x > locked; chmod 000 locked; mkdir closed; echo y > closed/in; chmod 000 closed");
    assert_eq!(case.captured("README.md"), "hello\nchange\n");
    let shown = case.project.isobox(&["show", "--json", "@latest"]).stdout;
    assert!(shown.contains("locked"), "{shown}");
}

fn what_is_not_captured_is_listed_with_its_reason(case: &Case) {
    case.project.write(".gitignore", "/.isobox/tasks/\n*.log\n/build/\n");
    case.project.commit_all("Ignore");
    case.run_well(
        "mkdir empty build; echo x > build/out; echo y > a.log; mkfifo pipe; echo s > suid; chmod 6755 suid
            mkdir -p nested/.git; echo z > nested/in; echo '*.tmp' >> .gitignore; echo t > b.tmp",
    );
    let shown = case.project.isobox(&["show", "--json", "@latest"]).stdout;
    for (path, reason) in [
        ("empty", "empty"),
        ("build", "ignored"),
        ("a.log", "ignored"),
        ("pipe", "fifo"),
        ("nested", "nested"),
        ("b.tmp", "workload"),
    ] {
        assert!(shown.contains(path) && shown.to_lowercase().contains(reason), "{path}: {reason} in {shown}");
    }
    assert_eq!(case.captured("suid"), "s\n");
}

fn forty_thousand_untracked_files_are_captured_and_promoted(case: &Case) {
    case.run_well(
        "mkdir many; cd many; i=0; while [ $i -lt 40000 ]; do : > file-with-a-rather-long-name-$i; i=$((i+1)); done",
    );
    case.promote_well();
    let there = fs::read_dir(case.project.repository().join("many")).expect("a directory").count();
    assert_eq!(there, 40_000);
}

fn names_that_git_would_read_as_something_else_are_plain_names(case: &Case) {
    let names: [&[u8]; 8] = [
        b":foo",
        b":!x",
        b"-rf",
        b"a b/ b/c",
        b"tab\tquote\"back\\slash",
        b"new\nline",
        b"\xff\xfe",
        "naïve–名".as_bytes(),
    ];
    let script = r#"mkdir -p "a b/ b"; for n in ":foo" ":!x" "-rf" "a b/ b/c" "$(printf 'tab\tquote"back\\slash')" "$(printf 'new\nline')" "$(printf '\377\376')" "naïve–名"; do echo named > "./$n"; done"#;
    case.run_well(script);
    case.promote_well();
    for name in names {
        let path = case.project.repository().join(std::ffi::OsStr::from_bytes(name));
        assert_eq!(fs::read(&path).expect("the file").as_slice(), b"named\n", "{}", path.display());
    }
}

fn arguments_that_are_no_text_arrive_unchanged(case: &Case) {
    use std::ffi::OsStr;
    let mut command = case.project.isobox_command(&["run", "--backend", case.backend.name(), "--", "printf", "%s"]);
    command.arg(OsStr::from_bytes(b"\xff-\xfe"));
    let output = command.output().expect("run isobox");
    assert_eq!(output.stdout, b"\xff-\xfe");
}

fn the_word_bwrap_on_standard_error_is_the_workloads_own(case: &Case) {
    let run = case.run("echo 'bwrap: cannot' >&2; echo change >> README.md; exit 1");
    assert_eq!(run.code, 1, "{run:?}");
    assert_eq!(case.record()["outcome"], "workload_command_exit");
    assert_eq!(case.captured("README.md"), "hello\nchange\n");
}

fn edits_in_a_submodule_are_captured_under_their_path_and_refused_at_promotion(case: &Case) {
    let other = case.project.home().join("other");
    for arguments in [
        vec!["init", "-q", "-b", "main", &other.to_string_lossy()],
        vec![
            "-C",
            &other.to_string_lossy(),
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.com",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
        ],
        vec!["-c", "protocol.file.allow=always", "submodule", "add", "-q", &other.to_string_lossy(), "sub"],
    ] {
        case.project.git(&arguments);
    }
    case.project.commit_all("A submodule");
    let run = case.run("echo inside > sub/file; echo change >> README.md");
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(case.captured("sub/file"), "inside\n");
    let refused = case.promote();
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(refused.stderr.contains("sub"), "{refused:?}");
    assert_eq!(case.project.read("README.md"), "hello\n");
}
