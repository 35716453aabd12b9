//! An update that a kill or an error ends at any system call: there is always a whole program.

use super::machine::Machine;
use super::site::Site;
use isobox_tests::{CALL_GROUPS, FAULTS, Fault, Outcome, ignored, isobox_program, outcome};
use std::fs;

/// Runs an update or roll-back whose `nth` call of `calls` meets `fault`; whether there were that many.
fn run(machine: &Machine, site: &Site, rest: &[&str], (calls, fault, nth): (&str, Fault, u32)) -> (Outcome, bool) {
    let log = machine.at("home/strace.log");
    let action = match fault {
        Fault::Error(errno) => format!("error={errno}"),
        Fault::Kill => "signal=KILL".to_owned(),
    };
    let mut command = machine.command("/usr/bin/strace");
    command.args(["-q", "-o"]).arg(&log).arg(format!("--trace={calls}"));
    command.arg(format!("--inject={calls}:{action}:when={nth}")).arg(isobox_program());
    let url = site.url();
    command.args(["update", "--url", &url, "--key", &site.key()]).args(rest);
    let outcome = outcome(command.output().expect("run strace"));
    let trace = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
    (outcome, trace.contains("(INJECTED)") || trace.contains("killed by SIGKILL"))
}

/// After a fault at each call in turn, `isobox` is whole and one of `versions`, and an update goes through.
fn withstands(rest: &[&str], prepare: impl Fn(&Machine), versions: [&str; 2]) {
    let site = Site::new();
    site.publish_fake("0.2.0");
    let mut hits = 0;
    for calls in CALL_GROUPS {
        for fault in FAULTS {
            for nth in 1.. {
                let machine = Machine::with_release("0.1.0");
                prepare(&machine);
                let (ran, was_hit) = run(&machine, &site, rest, (calls, fault, nth));
                if !was_hit {
                    assert_eq!(ran.code, 0, "{ran:?}");
                    break;
                }
                hits += 1;
                let place = format!("{fault:?} at {calls} {nth}: {ran:?}");
                let version = machine.version("bin/isobox");
                assert!(versions.contains(&version.as_str()), "{version} {place}");
                assert!(version == versions[0] || !ran.stderr.contains("nothing was replaced"), "{version} {place}");
                let url = site.url();
                let again = machine.update(&site, &url, &[]);
                assert_eq!((again.code, machine.version("bin/isobox")), (0, "0.2.0".to_owned()), "{place} {again:?}");
                // What the first one left is gone, or never was.
                let names: Vec<String> = machine.listing("bin").into_keys().collect();
                assert!(names.iter().all(|name| name == "isobox" || name == "isobox.old"), "{names:?} {place}");
            }
        }
    }
    assert!(hits > 10, "{hits}");
}

fn can_trace() -> bool {
    let traced = std::process::Command::new("strace").args(["-q", "-o", "/dev/null", "true"]).status();
    traced.is_ok_and(|status| status.success())
}

#[test]
fn an_update_survives_a_fault_at_any_system_call() {
    if !can_trace() {
        return ignored("faults in an update", "strace cannot trace here");
    }
    withstands(&[], |_| {}, ["0.1.0", "0.2.0"]);
}

#[test]
fn a_roll_back_survives_a_fault_at_any_system_call() {
    if !can_trace() {
        return ignored("faults in a roll-back", "strace cannot trace here");
    }
    withstands(&["--rollback"], |machine| machine.program("bin/isobox.old", "0.0.9"), ["0.1.0", "0.0.9"]);
}
