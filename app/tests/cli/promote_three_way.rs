//! `isobox promote --three-way`: into a HEAD that moved, beside other changes, and what is in conflict.

use crate::support::{assert_told, document, tool};
use isobox_tests::{Outcome, Project, User};

const LINES: &str = "one\ntwo\nthree\nfour\nfive\n";

/// A repository whose task changed `text` at its end, and added a file.
fn project() -> (Project, String) {
    let project = Project::initialised(User::Current);
    project.git(&["config", "user.name", "Ana"]);
    project.git(&["config", "user.email", "ana@example.org"]);
    project.write("text", LINES);
    project.write("other", "other\n");
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "Text"]);
    let task = tool(&project, "sed -i s/five/FIVE/ text; echo a > added; echo change >> README.md");
    (project, task)
}

/// Commits another content of `text`.
fn commit(project: &Project, text: &str) {
    project.write("text", text);
    project.git(&["commit", "-q", "-a", "-m", "Meanwhile"]);
}

fn promote(project: &Project, arguments: &[&str], task: &str) -> Outcome {
    project.isobox(&[&["promote", "--yes", "--three-way"], arguments, &[task]].concat())
}

#[test]
fn a_result_is_merged_into_a_head_that_moved() {
    for (way, status) in [
        (&[][..], " M README.md\n M text\n?? added\n"),
        (&["--index"], "M  README.md\nA  added\nM  text\n"),
        (&["--commit"], ""),
    ] {
        let (project, task) = project();
        commit(&project, &LINES.replace("one", "ONE"));
        assert_told(
            &project.isobox(&["promote", "--yes", &task]),
            4,
            &["but the task started from", "add --three-way"],
        );
        let promoted = promote(&project, way, &task);
        assert_told(&promoted, 0, &[]);
        let told = "three-way: 2 paths taken, 1 merged, 0 there already";
        assert!(promoted.stdout.contains(told), "{promoted:?}");
        assert_eq!(project.read("text"), "ONE\ntwo\nthree\nfour\nFIVE\n");
        assert_eq!(project.read("added"), "a\n");
        assert_eq!(project.git(&["status", "--porcelain"]), status);
        let shown = document(&project.isobox(&["show", "--json", &task]));
        assert_eq!(shown["promotion"]["three_way"]["conflicts"], 0);
        assert!(project.isobox(&["show", &task]).stdout.contains("by a three-way merge"));
        assert_told(&project.isobox(&["undo"]), 0, &["undid the promotion"]);
        assert_eq!(project.git(&["status", "--porcelain"]), "");
        assert_eq!(project.git(&["log", "-1", "--format=%s"]).trim(), "Meanwhile");
        assert_eq!(project.read("text"), LINES.replace("one", "ONE"));
    }
}

#[test]
fn what_is_changed_elsewhere_stays_as_it_is() {
    let (project, task) = project();
    project.write("other", "mine\n");
    project.write("untracked", "mine\n");
    assert_told(&project.isobox(&["promote", "--yes", &task]), 4, &["is not clean", "--three-way"]);
    assert_eq!(promote(&project, &[], &task).code, 0);
    assert_eq!(project.read("other"), "mine\n");
    let status = project.git(&["status", "--porcelain"]);
    assert_eq!(status, " M README.md\n M other\n M text\n?? added\n?? untracked\n");
}

#[test]
fn what_is_changed_here_and_not_committed_is_not_touched() {
    for stage in [false, true] {
        let (project, task) = project();
        project.write("text", "mine\n");
        if stage {
            project.git(&["add", "text"]);
            project.write("text", LINES);
        }
        let before = project.git(&["status", "--porcelain"]);
        let refused = promote(&project, &["--index"], &task);
        assert_told(&refused, 4, &["text: ", "nothing was changed"]);
        assert_eq!(project.git(&["status", "--porcelain"]), before);
        assert!(!project.repository().join("added").exists());
    }
}

#[test]
fn a_conflict_is_listed_and_refused_or_marked_or_left_out() {
    let (project, task) = project();
    commit(&project, &LINES.replace("five", "cinq"));
    let head = project.git(&["rev-parse", "HEAD"]);
    let refused = promote(&project, &[], &task);
    assert_told(
        &refused,
        4,
        &["text: both changed the same lines", "--conflict markers", "--except PATH", "nothing was changed"],
    );
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert_told(&promote(&project, &["--conflict", "markers", "--commit"], &task), 2, &["cannot be used with"]);
    for way in ["--commit", "--index"] {
        let refused = promote(&project, &[way], &task);
        assert_told(&refused, 4, &["--except PATH"]);
        assert!(!refused.stderr.contains("markers"), "{way} takes no --conflict: {refused:?}");
    }

    let marked = promote(&project, &["--conflict", "markers"], &task);
    assert!(marked.code == 0 && marked.stdout.contains("! text: both changed the same lines"), "{marked:?}");
    let expected = format!("one\ntwo\nthree\nfour\n<<<<<<< HEAD\ncinq\n=======\nFIVE\n>>>>>>> {task}\n");
    assert_eq!(project.read("text"), expected);
    let shown = document(&project.isobox(&["show", "--json", &task]));
    assert_eq!(shown["promotion"]["three_way"]["conflicts"], 1);
    assert_eq!(project.isobox(&["undo"]).code, 0);
    assert_eq!(project.git(&["status", "--porcelain"]), "");

    assert_eq!(promote(&project, &["--except", "text", "--commit"], &task).code, 0);
    assert_eq!(project.git(&["rev-parse", "HEAD^"]), head);
    assert_eq!(project.read("text"), LINES.replace("five", "cinq"));
    assert_eq!(project.read("added"), "a\n");
}

#[test]
fn what_is_there_already_is_not_promoted_again() {
    let (project, task) = project();
    project.write("added", "a\n");
    project.write("README.md", &format!("{}change\n", project.read("README.md")));
    project.git(&["add", "-A"]);
    commit(&project, &LINES.replace("five", "FIVE"));
    assert_told(&promote(&project, &[], &task), 4, &["the repository has every change already"]);
}

#[test]
fn lines_are_merged_in_the_form_that_git_keeps() {
    let project = Project::initialised(User::Current);
    project.write(".gitattributes", "*.txt text eol=crlf\nlog.txt merge=union\nbin.txt -merge\n");
    let crlf = LINES.replace('\n', "\r\n");
    for path in ["a.txt", "log.txt", "bin.txt"] {
        project.write(path, &crlf);
    }
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "Text"]);
    let task = tool(&project, "sed -i s/five/FIVE/ a.txt log.txt bin.txt");
    project.write("a.txt", &crlf.replace("one", "ONE"));
    project.write("log.txt", &crlf.replace("five", "cinq"));
    project.write("bin.txt", &crlf.replace("one", "ONE"));
    project.git(&["commit", "-q", "-a", "-m", "Meanwhile"]);
    assert_told(&promote(&project, &[], &task), 4, &["bin.txt: ", "its attributes say not to merge it"]);
    assert_eq!(promote(&project, &["--except", "bin.txt"], &task).code, 0);
    assert_eq!(project.read("a.txt"), crlf.replace("one", "ONE").replace("five", "FIVE"));
    assert_eq!(project.read("log.txt"), crlf.replace("five\r\n", "cinq\r\nFIVE\r\n"));
}
