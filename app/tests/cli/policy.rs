//! `isobox policy`, and a user's own policy as a ceiling.

use crate::support::{assert_told, document};
use isobox_tests::{Project, User};
use std::fs;

const HEAD: &str = "api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\ntool_call:\n  enabled: true\n";

fn user_policy(project: &Project, text: &str) {
    let folder = project.home().join(".config/isobox");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("config.yaml"), format!("api_version: isobox.dev/v1alpha1\nkind: UserPolicy\n{text}"))
        .expect("write");
}

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
        assert_told(&project.isobox(&["policy", "check"]), 3, &[&told, "hint: name a file or directory"]);
        let check = project.isobox(&["policy", "check", "--json"]);
        assert_eq!((check.code, &document(&check)["files"][0]["valid"]), (3, &serde_json::json!(false)));
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
fn a_users_policy_that_is_invalid_stops_everything_and_is_named() {
    let project = Project::initialised(User::Current);
    user_policy(&project, "filesystem:\n  read: [/opt]\n");
    let tool = project.isobox(&["tool", "--", "true"]);
    assert_told(&tool, 125, &[".config/isobox/config.yaml:4:9: ", "has no meaning in a user's own policy"]);
    assert_told(&project.isobox(&["policy", "check"]), 3, &["config.yaml:4:9: "]);
}
