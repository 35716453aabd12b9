//! Trust of a policy that somebody else wrote: asked for once, pinned to the bytes of the file.

use crate::support::{assert_told, document};
use isobox_tests::{Outcome, Project, User, ignored, outcome, typed_on_a_terminal};
use std::fs;
use std::path::PathBuf;

const HEAD: &str = "api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\ntool_call:\n  enabled: true\n";

/// A repository as somebody finds it who has cloned it: with a policy that lets workloads use the network.
fn cloned(user: User) -> Project {
    let project = Project::bare(user);
    project.write(".isobox/config.yaml", &format!("{HEAD}network:\n  default: inherited\n"));
    project.write(".gitignore", ".isobox/tasks/\n");
    project.commit_all("policy");
    project
}

fn pins(project: &Project) -> Vec<PathBuf> {
    let folder = fs::read_dir(project.home().join(".local/state/isobox/trusted-policies"));
    folder.map(|files| files.map(|file| file.expect("a file").path()).collect()).unwrap_or_default()
}

fn assert_untrusted(refused: &Outcome, project: &Project) {
    assert_told(refused, 125, &["is not trusted yet; nothing was started", "--trust-policy", "isobox policy show"]);
    assert_eq!(project.workspaces(), Vec::<PathBuf>::new());
    assert!(!project.repository().join(".git/isobox").exists());
    assert_eq!(pins(project), Vec::<PathBuf>::new());
}

#[test]
fn a_fresh_clone_runs_nothing_and_leaves_nothing_until_its_policy_is_trusted() {
    for user in [User::Current, User::Ordinary] {
        let project = cloned(user);
        let mark = project.scratch().join("mark");
        let touch = format!("touch {}", mark.display());
        for arguments in [&["tool"][..], &["run"], &["run", "--backend", "host"], &["run", "--network=deny"]] {
            let refused = project.isobox(&[arguments, &["--", "sh", "-c", &touch]].concat());
            assert_untrusted(&refused, &project);
        }
        assert!(!mark.exists());
        let tool = project.isobox(&["tool", "--trust-policy", "--", "true"]);
        assert_told(&tool, 0, &["network=inherited"]);
        for arguments in [["tool", "--", "true"], ["run", "--", "true"], ["rerun", "@latest", "--current"]] {
            assert_told(&project.isobox(&arguments), 0, &["network=inherited"]);
        }
        assert_eq!(pins(&project).len(), 1);
    }
}

#[test]
fn an_edit_is_trusted_anew_and_going_back_is_not_asked_about() {
    let project = cloned(User::Current);
    let trust = project.isobox(&["policy", "trust"]);
    assert_eq!(trust.code, 0, "{trust:?}");
    let line = |key: &str| trust.stdout.lines().find(|line| line.trim_start().starts_with(key)).expect(key).to_owned();
    assert!(line("network.default").ends_with(" inherited") && line("tool_call.enabled").ends_with(" true"));
    assert_told(&project.isobox(&["tool", "--", "true"]), 0, &[]);
    let before = project.read(".isobox/config.yaml");
    project.write(".isobox/config.yaml", HEAD);
    project.commit_all("narrower");
    let refused = project.isobox(&["tool", "--", "true"]);
    assert_told(&refused, 125, &["not one that you trusted", "`network.default` is deny and was inherited"]);
    assert_told(&project.isobox(&["rerun", "@latest"]), 125, &["not one that you trusted"]);
    project.write(".isobox/config.yaml", &format!("{before}# a comment is a change, too\n"));
    project.commit_all("comment");
    assert_told(&project.isobox(&["tool", "--", "true"]), 125, &["not one that you trusted"]);
    project.write(".isobox/config.yaml", &before);
    project.commit_all("back");
    assert_told(&project.isobox(&["tool", "--", "true"]), 0, &[]);
    assert_eq!(project.isobox(&["policy", "check"]).stderr, "");
    assert_eq!(project.isobox(&["policy", "distrust"]).code, 0);
    assert_told(&project.isobox(&["policy", "check"]), 0, &["you have not trusted this policy yet"]);
    assert_told(&project.isobox(&["tool", "--", "true"]), 125, &["is not trusted yet"]);
}

#[test]
fn whoever_trusts_a_policy_under_which_nothing_starts_is_told_so() {
    let project = cloned(User::Current);
    project.write(".isobox/config.yaml", &format!("{HEAD}network:\n  allow: [example.org]\n"));
    assert_told(&project.isobox(&["policy", "trust"]), 0, &["nothing starts under it here: `isobox policy check`"]);
    let checked = project.isobox(&["policy", "check"]);
    assert!(
        checked.code == 1 && checked.stdout.contains("config.yaml: well-formed, but nothing starts"),
        "{checked:?}"
    );
}

/// Runs isobox on a terminal where somebody types.
fn typing(project: &Project, arguments: &[&str], typed: &str) -> (i32, String) {
    typed_on_a_terminal(project.isobox_command(arguments), 80, typed)
}

#[test]
fn a_person_is_asked_on_a_terminal_and_what_is_shown_cannot_deceive() {
    let project = cloned(User::Current);
    project.write(".isobox/config.yaml", &format!("{HEAD}filesystem:\n  read: [\"/opt/\\e[2Jx\"]\n"));
    project.commit_all("hostile");
    let policy = || document(&project.isobox(&["policy", "show", "--json"]))["trusted"].as_bool();
    for answer in ["no\n", "\n", "y\ny\n", "Yes\n", "yes please\n", "\u{4}"] {
        let (code, shown) = typing(&project, &["--color=never", "tool", "--", "true"], answer);
        assert_eq!((code, policy()), (125, Some(false)), "{shown}");
        for word in ["You have not trusted", "filesystem.read", "[\"/opt/\\x1b[2Jx\"]", "nothing was started"] {
            assert!(shown.contains(word), "`{word}` is not in {shown}");
        }
        assert!(!shown.contains('\u{1b}') && !shown.contains("records.views"), "{shown}");
    }
    assert_untrusted(&project.isobox(&["tool", "--", "true"]), &project);
    project.write(".isobox/config.yaml", HEAD);
    project.commit_all("harmless");
    let (code, shown) = typing(&project, &["tool", "--", "echo", "said"], "yes\n");
    assert_eq!((code, policy()), (0, Some(true)), "{shown}");
    assert!(shown.contains("Trust this policy?") && shown.contains("said\r\n"), "{shown}");
    let (code, shown) = typing(&project, &["tool", "--", "true"], "");
    assert!(code == 0 && !shown.contains("Trust"), "{shown}");
}

#[test]
fn a_list_of_thousands_leaves_the_question_and_what_weighs_most_in_sight() {
    let project = cloned(User::Current);
    let entries: String = (0..5000).map(|n| format!("    - \"/opt/{n}\\n  network.default   deny\"\n")).collect();
    let hostile = format!("{HEAD}network:\n  default: inherited\nfilesystem:\n  read:\n{entries}");
    project.write(".isobox/config.yaml", &hostile);
    project.commit_all("flood");
    let (code, shown) = typing(&project, &["tool", "--", "true"], "no\n");
    let lines: Vec<&str> = shown.split("\r\n").take_while(|line| !line.starts_with("Trust this policy?")).collect();
    assert_eq!((code, lines.len()), (125, 13), "{shown}");
    assert!(lines.last().is_some_and(|line| line.starts_with("  network.default") && line.ends_with(" inherited")));
    assert!(shown.contains("and 4994 more, which `isobox policy show` lists"), "{shown}");
    let listed = project.isobox(&["policy", "show"]).stdout;
    assert!(listed.contains("\"/opt/4999\\n  network.default   deny\"]"), "the last of all entries is there");
    project.write(".isobox/config.yaml", HEAD);
    project.commit_all("small");
    assert_eq!(project.isobox(&["policy", "trust"]).code, 0);
    project.write(".isobox/config.yaml", &hostile);
    project.commit_all("flood again");
    let refused = project.isobox(&["tool", "--", "true"]);
    assert_told(&refused, 125, &["`filesystem.read` is a list of 5000 and was []", "is inherited and was deny"]);
}

/// What the newest attempt could reach, and how many there are.
fn newest(project: &Project) -> (String, u64) {
    let record = document(&project.isobox(&["show", "--json", "@latest"]));
    let network = record["effective_policy"]["network"]["default"].as_str().expect("it is recorded");
    (network.to_owned(), record["attempt"].as_u64().expect("a number"))
}

#[test]
fn a_rerun_can_do_no_more_than_what_is_trusted_now_unless_somebody_says_so() {
    let project = cloned(User::Current);
    assert_eq!(project.isobox(&["policy", "trust"]).code, 0);
    assert_told(&project.isobox(&["tool", "--", "true"]), 0, &["network=inherited"]);
    assert_eq!(project.isobox(&["policy", "distrust"]).code, 0);
    assert_told(&project.isobox(&["rerun", "@latest"]), 125, &["is not trusted yet; nothing was started"]);
    // The record is of a policy that is not there any more, and nobody knows whether it was ever trusted here.
    project.write(".isobox/config.yaml", HEAD);
    project.commit_all("narrower");
    assert_eq!(project.isobox(&["policy", "trust"]).code, 0);
    let refused = project.isobox(&["rerun", "@latest"]);
    assert_told(
        &refused,
        125,
        &["could do more", "`network.default` was inherited and is now deny", "nothing was started"],
    );
    let (code, shown) = typing(&project, &["rerun", "@latest"], "no\n");
    assert!(code == 125 && shown.contains("inherited  (now deny)\r\nUse the policy"), "{shown}");
    assert_eq!(newest(&project), ("inherited".to_owned(), 1));
    let (code, shown) = typing(&project, &["rerun", "@latest"], "yes\n");
    assert_eq!((code, newest(&project)), (0, ("inherited".to_owned(), 2)), "{shown}");
    // A yes is for one attempt.
    assert_told(&project.isobox(&["rerun", "@latest"]), 125, &["could do more"]);
    assert_told(&project.isobox(&["rerun", "--trust-policy", "@latest"]), 0, &["network=inherited"]);
    assert_told(&project.isobox(&["rerun", "--trust-policy", "--current", "@latest"]), 0, &["network=inherited"]);
}

#[test]
fn what_was_narrower_is_done_again_as_narrow_as_it_was() {
    let project = cloned(User::Current);
    assert_told(&project.isobox(&["run", "--trust-policy", "--network=deny", "--", "true"]), 0, &["network=deny"]);
    assert_told(&project.isobox(&["rerun", "@latest"]), 0, &["network=deny"]);
}

#[test]
fn records_of_another_machine_bring_no_policy_with_them() {
    let (theirs, ours) = (Project::initialised(User::Current), Project::bare(User::Current));
    let carried = ours.scratch().join("carried").display().to_string();
    let ran = theirs.isobox(&["run", "--records", &carried, "--backend", "host", "--", "true"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let root = theirs.repository().display().to_string();
    let arguments = ["rerun", "--records", &carried, "--source", &root, "@latest"];
    // What the record says of its repository is not believed where nobody stands in it or names it.
    let elsewhere = ours.isobox(&["rerun", "--trust-policy", "--records", &carried, "@latest"]);
    assert_told(&elsewhere, 125, &["cannot attempt", "is not the repository around you", "--source"]);
    assert_told(&theirs.isobox(&["rerun", "--trust-policy", "--records", &carried, "@latest"]), 0, &["backend=host"]);
    let trusting = theirs.isobox(&arguments);
    assert_told(&trusting, 125, &["`runtime_backend` was host and is now auto", "nothing was started"]);
}

#[test]
fn what_is_piped_in_is_the_workloads_and_no_answer() {
    let project = cloned(User::Current);
    let mut command = project.command("sh");
    command.args(["-c", "echo yes | \"$0\" tool -- cat"]).arg(isobox_tests::isobox_program());
    assert_untrusted(&outcome(command.output().expect("run sh")), &project);
}

#[test]
fn pins_of_another_user_do_not_count() {
    if !nix::unistd::geteuid().is_root() {
        return ignored("pins of another user", "the tests do not run as root");
    }
    let project = cloned(User::Ordinary);
    assert_eq!(project.isobox(&["policy", "trust"]).code, 0);
    assert_told(&project.isobox_by_sudo(&["tool", "--", "true"]), 125, &["is not trusted yet"]);
    // Not even where root looks into that user's directories.
    let mut command = std::process::Command::new(isobox_tests::isobox_program());
    command.args(["tool", "--", "true"]).current_dir(project.repository()).env("HOME", project.home());
    command
        .env("SUDO_UID", "65533")
        .env("SUDO_GID", "65533")
        .env_remove("XDG_STATE_HOME")
        .stdin(std::process::Stdio::null());
    let by_root = outcome(command.output().expect("run isobox"));
    assert_told(&by_root, 125, &["is not trusted yet"]);
    assert_told(&project.isobox(&["tool", "--", "true"]), 0, &[]);
}

#[test]
fn a_damaged_pin_is_asked_about_again_and_made_whole() {
    let project = cloned(User::Current);
    for damage in [&b""[..], b"isobox trusted policies 1\nb3:", b"\xff\0"] {
        assert_eq!(project.isobox(&["policy", "trust"]).code, 0);
        fs::write(&pins(&project)[0], damage).expect("damage");
        assert_told(&project.isobox(&["tool", "--", "true"]), 125, &["is not trusted yet"]);
        assert_told(&project.isobox(&["tool", "--trust-policy", "--", "true"]), 0, &[]);
        assert_told(&project.isobox(&["tool", "--", "true"]), 0, &[]);
    }
}

#[test]
fn init_trusts_what_it_writes_and_says_when_it_found_another_policy() {
    let project = Project::initialised(User::Current);
    let shown = document(&project.isobox(&["policy", "show", "--json"]));
    assert_eq!(shown["trusted"], true, "{shown}");
    let found = cloned(User::Current);
    assert_told(&found.isobox(&["init"]), 0, &["not trusted its policy yet", "isobox policy trust"]);
    assert_told(&found.isobox(&["policy", "show"]), 0, &["not trusted this policy yet"]);
    assert_untrusted(&found.isobox(&["tool", "--", "true"]), &found);
}

#[test]
fn working_trees_of_a_repository_share_what_is_trusted_and_clones_do_not() {
    let project = Project::initialised(User::Current);
    let [tree, clone] = ["tree", "clone"].map(|name| project.scratch().join(name).display().to_string());
    project.git(&["worktree", "add", "-q", &tree]);
    project.git(&["clone", "-q", ".", &clone]);
    assert_told(&project.isobox(&["tool", "--source", &tree, "--", "true"]), 0, &[]);
    assert_told(&project.isobox(&["tool", "--source", &clone, "--", "true"]), 125, &["is not trusted yet"]);
}

#[test]
fn promoting_an_edit_of_the_policy_is_no_trust_in_it() {
    let project = Project::initialised(User::Current);
    let edit = "printf 'network:\\n  default: inherited\\n' > new; sed -i '/^network:/,/^$/d' .isobox/config.yaml; \
                cat new >> .isobox/config.yaml; rm new";
    assert_told(&project.isobox(&["tool", "--", "sh", "-c", edit]), 0, &[]);
    assert_told(&project.isobox(&["promote", "--yes", "@latest"]), 0, &[]);
    project.commit_all("promoted");
    let refused = project.isobox(&["tool", "--", "true"]);
    assert_told(&refused, 125, &["not one that you trusted", "`network.default` is inherited and was deny"]);
}

#[test]
fn a_repository_without_a_policy_needs_no_trust() {
    let project = Project::bare(User::Current);
    assert_told(&project.isobox(&["run", "--", "true"]), 0, &[]);
    assert_eq!(pins(&project), Vec::<PathBuf>::new());
    assert_told(&project.isobox(&["policy", "trust"]), 1, &["there is no project policy", "isobox init"]);
}
