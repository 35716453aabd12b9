//! `isobox policy`, and a user's own policy as a ceiling.

use crate::support::{assert_told, document, user_policy};
use isobox_tests::{Project, User};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;

const HEAD: &str = "api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\ntool_call:\n  enabled: true\n";

#[test]
fn every_mistake_is_told_at_once_with_its_place() {
    let project = Project::bare(User::Current);
    project.write(
        ".isobox/config.yaml",
        &format!("{HEAD}netwrk: {{}}\nnetwork:\n  default: dney\n  port: 1\nrecords:\n  views: many\n"),
    );
    let check = project.isobox(&["policy", "check"]);
    assert_told(&check, 3, &["config.yaml:5:1: ", "config.yaml:7:12: ", "config.yaml:8:3: ", "config.yaml:10:10: "]);
    for word in ["did you mean `network`?", "did you mean `deny`?", "7 |   default: dney"] {
        assert!(check.stderr.contains(word), "{check:?}");
    }
    project.write(".isobox/config.yaml", HEAD);
    let check = project.isobox(&["policy", "check"]);
    assert_eq!((check.code, check.stdout.ends_with("config.yaml: valid\n")), (0, true), "{check:?}");
}

#[test]
fn a_git_directory_of_another_repository_is_refused_by_a_check_and_before_anything_starts() {
    let (project, other) = (Project::initialised(User::Current), Project::bare(User::Current));
    other.git(&["config", "http.extraheader", "Authorization: Bearer secret"]);
    let root = other.repository().canonicalize().expect("it is there");
    for (path, relation) in [(root.join(".git/config"), "lies in"), (root.clone(), "contains")] {
        let policy = format!("{HEAD}filesystem:\n  read: [/not/there, {}]\n", path.display());
        project.write_policy(&policy);
        project.commit_all("Look");
        let git = root.join(".git").display().to_string();
        let told = format!("`{}` {relation} the Git directory `{git}`, which may hold hooks", path.display());
        let check = project.isobox(&["policy", "check", "--json"]);
        let findings = document(&check)["findings"].as_array().expect("findings").clone();
        let found = findings.iter().find(|finding| finding["check"] == "policy.read").expect("it was looked at");
        assert!(check.code == 1 && found["found"].as_str().is_some_and(|found| found.contains(&told)), "{check:?}");
        let read = path.display().to_string();
        let refused = project.isobox(&["run", "--trust-policy", "--read", &read, "--", "cat", &read]);
        assert_eq!((refused.code, refused.stdout.as_str()), (125, ""), "{refused:?}");
        project.write_policy(&policy.replace("/not/there, ", ""));
        project.commit_all("Look again");
        let refused = project.isobox(&["tool", "--trust-policy", "--", "cat", &read]);
        assert_told(&refused, 125, &["isobox tool preflight", &told]);
        assert_eq!((refused.stdout.as_str(), project.workspaces().len()), ("", 0));
    }
}

#[test]
fn the_schema_is_json_and_has_every_key_that_a_policy_shows() {
    let project = Project::initialised(User::Current);
    let schema = document(&project.isobox(&["policy", "schema"]));
    let shown = document(&project.isobox(&["policy", "show", "--effective", "--json"]));
    assert_eq!(shown["schema"], "isobox.policy/v1");
    for value in shown["values"].as_array().expect("values") {
        let key = value["key"].as_str().expect("a key");
        let place = key.split('.').fold(&schema, |place, name| &place["properties"][name]);
        assert!(place["description"].is_string(), "{key}: {place}");
    }
}

#[test]
fn a_project_may_narrow_a_users_policy_and_never_widen_it() {
    let project = Project::bare(User::Current);
    project.write_policy(&format!("{HEAD}network:\n  default: inherited\nruntime_backend: host\n"));
    project.write(".gitignore", ".isobox/tasks/\n");
    project.commit_all("policy");
    user_policy(&project, "network:\n  default: deny\nruntime_backend: auto\n");
    let shown = project.isobox(&["policy", "show", "--effective"]);
    let words = |key: &str| {
        let line = shown.stdout.lines().find(|line| line.starts_with(key)).expect("a line");
        line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(words("network.default"), ["user", "deny"], "{shown:?}");
    assert_eq!(words("tool_call.enabled"), ["project", "true"], "{shown:?}");
    let tool = project.isobox(&["tool", "--", "true"]);
    assert_eq!(tool.code, 0, "{tool:?}");
    assert!(tool.stderr.contains("network=deny network_enforcement=enforced"), "{tool:?}");
    let run = project.isobox(&["run", "--network", "inherited", "--", "true"]);
    assert_told(&run, 125, &["your own policy allows less", "`network.default`"]);
}

#[test]
fn who_disabled_tool_calls_is_named_and_what_helps() {
    let project = Project::initialised(User::Current);
    user_policy(&project, "tool_call:\n  enabled: false\n");
    let told = project.isobox(&["tool", "--", "true"]);
    let own = project.home().join(".config/isobox/config.yaml");
    let sentence = format!("`tool_call.enabled` is false in your own policy, {}", own.display());
    assert_told(&told, 125, &[&sentence, "hint: set it to true there, or remove it"]);
    assert!(!told.stderr.contains(".isobox/config.yaml"), "{told:?}");
    project.write_policy(&HEAD.replace("enabled: true", "enabled: false"));
    project.commit_all("Disabled by the project as well");
    assert_eq!(project.isobox(&["policy", "trust"]).code, 0);
    let told = project.isobox(&["tool", "--", "true"]);
    assert_told(&told, 125, &["`tool_call.enabled` is not true in ", ".isobox/config.yaml"]);
}

#[test]
fn a_users_policy_that_is_invalid_stops_everything_and_is_named() {
    let project = Project::initialised(User::Current);
    user_policy(&project, "filesystem:\n  read: [/opt]\n");
    let tool = project.isobox(&["tool", "--", "true"]);
    assert_told(&tool, 125, &[".config/isobox/config.yaml:4:9: ", "has no meaning in a user's own policy"]);
    assert_told(&project.isobox(&["policy", "check"]), 3, &["config.yaml:4:9: "]);
}

/// Writes a policy, and what `policy check` and `doctor` find of it: the severity of `check`, and both exit codes.
fn judged(project: &Project, text: &str, check: &str) -> (Value, [i32; 2]) {
    project.write(".isobox/config.yaml", &format!("{HEAD}{text}"));
    let (checked, doctor) = (project.isobox(&["policy", "check", "--json"]), project.isobox(&["doctor", "--json"]));
    let codes = [checked.code, doctor.code];
    let [checked, doctor] = [checked, doctor].map(|outcome| {
        let told = document(&outcome)["findings"].clone();
        told.as_array().expect("findings").iter().find(|finding| finding["check"] == check).cloned()
    });
    assert_eq!(checked, doctor, "they say the same");
    (checked.unwrap_or_else(|| panic!("no {check} for {text}")), codes)
}

#[test]
fn what_is_valid_and_lets_nothing_start_is_an_error_with_its_fix() {
    let project = Project::bare(User::Current);
    let missing = format!("filesystem:\n  read: [/usr, {}]\n", project.repository().join("missing").display());
    for (text, check, found, fix) in [
        (
            "network:\n  allow: [example.org]\n",
            "policy.sandbox",
            "`network.allow` cannot be enforced",
            "remove the rules",
        ),
        (missing.as_str(), "policy.read", "/usr can be read\nlook at ", "name a file or directory that is there"),
        ("filesystem:\n  read: [/etc]\n", "policy.read", "/etc/shadow", "holds no secrets"),
    ] {
        let (finding, codes) = judged(&project, text, check);
        assert_eq!((finding["severity"].as_str(), codes), (Some("error"), [1, 1]), "{finding}");
        assert!(finding["found"].as_str().expect("text").contains(found), "{finding}");
        assert!(finding["fix"].as_str().expect("a fix").contains(fix), "{finding}");
        let text = project.isobox(&["policy", "check"]);
        assert!(text.stdout.contains("config.yaml: well-formed, but nothing starts\n  error    policy."), "{text:?}");
        assert_eq!(project.isobox(&["tool", "--trust-policy", "--", "true"]).code, 125, "{text:?}");
    }
}

#[test]
fn a_backend_that_contains_nothing_is_warned_of() {
    let project = Project::bare(User::Current);
    let (finding, codes) = judged(&project, "runtime_backend: host\n", "policy.sandbox");
    assert_eq!((finding["severity"].as_str(), codes), (Some("warning"), [0, 0]), "{finding}");
    assert!(finding["consequence"].as_str().expect("text").contains("contains nothing"), "{finding}");
}

#[test]
fn a_path_that_is_there_and_cannot_be_read_is_warned_of() {
    let project = Project::bare(User::Ordinary);
    project.write("closed", "");
    let closed = project.repository().join("closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o200)).expect("chmod");
    let text = format!("filesystem:\n  read: [{}]\n", closed.display());
    let (finding, codes) = judged(&project, &text, "policy.read");
    assert_eq!((finding["severity"].as_str(), codes), (Some("warning"), [0, 0]), "{finding}");
    assert!(finding["found"].as_str().expect("text").contains("cannot be read: Permission denied"), "{finding}");
}

#[test]
fn a_users_policy_that_is_invalid_is_an_error_of_doctor_too() {
    let project = Project::initialised(User::Current);
    user_policy(&project, "network:\n  default: dney\n");
    let doctor = project.isobox(&["doctor"]);
    assert!(doctor.code == 1 && doctor.stdout.contains("error    policy.user"), "{doctor:?}");
    assert!(doctor.stdout.contains("fix    did you mean `deny`?"), "{doctor:?}");
}

#[test]
fn every_mistake_has_its_hint_to_itself() {
    let project = Project::bare(User::Current);
    project.write(".isobox/config.yaml", &format!("{HEAD}netwrok: {{}}\nnetwork:\n  default: dney\n"));
    let told = document(&project.isobox(&["policy", "check", "--json"]));
    let mistakes = told["files"][0]["mistakes"].as_array().expect("mistakes").clone();
    let hints: Vec<_> = mistakes.iter().map(|mistake| mistake["hint"].as_str()).collect();
    assert_eq!(hints, [Some("did you mean `network`?"), Some("did you mean `deny`?")]);
    assert!(mistakes.iter().all(|mistake| !mistake["reason"].as_str().expect("text").contains("hint: ")), "{told:#}");
}

#[test]
fn no_backend_that_was_chosen_is_left_by_asking_for_auto() {
    let project = Project::initialised(User::Current);
    user_policy(&project, "runtime_backend: bubblewrap\n");
    let run = project.isobox(&["run", "--backend", "auto", "--", "true"]);
    assert!(run.code == 0 && run.stderr.contains("backend=bubblewrap"), "{run:?}");
    user_policy(&project, "");
    project.write_policy(&format!("{HEAD}runtime_backend: bubblewrap\n"));
    project.commit_all("policy");
    let weaker = project.isobox(&["run", "--backend", "auto", "--", "touch", "started"]);
    assert_ne!(weaker.code, 0);
    assert!(weaker.stderr.contains("`--backend auto` is weaker than the project's policy"), "{weaker:?}");
    let taken = project.isobox(&["run", "--unsafe-backend", "--backend", "auto", "--", "true"]);
    assert!(taken.code == 0 && taken.stderr.contains("warning: "), "{taken:?}");
}
