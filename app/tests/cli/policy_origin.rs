//! Where the values of a policy come from, and what they allow.

use crate::support::document;
use isobox_tests::{Project, User};
use std::fs;

const POLICY: &str = ".isobox/config.yaml";

/// The line of a file on which `word` stands.
fn line_of(text: &str, word: &str) -> usize {
    text.lines().position(|line| line.contains(word)).expect("the word") + 1
}

/// A project that wants the network, and a user who does not allow it.
fn narrowed() -> (Project, String, String) {
    let project = Project::initialised(User::Current);
    project.write_policy(&project.read(POLICY).replace("default: deny", "default: inherited"));
    project.commit_all("Policy");
    let config = project.home().join(".config/isobox");
    fs::create_dir_all(&config).expect("create");
    let text = "api_version: isobox.dev/v1alpha1\nkind: UserPolicy\nnetwork:\n  default: deny\n";
    fs::write(config.join("config.yaml"), text).expect("write");
    let own =
        format!("{}/{POLICY}:{}", project.repository().display(), line_of(&project.read(POLICY), "default: inherited"));
    let users = format!("{}:4", config.join("config.yaml").display());
    (project, own, users)
}

#[test]
fn each_value_is_told_with_its_file_and_line_and_what_enforces_it() {
    let (project, own, users) = narrowed();
    let shown = project.isobox(&["policy", "show", "--effective", "--origin"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    let after = |key: &str| {
        let mut lines = shown.stdout.lines().skip_while(|line| !line.starts_with(key));
        [lines.next(), lines.next(), lines.next()].map(|line| line.unwrap_or_default().to_owned())
    };
    let [value, place, held] = after("network.default");
    assert!(value.split_whitespace().eq(["network.default", "user", "deny"]), "{value}");
    assert_eq!(place, format!("    {users}, in place of inherited of {own}"));
    assert!(held.starts_with("    network here, by ") && held.contains("enforced"), "{held}");
    let [_, place, held] = after("tasks.max");
    assert!(place.contains(POLICY), "{place}");
    assert_eq!(held, "    isobox itself sees to it");
}

#[test]
fn a_question_is_answered_with_the_rule_that_decides_it() {
    let (project, own, users) = narrowed();
    let asked = |kind: &str, name: &str| project.isobox(&["policy", "explain", kind, name]);
    let net = asked("net", "crates.io:443");
    assert_eq!(net.code, 1, "{net:?}");
    assert!(net.stdout.starts_with("no: the workload reaches nothing but its own loopback\n"), "{net:?}");
    assert!(
        net.stdout.contains(&format!("`network.default` is deny ({users}, in place of inherited of {own})")),
        "{net:?}"
    );
    assert_eq!((asked("net", "[::1]:80").code, asked("net", "crates.io").code, asked("net", "a:0").code), (0, 2, 2));
    assert_eq!(
        (asked("path", "README.md").code, asked("path", "/etc/shadow").code, asked("path", "/usr/bin").code),
        (0, 1, 0)
    );
    assert_eq!((asked("env", "TERM").code, asked("env", "AWS_SECRET_ACCESS_KEY").code), (0, 1));
    let limit = document(&project.isobox(&["policy", "explain", "--json", "limit", "memory"]));
    assert_eq!(limit["schema"], "isobox.policy-explanation/v1");
    assert_eq!(limit["enforcement"], serde_json::Value::Null, "nothing is limited");
}

#[test]
fn what_is_said_of_a_limit_is_what_the_record_of_a_task_says() {
    let project = Project::initialised(User::Current);
    project.write_policy(&project.read(POLICY).replace("  open_files: unlimited", "  open_files: 99"));
    project.commit_all("Policy");
    assert_eq!(project.isobox(&["run", "-q", "--", "true"]).code, 0);
    let on_record =
        &document(&project.isobox(&["show", "--json", "@latest"]))["effective_policy"]["limits"]["open_files"];
    let explained = document(&project.isobox(&["policy", "explain", "--json", "limit", "open_files"]));
    let mut expected = serde_json::json!({ "control": "limits", "limit": "open_files" });
    for field in ["status", "mechanism"] {
        expected[field] = on_record[field].clone();
    }
    expected["backend"] = explained["enforcement"]["backend"].clone();
    assert_eq!(explained["enforcement"], expected);
    let shown = project.isobox(&["policy", "show", "--effective", "--origin"]).stdout;
    let mechanism = on_record["mechanism"].as_str().expect("a mechanism");
    assert!(
        shown.contains(&format!(
            "    open_files here, by {}: enforced ({mechanism})",
            expected["backend"].as_str().expect("a name")
        )),
        "{shown}"
    );
    let unlimited = shown.lines().skip_while(|line| !line.starts_with("limits.memory")).nth(2);
    assert_eq!(unlimited, Some("    there is nothing to enforce"));
}
