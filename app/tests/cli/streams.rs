//! Streams of `run` beside what the security tests attack.

use crate::support::assert_told;
use isobox_tests::{Project, User, on_every_backend, outcome};
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn a_signal_ends_the_workload_although_nobody_reads_its_output() {
    on_every_backend(|case| {
        let arguments = ["run", "--backend", case.backend.name(), "--", "yes"];
        let mut command = case.project.isobox_command(&arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start");
        let mut stdout = child.stdout.take().expect("a pipe");
        fcntl(&stdout, FcntlArg::F_SETPIPE_SZ(4096)).expect("a short pipe");
        stdout.read_exact(&mut [0]).expect("it runs");
        let asked = Instant::now();
        kill(Pid::from_raw(i32::try_from(child.id()).expect("a pid")), Signal::SIGTERM).expect("signal");
        let ended = outcome(child.wait_with_output().expect("wait"));
        assert!(asked.elapsed() < Duration::from_secs(10), "{ended:?}");
        assert_eq!(ended.code, 143, "{ended:?}");
        assert_eq!(case.record()["outcome"], "interruption");
        drop(stdout);
    });
}

#[test]
fn a_command_that_cannot_be_executed_is_told_of_even_quietly() {
    let project = Project::initialised(User::Current);
    let lost = project.isobox(&["tool", "--", "sh", "-c", "nope-18"]);
    assert_told(&lost, 127, &["exit_code=127", "hint: a sandbox shows the system's programs"]);
    for (command, code, why) in [("nope-18", 127, "not on the PATH"), ("./README.md", 126, "cannot be executed")] {
        let told = project.isobox(&["--quiet", "tool", "--", command]);
        assert_eq!(told.code, code);
        assert!(told.stderr.contains(why), "{told:?}");
    }
    let words = project.isobox(&["tool", "--", "make test"]);
    assert!(words.stderr.contains("leave its quotes out"), "{words:?}");
}

#[test]
fn what_isobox_says_begins_a_line_whatever_the_workload_left() {
    let project = Project::initialised(User::Current);
    let shell = |redirected: &str, arguments: &[&str]| {
        let mut command = project.command("sh");
        command.arg("-c").arg(format!("\"$@\" {redirected}")).arg("sh");
        let ran = command.arg(isobox_tests::isobox_program()).args(arguments).output().expect("run sh");
        outcome(ran)
    };
    let run = ["run", "--", "sh", "-c", "printf out; printf err >&2; sleep 0.2; printf tail"];
    let together = shell("2>&1", &run);
    assert!(together.stdout.contains("tail\nisobox task "), "{together:?}");
    // Apart, what a program reads gains nothing.
    let apart = shell("", &run);
    assert_eq!(apart.stdout, "outtail");
    assert!(apart.stderr.contains("\nerr\nisobox task "), "{apart:?}");
    assert_eq!(shell("2>&1", &[&["--quiet"], &run[..]].concat()).stdout.matches('\n').count(), 0);
    let followed = shell("2>&1", &["logs", "-f", "@latest"]);
    assert!(followed.stdout.contains("tail\nisobox task ") && followed.stdout.starts_with("out"), "{followed:?}");
    assert_eq!(shell("2>&1", &["logs", "@latest"]).stdout, "outerrtail");
}
