//! Promise: what a person exposes by choice is there, nothing beside it is, and the record says what it weakens.

use isobox_tests::{Case, Outcome, outcome};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

isobox_tests::promises! {
    every: [
        a_variable_is_passed_and_its_value_is_not_kept,
        a_reference_to_a_credential_is_refused_with_the_reason,
    ],
    containing: [
        an_installed_agent_starts_and_finds_its_configuration,
        a_path_is_shown_read_only_at_its_place_and_below_home,
        a_socket_that_is_named_is_reached_and_its_neighbour_is_not,
        a_socket_that_rules_the_machine_is_refused,
        what_cannot_be_had_starts_nothing,
    ],
}

fn run(case: &Case, inputs: &[&str], script: &str) -> Outcome {
    let mut command = case.project.isobox_command(&arguments(case, inputs, script));
    outcome(command.env("API_TOKEN", "secret-17").output().expect("run isobox"))
}

fn arguments(case: &Case, inputs: &[&str], script: &str) -> Vec<String> {
    let mut arguments: Vec<String> = ["run", "--backend", case.backend.name()].map(str::to_owned).to_vec();
    arguments.extend(inputs.iter().flat_map(|input| ["--reuse-input".to_owned(), (*input).to_owned()]));
    arguments.extend(["--", "sh", "-c", script].map(str::to_owned));
    arguments
}

fn put(case: &Case, below_home: &str, content: &str) -> PathBuf {
    let path = case.project.home().join(below_home);
    fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    fs::write(&path, content).expect("write");
    path
}

fn weakened(record: &Value, control: &str) -> bool {
    let exposures = record["effective_policy"]["exposures"].as_array().expect("a list");
    let status = &record["effective_policy"]["enforcement"][control]["status"];
    exposures.iter().any(|exposure| exposure["weakens"] == control) && status != "enforced"
}

fn a_variable_is_passed_and_its_value_is_not_kept(case: &Case) {
    let script = "echo \"$MODE\"; test \"$API_TOKEN\" = secret-17 && echo same; env | grep -c '^API_TOKEN='; echo ${OTHER-unset}";
    let found = run(case, &["env_var=API_TOKEN", "env_var=MODE=fast=yes"], script);
    assert_eq!((found.code, found.stdout.as_str()), (0, "fast=yes\nsame\n1\nunset\n"), "{found:?}");
    let record = case.record();
    let inputs = &record["effective_policy"]["reuse_inputs"];
    assert_eq!(inputs[0]["value"], "API_TOKEN", "{inputs:#}");
    assert_eq!(inputs[1]["value"], "MODE", "{inputs:#}");
    assert!(inputs[0]["digest"].as_str().is_some_and(|digest| digest != inputs[1]["digest"]), "{inputs:#}");
    assert!(weakened(&record, "credentials") && weakened(&record, "environment"), "{record:#}");
    let kept = record["effective_policy"].to_string();
    assert!(!kept.contains("secret-17") && !kept.contains("fast"), "{kept}");
    for refused in ["env_var=HOME", "env_var=NOT_SET_ANYWHERE", "env_var=1x=y"] {
        let refused = run(case, &[refused], "echo started");
        assert_eq!((refused.code, refused.stdout.as_str()), (125, ""), "{refused:?}");
    }
}

fn a_reference_to_a_credential_is_refused_with_the_reason(case: &Case) {
    let found = run(case, &["credential_ref=github"], "echo started");
    assert_eq!((found.code, found.stdout.as_str()), (125, ""), "{found:?}");
    assert!(found.stderr.contains("no broker for credentials"), "{found:?}");
}

fn an_installed_agent_starts_and_finds_its_configuration(case: &Case) {
    let script = put(
        case,
        ".local/share/agent/lib/agent",
        "#!/usr/bin/env agent-shell\n. \"$(dirname \"$(readlink -f \"$0\")\")/part\"\n",
    );
    put(case, ".local/share/agent/lib/part", "cat \"$HOME/.config/agent/settings\"; command -v agent\n");
    put(case, ".config/agent/settings", "configured-17\n");
    put(case, ".config/other/settings", "secret-17\n");
    let bin = case.project.home().join(".local/bin");
    fs::create_dir_all(&bin).expect("a directory");
    symlink(&script, bin.join("agent")).expect("a link");
    symlink("/bin/sh", bin.join("agent-shell")).expect("a link");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("chmod");
    let inputs = ["host_binary=agent", "path=~/.config/agent"];
    let mut command =
        case.project.isobox_command(&arguments(case, &inputs, "agent; cat ~/.config/other/settings; true"));
    let found = outcome(command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).output().expect("run isobox"));
    assert_eq!(found.stdout, "configured-17\n/.isobox/bin/agent\n", "{found:?}");
    let limitations = case.record()["effective_policy"]["limitations"].to_string();
    assert!(limitations.contains(".local/share/agent/lib"), "{limitations}");
}

fn a_path_is_shown_read_only_at_its_place_and_below_home(case: &Case) {
    let file = put(case, ".config/agent/settings", "configured-17\n");
    let directory = file.parent().expect("a parent").display().to_string();
    let script = format!(
        "cat ~/.config/agent/settings {directory}/settings; echo x > ~/.config/agent/settings; echo x > {directory}/y; true"
    );
    let found = run(case, &[&format!("path={directory}")], &script);
    assert_eq!(found.stdout, "configured-17\nconfigured-17\n", "{found:?}");
    assert_eq!(fs::read_to_string(&file).expect("read"), "configured-17\n");
    assert!(!file.with_file_name("y").exists());
    assert!(weakened(&case.record(), "credentials"));
}

fn a_socket_that_is_named_is_reached_and_its_neighbour_is_not(case: &Case) {
    let agent = case.project.scratch().join("agent.sock");
    let other = case.project.scratch().join("other.sock");
    let listeners = [&agent, &other].map(|path| {
        let listener = UnixListener::bind(path).expect("bind");
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("chmod");
        listener
    });
    let connect = |path: &PathBuf| {
        format!(
            "python3 -c 'import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(\"reached\")' {}",
            path.display()
        )
    };
    let script = format!("{}; {} 2> /dev/null; true", connect(&agent), connect(&other));
    let found = run(case, &[&format!("local_integration={}", agent.display())], &script);
    assert_eq!(found.stdout, "reached\n", "{found:?}");
    assert!(weakened(&case.record(), "credentials"));
    drop(listeners);
}

fn a_socket_that_rules_the_machine_is_refused(case: &Case) {
    let socket = case.project.scratch().join("docker.sock");
    let listener = UnixListener::bind(&socket).expect("bind");
    let found = run(case, &[&format!("local_integration={}", socket.display())], "echo started");
    assert_eq!((found.code, found.stdout.as_str()), (125, ""), "{found:?}");
    assert!(found.stderr.contains("rules the machine"), "{found:?}");
    drop(listener);
}

fn what_cannot_be_had_starts_nothing(case: &Case) {
    let plain = put(case, "plain", "x").display().to_string();
    for (input, part) in [
        ("host_binary=no-such-program".to_owned(), "no such program on PATH"),
        ("path=/nonexistent".to_owned(), "No such file"),
        (format!("local_integration={plain}"), "is no socket"),
    ] {
        let found = run(case, &[&input], "echo started");
        assert_eq!((found.code, found.stdout.as_str()), (125, ""), "{input}: {found:?}");
        assert!(found.stderr.contains(part), "{input}: {found:?}");
    }
}
