//! The output of the commands that act, each in a project of its own, as every user.

use crate::transcript::{Transcript, users};
use isobox_tests::Project;

/// Runs `act` in two fresh projects, piped in one and on a terminal in the other, and compares what both print.
fn acted(name: &str, prepare: impl Fn(&Project), commands: &[&[&str]]) {
    for user in users() {
        let mut text = String::new();
        for way in [Transcript::piped, Transcript::on_the_terminal] {
            let project = Project::initialised_of_fixed_length(*user);
            prepare(&project);
            let mut transcript = Transcript::of(project);
            commands.iter().for_each(|arguments| way(&mut transcript, arguments));
            text.push_str(transcript.text());
        }
        isobox_tests::assert_snapshot(format!("tests/cli/snapshots/{name}.txt"), &text);
    }
}

const CHANGE: &[&str] = &["tool", "--", "sh", "-c", "echo out; echo err >&2; echo more >> README.md"];

fn changed(project: &Project) {
    assert_eq!(project.isobox(CHANGE).code, 0);
}

#[test]
fn setting_up_reads_well() {
    for user in users() {
        let mut transcript = Transcript::of(Project::of_fixed_length(*user));
        transcript.look(&["init"]);
        transcript.assert_as_kept("init");
    }
}

#[test]
fn attempts_read_well() {
    let commands: &[&[&str]] = &[
        CHANGE,
        &["tool", "--", "sh", "-c", "exit 3"],
        &["tool", "--", "sh", "-c", "kill -9 $$"],
        &["tool", "--", "no-such-command"],
        &["tool", "--", "./README.md"],
        &["-q", "tool", "--", "echo", "quiet"],
        &["run", "--", "true"],
        &["run", "--retain-workspace", "--", "touch", "kept"],
        &["run", "--backend", "host", "--", "true"],
        &["run", "--network", "inherited", "--unsafe-network", "--reuse-input", "env_var=EDITOR=vi", "--", "true"],
        &["rerun", "@latest~4"],
    ];
    acted("attempts", |_| (), commands);
}

#[test]
fn promotions_read_well() {
    acted("promote", changed, &[&["promote", "--yes", "@latest"]]);
}

#[test]
fn what_acts_on_tasks_reads_well() {
    let keep = |project: &Project| {
        project.isobox(&["run", "--retain-workspace", "--", "touch", "kept"]);
    };
    let commands: &[&[&str]] = &[
        &["workspace", "list"],
        &["workspace", "list", "--json"],
        &["workspace", "dispose", "@latest"],
        &["reject", "@latest", "--reason", "not needed"],
        &["export", "@latest", "../scratch/out"],
        &["export", "--layout", "v1", "@latest", "../scratch/old"],
        &["import", "--records", "../scratch/records", "../scratch/old"],
        &["import", "--records", "../scratch/records", "../scratch/old"],
        &["import", "--json", "--records", "../scratch/records", "../scratch/old"],
    ];
    acted("acting", keep, commands);
}
