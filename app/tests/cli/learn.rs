//! Completions, manual pages, topics of help, and what is meant by a word that is nearly right.

use crate::support::{assert_told, tool};
use isobox_tests::{Outcome, Project, User, isobox_program, outcome};
use std::fs;

#[test]
fn every_shell_gets_a_script_and_asking_runs_nothing() {
    let project = Project::initialised(User::Current);
    for shell in ["bash", "zsh", "fish"] {
        let script = project.isobox(&["completions", shell]);
        assert_eq!(script.code, 0, "{script:?}");
        assert!(script.stdout.contains("ISOBOX_COMPLETE"), "{script:?}");
    }
    assert_told(&project.isobox(&["completions", "tcsh"]), 2, &["tcsh"]);
    let mut asking = project.isobox_command(&["--", "isobox", "tool", "--", "touch", "made"]);
    asking.env("ISOBOX_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", "nonsense");
    asking.output().expect("run isobox");
    assert!(project.isobox(&["list"]).stderr.contains("there is no task"));
}

#[test]
fn every_command_has_a_page_with_its_flags_and_examples() {
    let project = Project::bare(User::Current);
    let page = |words: &[&str]| project.isobox(&[&["man"], words].concat());
    assert!(page(&[]).stdout.contains(".TH isobox 1"));
    let promote = page(&["promote"]).stdout;
    assert!(promote.contains(".TH isobox-promote 1") && promote.contains("dry\\-run"), "{promote}");
    assert!(page(&["workspace", "dispose"]).stdout.contains("isobox workspace dispose @latest"));
    assert_told(&page(&["workspace", "nothing"]), 2, &["there is no page", "hint: "]);
}

/// The headings of a page, in their order.
fn headings(page: &str) -> Vec<&str> {
    page.lines().filter_map(|line| line.strip_prefix(".SH ")).map(|heading| heading.trim_matches('"')).collect()
}

#[test]
fn pages_have_the_sections_that_manual_pages_have_in_their_order() {
    let project = Project::bare(User::Current);
    let page = |words: &[&str]| project.isobox(&[&["man"], words].concat()).stdout;
    assert_eq!(
        headings(&page(&["rerun"])),
        [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "OPTIONS",
            "GLOBAL OPTIONS",
            "EXIT STATUS",
            "NOTES",
            "EXAMPLES",
            "SEE ALSO"
        ]
    );
    let isobox = page(&[]);
    let further = ["COMMANDS", "EXIT STATUS", "ENVIRONMENT", "FILES", "NOTES", "EXAMPLES", "SEE ALSO"];
    assert!(headings(&isobox).ends_with(&further), "{isobox}");
    assert!(isobox.contains(".TH isobox 1 \"\" \"isobox 0."), "{isobox}");
    assert!(isobox.contains("XDG_STATE_HOME") && isobox.contains(".isobox/config.yaml"), "{isobox}");
    let list = page(&["list"]);
    assert_eq!(list.matches(".ds Aq").count(), 2, "{list}");
    for told in [
        "unreviewed: It ended",
        "auto: On a terminal",
        "never: Never",
        "\\fB6\\fR",
        "Possible values:",
        "isobox list \\-\\-state unreviewed",
    ] {
        assert!(list.contains(told), "`{told}` is not in {list}");
    }
    assert!(!list.contains("\\fB127\\fR"), "{list}");
    assert!(page(&["tool"]).contains("\\fB127\\fR"));
    assert!(page(&["policy", "check"]).contains("\\fBisobox\\-policy\\fR(1), \\fBisobox\\fR(1)"));
}

#[test]
fn help_of_a_command_is_what_the_command_says_of_itself() {
    let project = Project::bare(User::Current);
    for command in isobox_tests::commands_with_pages() {
        let words: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
        // A topic of the help is called `policy` as well.
        if words != ["policy"] {
            let help = project.isobox(&[&["help"], &words[..]].concat());
            let own = project.isobox(&[&words[..], &["--help"]].concat());
            assert_eq!((help.code, help.stdout), (0, own.stdout), "{words:?}");
        }
    }
    assert_told(&project.isobox(&["help", "policy", "nothing"]), 2, &["there is no help for `policy nothing`"]);
}

#[test]
fn every_command_shows_examples_in_its_help() {
    let project = Project::bare(User::Current);
    let help = project.isobox(&["--help"]).stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> = commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    assert!(names.len() > 12, "{names:?}");
    for name in names.into_iter().filter(|name| !name.is_empty()) {
        let help = project.isobox(&[name, "--help"]);
        assert!(help.code == 0 && help.stdout.contains("Examples:"), "{name}: {help:?}");
    }
}

#[test]
fn topics_explain_what_is_no_command() {
    let project = Project::bare(User::Current);
    for (topic, word) in
        [("ids", "@latest~2"), ("formats", "--json"), ("environment", "XDG_STATE_HOME"), ("policy", "network.default")]
    {
        let help = project.isobox(&["help", topic]);
        assert!(help.code == 0 && help.stdout.contains(word), "{help:?}");
    }
    assert_told(&project.isobox(&["help", "nothing"]), 2, &["exit-codes, ids, formats"]);
}

#[test]
fn a_word_that_is_nearly_right_is_answered_with_the_right_one() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "true");
    let last = if task.ends_with('0') { '1' } else { '0' };
    let nearly = format!("{}{last}", &task[..task.len() - 1]);
    assert_told(&project.isobox(&["show", &nearly]), 5, &[&format!("did you mean {task}?")]);
    for (typed, meant) in
        [("latest", "@latest"), ("@last", "@latest"), ("newest~2", "@latest~2"), ("HEAD~", "@latest~")]
    {
        assert_told(&project.isobox(&["show", typed]), 5, &[&format!("hint: did you mean `{meant}`?")]);
    }
    assert_told(&project.isobox(&["cat", "latest:README.md"]), 5, &["did you mean `@latest`?"]);
    assert_told(&project.isobox(&["export", "all", "../out"]), 5, &["did you mean `@all`?"]);
    assert_told(&project.isobox(&["promte", &task]), 2, &["promote"]);
    assert_told(&project.isobox(&["list", "--jsn"]), 2, &["--json"]);
}

#[test]
fn a_page_that_is_nearly_right_is_answered_with_the_right_one() {
    let project = Project::bare(User::Current);
    for (typed, meant) in [
        (&["help", "lst"][..], "did you mean `isobox help list`?"),
        (&["help", "polcy"], "did you mean `isobox help policy`?"),
        (&["help", "exit-code"], "did you mean `isobox help exit-codes`?"),
        (&["help", "policy", "chek"], "did you mean `isobox help policy check`?"),
        (&["man", "promoet"], "did you mean `isobox man promote`?"),
        (&["man", "workspace", "lists"], "did you mean `isobox man workspace list`?"),
    ] {
        assert_told(&project.isobox(typed), 2, &[meant]);
    }
    let told = project.isobox(&["help", "something-else"]);
    assert!(told.code == 2 && !told.stderr.contains("did you mean"), "{told:?}");
}

fn coloured(outcome: &Outcome) -> bool {
    outcome.stderr.contains("\u{1b}[")
}

#[test]
fn labels_are_coloured_where_it_is_asked_for() {
    let project = Project::bare(User::Current);
    assert!(coloured(&project.isobox(&["--color", "always", "show", "x"])));
    assert!(!coloured(&project.isobox(&["--color=never", "show", "x"])));
    assert!(!coloured(&project.isobox(&["show", "x"])));
    assert_told(&project.isobox(&["--color", "sometimes", "list"]), 2, &["sometimes"]);
}

#[test]
fn detail_is_told_where_it_is_asked_for() {
    let project = Project::initialised(User::Current);
    let verbose = project.isobox(&["--verbose", "tool", "--", "true"]);
    assert!(verbose.stderr.contains(": network enforced ("), "{verbose:?}");
    assert!(verbose.stderr.contains(" ms until its start and ran "), "{verbose:?}");
    assert_told(&project.isobox(&["--verbose", "--quiet", "list"]), 2, &["--quiet"]);
}

#[test]
fn a_pager_shows_what_is_read_on_a_terminal_and_nothing_else() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, r"printf 'a\033[2J\n' > README.md; printf 'said\033[2J\n'; echo and complained >&2");
    let paged = project.scratch().join("paged");
    let with_pager = |arguments: &[&str]| {
        // Only `script` gives a program a terminal for its input, too.
        let line = format!("{} {}", isobox_program().display(), arguments.join(" "));
        let mut script = project.command("script");
        script.args(["-qec", &line, "/dev/null"]).env("PAGER", format!("cat > {}", paged.display()));
        let shown = outcome(script.output().expect("run script"));
        let through = fs::read_to_string(&paged).ok();
        fs::remove_file(&paged).ok();
        (shown.code, through)
    };
    let (code, through) = with_pager(&["diff", &task]);
    let through = through.expect("a pager was used");
    assert_eq!(code, 0);
    assert!(through.contains("+a\\x1b[2J\n"), "{through}");
    assert!(with_pager(&["show", &task]).1.is_some_and(|through| through.contains(&task)));
    let (code, through) = with_pager(&["logs", &task]);
    assert_eq!((code, through.as_deref()), (0, Some("said\\x1b[2J\nand complained\n")));
    assert_eq!(with_pager(&["logs", "--stderr", &task]).1.as_deref(), Some("and complained\n"));
    assert_eq!(with_pager(&["logs", "--follow", &task]).1, None);
    // What does not go to the terminal goes where it was sent.
    let (_, through) = with_pager(&["logs", &task, "2>&1 > /dev/null"]);
    assert_eq!(through, None);
    let (_, through) = with_pager(&["logs", &task, "2> /dev/null"]);
    assert_eq!(through.as_deref(), Some("said\\x1b[2J\n"));
    assert_eq!(with_pager(&["--no-pager", "diff", &task]).1, None);
    assert_eq!(with_pager(&["list"]).1, None);
    let mut piped = project.isobox_command(&["diff", &task]);
    let piped = outcome(piped.env("PAGER", "false").output().expect("run isobox"));
    assert!(piped.stdout.contains("+a\u{1b}[2J\n"), "{piped:?}");
}
