//! What a policy says of files of the host, from its rules to what holds.

use crate::support::{assert_told, document};
use isobox_tests::{Project, User, outcome};
use std::fs;

const HEAD: &str = "api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\ntool_call:\n  enabled: true\n";

/// Files below the home directory.
fn put(project: &Project, files: &[(&str, &str)]) {
    for (below_home, content) in files {
        let path = project.home().join(below_home);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, content).expect("write");
    }
}

#[test]
fn every_rule_of_a_policy_holds_once_more_without_a_question() {
    let project = Project::initialised(User::Current);
    put(&project, &[("state/file", "before\n"), ("state/.env", "secret-17\n"), ("conf/settings", "set-17\n")]);
    project.write(".env", "secret-18\n");
    let rules = "filesystem:\n  write: [~/state]\n  hide: ['**/.env']\nworkspace:\n  protected: [.github]\nlimits:\n  \
                 open_files: 64\nreuse_inputs: [path=~/conf, env_var=MODE]\n";
    project.write_policy(&format!("{HEAD}{rules}"));
    project.commit_all("policy");
    let script = "cat ~/state/file; echo after > ~/state/file; cat ~/state/file; cat ~/state/.env .env; \
                  mkdir .github || echo protected; ulimit -n; cat ~/conf/settings; echo $MODE";
    let isobox = |arguments: &[&str]| {
        outcome(project.isobox_command(arguments).env("MODE", "fast").output().expect("run isobox"))
    };
    let expected = "before\nafter\nprotected\n64\nset-17\nfast\n";
    let first = isobox(&["tool", "--", "sh", "-c", script]);
    assert_eq!((first.code, first.stdout.as_str()), (0, expected), "{first:?}");
    let policy = || document(&isobox(&["show", "--json", "@latest"]))["effective_policy"].clone();
    let held = policy();
    let again = isobox(&["rerun", "--probe", "@latest"]);
    assert_eq!((again.code, again.stdout.as_str()), (0, expected), "{again:?}");
    assert_eq!(policy(), held);
    let record = document(&isobox(&["show", "--json", "@latest"]));
    assert!(record["probes"].as_array().is_some_and(|probes| probes.len() > 5), "{record:#}");
    // What is gone from the policy is more than it allows.
    project.write_policy(&format!("{HEAD}{}", rules.replace("  write: [~/state]\n", "")));
    project.commit_all("narrower");
    assert_told(
        &isobox(&["rerun", "@latest"]),
        125,
        &["could do more", "`filesystem.write` was", "nothing was started"],
    );
}
