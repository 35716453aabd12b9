//! The adapters of this crate keep what every adapter of their ports keeps.

use isobox_domain::policy::ProjectPolicy;
use isobox_host::{POLICY_PATH, RandomTaskIds, SystemClock, YamlPolicySource};
use isobox_ports::PolicyError;
use isobox_ports::contract::machine::{clock_cases, task_ids_cases};
use isobox_ports::contract::policy_source::{self, InPlace};
use libtest_mimic::Arguments;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::ExitCode;

const POLICY: &str = "api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\ntool_call: {enabled: true}\n";

fn load(place: InPlace) -> Result<Option<ProjectPolicy>, PolicyError> {
    let project = tempfile::tempdir().expect("a temporary directory");
    let file = project.path().join(POLICY_PATH);
    fs::create_dir(file.parent().expect("a parent")).expect("a folder");
    fs::write(project.path().join("elsewhere"), POLICY).expect("write");
    match place {
        InPlace::Nothing => Ok(()),
        InPlace::Policy => fs::write(&file, POLICY),
        InPlace::NoPolicy => fs::write(&file, "policy: none\n"),
        InPlace::Empty => fs::write(&file, ""),
        InPlace::Link => symlink(project.path().join("elsewhere"), &file),
        InPlace::DanglingLink => symlink("nowhere", &file),
        InPlace::NoFile => fs::create_dir(&file),
    }
    .expect("put something in place");
    policy_source::read(&YamlPolicySource::new(project.path()))
}

fn main() -> ExitCode {
    let mut trials = policy_source::cases("yaml", load);
    trials.extend(clock_cases("system", || SystemClock));
    trials.extend(task_ids_cases("random", || RandomTaskIds));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
