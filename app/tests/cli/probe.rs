//! `--probe`, which attacks a Sandbox from inside before it is believed.

use crate::support::document;
use isobox_tests::{Outcome, Project, User, ignored};

/// Runs isobox as somebody who has a token, which comes first of all variables.
fn isobox(project: &Project, arguments: &[&str]) -> Outcome {
    let output = project.isobox_command(arguments).env("API_TOKEN", "hunter2").output().expect("run isobox");
    isobox_tests::outcome(output)
}

#[test]
fn what_is_limited_and_passed_on_by_choice_is_probed_as_anything_else() {
    for user in [User::Current, User::Ordinary] {
        let project = Project::initialised(user);
        let policy = project.read(".isobox/config.yaml");
        let changes = [
            ("\nrequire: []", "\nrequire: [limits]"),
            ("reuse_inputs: []", "reuse_inputs: [env_var=API_TOKEN]"),
            ("  disk: unlimited", "  disk: 64MiB"),
        ];
        let asked = changes.iter().fold(policy, |policy, (from, to)| {
            assert!(policy.contains(from), "{policy}");
            policy.replace(from, to)
        });
        project.write_policy(&asked);
        project.commit_all("Policy");
        let unprobed = isobox(&project, &["tool", "--", "true"]);
        if unprobed.code != 0 {
            ignored("what_is_limited_and_passed_on_by_choice_is_probed_as_anything_else", &unprobed.stderr);
            continue;
        }
        for command in ["tool", "run"] {
            let probed = isobox(&project, &[command, "--probe", "--", "true"]);
            assert_eq!(probed.code, 0, "{user:?} {probed:?}");
        }
        let doctor = isobox(&project, &["doctor", "--probe", "--json"]);
        let told = document(&doctor);
        let findings = told["findings"].as_array().expect("findings");
        let probes: Vec<_> = findings
            .iter()
            .filter(|found| found["check"].as_str().is_some_and(|check| check.starts_with("probe")))
            .collect();
        assert!(probes.len() > 5 && probes.iter().all(|found| found["severity"] != "error"), "{told:#}");
    }
}
