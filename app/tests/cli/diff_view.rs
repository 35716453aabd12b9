//! `isobox diff` for a person: colours, changed words, renames and moved lines; and what a program reads.

use crate::support::{assert_told, document, tool};
use isobox_tests::{Project, User, on_a_terminal, outcome};

/// Text of so many lines, each of which is long enough to be told as moved.
fn lines(name: &str, count: u32) -> String {
    (1..=count).map(|number| format!("line number {number} of the file {name}\n")).collect()
}

fn project(files: &[(&str, &str)]) -> Project {
    let project = Project::initialised(User::Current);
    files.iter().for_each(|(path, text)| project.write(path, text));
    project.commit_all("Files");
    project
}

/// What a terminal with colours is shown.
fn coloured(project: &Project, arguments: &[&str]) -> String {
    let mut command = project.isobox_command(arguments);
    command.env("TERM", "xterm");
    let (code, shown) = on_a_terminal(command, 80);
    assert_eq!(code, 0, "{shown}");
    shown.replace("\r\n", "\n")
}

/// The text without its colours; nothing else may drive the terminal.
fn bare(shown: &str) -> String {
    let mut pieces = shown.split("\x1b[");
    let mut bare = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (codes, text) = piece.split_once('m').expect("the end of a sequence");
        assert!(codes.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'), "{codes:?}");
        bare.push_str(text);
    }
    assert!(!bare.contains(|c: char| c.is_control() && !"\n\t".contains(c)), "{bare:?}");
    bare
}

#[test]
fn a_terminal_has_colours_and_a_pipe_has_the_patch_unless_it_is_asked_for() {
    let project = project(&[("a.rs", "fn main() {\n    let old = 1;\n}\n")]);
    let task = tool(&project, "sed -i s/old/new/ a.rs");
    let patch = project.isobox(&["diff", &task]).stdout;
    let shown = coloured(&project, &["diff", &task]);
    assert_eq!(bare(&shown), patch);
    assert!(shown.contains("\x1b[94mlet\x1b[m"), "{shown:?}");
    assert!(shown.contains("\x1b[7;31mold\x1b[m") && shown.contains("\x1b[7;32mnew\x1b[m"), "{shown:?}");
    assert_eq!(project.isobox(&["diff", "--color=always", &task]).stdout, shown);
    assert_eq!(coloured(&project, &["diff", "--color=never", &task]), patch);
    let sides = coloured(&project, &["diff", "--no-syntax", &task]);
    assert!(!sides.contains("\x1b[94m") && sides.contains("\x1b[7;31mold\x1b[m"), "{sides:?}");
    let mut plain = project.isobox_command(&["diff", &task]);
    plain.env("TERM", "xterm").env("NO_COLOR", "1");
    assert_eq!(on_a_terminal(plain, 80).1.replace("\r\n", "\n"), patch);
    let mut forced = project.isobox_command(&["diff", &task]);
    forced.env("TERM", "xterm").env("CLICOLOR_FORCE", "1");
    assert_eq!(outcome(forced.output().expect("run isobox")).stdout, patch, "a program reads it");
}

#[test]
fn nothing_of_a_hostile_change_gets_to_the_terminal() {
    let project = Project::initialised(User::Current);
    let script = r#"n=$(printf 'x\033[2J\342\200\256.rs'); printf '"\033]0;t\007\342\200\213 \302\233 \r\n<?php /* \377\000' > "$n.php"
        printf '"\033]0;t\007\342\200\213 \302\233 \r\nfn \377' > "$n"; printf '```js\n\033[8m`${\n' > a.md; head -c 300000 /dev/zero | tr '\0' '(' > long.js"#;
    let task = tool(&project, script);
    let shown = bare(&coloured(&project, &["diff", &task]));
    assert!(!shown.contains('\u{202e}') && !shown.contains('\u{9b}') && !shown.contains('\u{200b}'), "{shown}");
    assert!(
        shown.contains("\\x1b]0;t") && shown.contains("Binary, or too long for a text diff: 0 bytes before, "),
        "{shown}"
    );
    assert_eq!(bare(&project.isobox(&["diff", "--color=always", &task]).stdout), shown);
}

/// The files of `project` after `script`, as Git tells what changed, and as isobox does.
fn compared(project: &Project, script: &str, arguments: &[&str]) -> (String, String) {
    let task = tool(project, script);
    let mut apply = project.command("sh");
    let program = isobox_tests::isobox_program();
    apply.args(["-c", "\"$0\" diff \"$1\" | git apply --index"]).arg(program).arg(&task);
    let applied = outcome(apply.output().expect("run sh"));
    assert_eq!(applied.code, 0, "{applied:?}");
    let git = project.git(&[&["diff", "--cached", "--no-color", "--full-index", "-M"], arguments].concat());
    let isobox = project.isobox(&[&["diff", "-M"], arguments, &[&task]].concat());
    assert_eq!(isobox.code, 0, "{isobox:?}");
    (git, isobox.stdout)
}

const RENAMES: &str = "mkdir new && mv same new/same && mv edited new/changed && sed -i 's/^line number 3 .*/three/' new/changed && \
    mv 'a \"b' 'c \"d' && chmod +x 'c \"d' && mv little other && printf 'nothing of it\nis left here\n' > other && \
    rm gone && echo come > come && ln -s target link && rm pointer && mv twin one && mv twin2 two";

fn renamed_project() -> Project {
    let twins = lines("twin", 4);
    let files = [
        ("same", lines("same", 5)),
        ("edited", lines("edited", 9)),
        ("a \"b", lines("quoted", 3)),
        ("little", lines("little", 2)),
        ("gone", "gone\n".to_owned()),
        ("pointer", "target".to_owned()),
        ("twin", twins.clone()),
        ("twin2", twins),
    ];
    project(&files.each_ref().map(|(path, text)| (*path, text.as_str())))
}

#[test]
fn renames_are_those_of_git() {
    let project = renamed_project();
    let (git, isobox) = compared(&project, RENAMES, &["--name-status"]);
    assert!(git.contains("R100\tsame\tnew/same\n") && git.contains("\tnew/changed\n"), "{git}");
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&isobox), sorted(&git));
}

#[test]
fn names_alone_are_told_as_git_tells_them() {
    let project = project(&[("plain", "text\n"), ("old\nname", &lines("kept", 5))]);
    let script = "printf x > \"$(printf 'a\\nD\\tplain')\" && printf x > \"$(printf '\\303\\244\\033[2J')\" && \
        mv \"$(printf 'old\\nname')\" 'new\"name' && rm plain";
    let task = tool(&project, script);
    let mut apply = project.command("sh");
    let program = isobox_tests::isobox_program();
    apply.args(["-c", "\"$0\" diff \"$1\" | git apply --index"]).arg(program).arg(&task);
    assert_eq!(outcome(apply.output().expect("run sh")).code, 0);
    for arguments in [["--name-only", "--no-renames"], ["--name-status", "--no-renames"], ["--name-status", "-M"]] {
        for zero in [None, Some("-z")] {
            let asked: Vec<&str> = arguments.into_iter().chain(zero).collect();
            let git = project.git(&[&["diff", "--cached"], asked.as_slice()].concat());
            let isobox = project.isobox(&[&["diff"], asked.as_slice(), &[&task]].concat());
            assert_eq!((isobox.code, isobox.stdout), (0, git), "{asked:?}");
        }
    }
    assert_told(&project.isobox(&["diff", "-z", &task]), 2, &["--name-only", "--name-status"]);
    let seen = bare(&coloured(&project, &["diff", "--name-only", "-z", &task]));
    assert!(!seen.contains('\u{1b}'), "{seen:?}");
}

#[test]
fn a_patch_with_renames_is_that_of_git_and_can_be_applied() {
    let project = renamed_project();
    let (git, isobox) = compared(&project, RENAMES, &[]);
    let parts = |patch: &str| {
        // Git leaves out a count of one, and names what a section is in.
        let is_told = |line: &&str| !line.starts_with("@@ ");
        let mut parts: Vec<Vec<String>> = Vec::new();
        for line in patch.lines().filter(is_told) {
            match line.starts_with("diff ") {
                true => parts.push(vec![line.to_owned()]),
                false => parts.last_mut().expect("a part").push(line.to_owned()),
            }
        }
        parts.sort();
        parts
    };
    assert_eq!(parts(&isobox), parts(&git));
    project.git(&["reset", "-q", "--hard"]);
    project.write("../patch", &isobox);
    project.git(&["apply", "--check", "../patch"]);
}

#[test]
fn a_rename_is_told_wherever_a_person_looks_and_the_stored_patch_stays() {
    let project = renamed_project();
    let task = tool(&project, "mkdir new && mv same new/same && sed -i '1d' edited");
    let patch = project.isobox(&["diff", &task]).stdout;
    assert!(patch.contains("deleted file mode 100644") && !patch.contains("rename from"), "{patch}");
    let shown = coloured(&project, &["diff", &task]);
    assert!(bare(&shown).contains("similarity index 100%\nrename from same\nrename to new/same\n"), "{shown}");
    assert!(bare(&coloured(&project, &["diff", "--no-renames", &task])).contains("deleted file mode"));
    let stat = project.isobox(&["diff", "--stat", &task]).stdout;
    assert!(stat.contains("R same => new/same (100%, "), "{stat}");
    assert!(stat.ends_with("3 changed paths: 1 added, 1 modified, 1 deleted, with 1 rename\n"), "{stat}");
    // A path that goes away is never hidden from a program.
    assert_eq!(project.isobox(&["diff", "--name-only", &task]).stdout, "edited\nnew/same\nsame\n");
    assert_eq!(
        project.isobox(&["diff", "--name-status", "--no-renames", &task]).stdout,
        "M\tedited\nA\tnew/same\nD\tsame\n"
    );
    let told = document(&project.isobox(&["diff", "--json", &task]));
    assert_eq!(told["renames"], serde_json::json!([{ "from": "same", "to": "new/same", "similarity": 100 }]));
    assert_eq!(told["files"].as_array().expect("files").len(), 3);
    // Of what was not chosen nothing is known.
    assert!(project.isobox(&["diff", "--name-status", &task, "new"]).stdout.starts_with("A\tnew/same"));
    assert_told(&project.isobox(&["diff", "-M=0", &task]), 2, &["0 is not in 1..=100"]);
}

#[test]
fn how_much_has_to_be_the_same_can_be_said() {
    let project = renamed_project();
    let task = tool(&project, "mv edited changed && sed -i '1,3d' changed");
    let status = |flag: &str| project.isobox(&["diff", "--name-status", flag, &task]).stdout;
    assert_eq!(status("-M"), "R066\tedited\tchanged\n");
    assert_eq!(status("--find-renames=60"), "R066\tedited\tchanged\n");
    assert_eq!(status("-M=70"), "A\tchanged\nD\tedited\n");
}

#[test]
fn moved_lines_are_told_from_written_ones() {
    let block = lines("moved", 3);
    let project = project(&[("a", &format!("first\n{block}last\n")), ("b", "one\ntwo\n")]);
    let task = tool(
        &project,
        "sed -n '2,4p' a > m; sed -i '2,4d' a; cat m >> b; echo written here anew by the task >> b; rm m",
    );
    let shown = coloured(&project, &["diff", &task]);
    assert_eq!(shown.matches("\x1b[1;35m-\x1b[m\x1b[1;35mline number").count(), 3, "{shown:?}");
    assert_eq!(shown.matches("\x1b[1;36m+\x1b[m\x1b[1;36mline number").count(), 3, "{shown:?}");
    assert!(shown.contains("\x1b[32m+\x1b[m\x1b[32mwritten here"), "{shown:?}");
    assert!(!coloured(&project, &["diff", "--color-moved=no", &task]).contains("\x1b[1;35m"));
}

/// A program called `name` that does what `script` says, on a PATH of its own.
fn with_program(project: &Project, name: &str, script: &str, arguments: &[&str]) -> isobox_tests::Outcome {
    let programs = project.scratch().join("programs");
    std::fs::create_dir_all(&programs).expect("a directory");
    let program = programs.join(name);
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("a program");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    let mut command = project.isobox_command(arguments);
    command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display()));
    command.env("TMPDIR", project.scratch());
    outcome(command.output().expect("run isobox"))
}

#[test]
fn another_program_can_show_the_patch_and_gets_it_escaped() {
    let project = renamed_project();
    let task = tool(&project, r"mv same moved; printf 'x\033[2J\n' > new");
    let shown = with_program(&project, "delta", "cat; exit 0", &["diff", "--tool", "delta", &task]);
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(shown.stdout.contains("+x\\x1b[2J\n") && shown.stdout.contains("rename from same\n"), "{shown:?}");
    let failed = with_program(&project, "delta", "cat > /dev/null; exit 3", &["diff", "--tool=delta", &task]);
    assert_told(&failed, 1, &["delta ended with exit status: 3"]);
    assert_told(&project.isobox(&["diff", "--tool=difft", &task]), 1, &["start difft", "hint: install difft"]);
    assert_told(&project.isobox(&["diff", "--tool=difft", "--stat", &task]), 2, &["cannot be used with"]);
}

#[test]
fn another_program_can_compare_each_file_as_it_was_and_as_it_is() {
    let project = Project::initialised(User::Current);
    project.write("src/a.rs", "one\ntwo\n");
    project.write("gone", "gone\n");
    project.commit_all("Files");
    let change = r"printf 'one\n2\n\033[2J' > src/a.rs; rm gone; printf 'x\0' > binary; ln -s /etc/passwd link; printf 'n\n' > '$(touch y)--help'";
    let task = tool(&project, change);
    let script = "echo \"$*\"; head -n 5 \"$1\" \"$2\"; pwd > \"$0.pwd\"; ls -ld . | cut -c1-10; exit 1";
    let shown = with_program(&project, "difft", script, &["diff", "--tool=difftastic", &task]);
    assert_eq!(shown.code, 0, "{shown:?}");
    let expected = "before/gone /dev/null\n==> before/gone <==\ngone\n\n==> /dev/null <==\ndrwx------\n\
        before/src/a.rs after/src/a.rs\n==> before/src/a.rs <==\none\ntwo\n\n==> after/src/a.rs <==\none\n2\n\\x1b[2Jdrwx------\n";
    let (first, rest) = shown.stdout.split_at(shown.stdout.find("before/gone").expect("a second file"));
    assert!(first.starts_with("/dev/null after/__touch_y_--help\n"), "{shown:?}");
    assert_eq!(rest, expected);
    assert_eq!(shown.stderr, "binary is no text that can be compared\nlink is no text that can be compared\n");
    let place = std::fs::read_to_string(project.scratch().join("programs/difft.pwd")).expect("a place");
    assert!(!std::path::Path::new(place.trim()).exists(), "{place} is still there");
    let script = "echo \"$*\"";
    let git = with_program(&project, "git", script, &["diff", "--tool=git", &task, "gone"]);
    assert_eq!(git.stdout, "difftool --no-index --no-prompt -- before/gone /dev/null\n", "{git:?}");
}

#[test]
fn what_another_program_compares_is_gone_when_isobox_is_told_to_end() {
    let project = renamed_project();
    let task = tool(&project, "seq 1 3 > first; seq 1 4 > second");
    // By the parent of the program, by both as from a keyboard, and by a program that goes on.
    for (script, code) in [
        ("kill -TERM $PPID; exec sleep 60", 128 + 15),
        ("kill -INT $PPID; kill -INT $$", 128 + 2),
        ("kill -INT $PPID; exit 0", 0),
    ] {
        let shown =
            with_program(&project, "difft", &format!("pwd > \"$0.pwd\"; {script}"), &["diff", "--tool=difft", &task]);
        assert_eq!(shown.code, code, "{script}: {shown:?}");
        let place = std::fs::read_to_string(project.scratch().join("programs/difft.pwd")).expect("a place");
        assert!(!std::path::Path::new(place.trim()).exists(), "{script}: {place} is still there");
    }
}

#[test]
fn a_program_that_does_not_read_to_the_end_says_how_it_ended() {
    let project = renamed_project();
    // More than a pipe holds.
    let task = tool(&project, "seq 1 100000 > numbers");
    for (script, code) in [("exec 0<&-; sleep 0.1; exit 3", 1), ("head -1 > /dev/null", 0)] {
        let shown = with_program(&project, "delta", script, &["diff", "--tool=delta", &task]);
        assert_eq!(shown.code, code, "{script}: {shown:?}");
    }
}
