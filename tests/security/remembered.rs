//! Promise: what was found out of the kernel once and holds no more starts nothing, and is found out anew.

use isobox_tests::{Backend, Case, Machine, outcome, users};

#[test]
fn a_workload_that_cannot_be_confined_any_more_is_not_started() {
    for user in users() {
        let case = Case::new(*user, Backend::Landlock);
        case.run_well("true");
        let flags = ["run", "--backend", "landlock", "--", "sh", "-c", "echo started"];
        for _ in 0..2 {
            let output = Machine::WithoutLandlockLayers.output(case.project.isobox_command(&flags));
            let run = outcome(output.expect("run a command"));
            assert_eq!((run.code, run.stdout.as_str()), (125, ""), "{run:?}");
            assert!(run.stderr.contains("Landlock"), "{run:?}");
        }
        assert_eq!(case.run_well("echo started").stdout, "started\n");
    }
}
