//! Only the variables of the policy are passed.

use super::attack::{Attack, Verdict, python};
use super::canary::{Process, SECRET};
use super::inside::program;
use isobox_tests::Case;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack { name: "a_variable_of_the_caller_is_passed", named: &[], attempt: passed },
    Attack {
        name: "variables_of_other_processes_are_read",
        named: &["variables of other processes"],
        attempt: of_others,
    },
    Attack {
        name: "variables_of_isobox_are_read_in_proc",
        named: &["variables of other processes"],
        attempt: of_isobox,
    },
];

/// What comes of a program where isobox has the secret in its own environment.
fn with_secret(case: &Case, text: &str) -> Verdict {
    let mut command = case.project.isobox_command(&["run", "--backend", case.backend.name(), "--"]);
    command.args(["/usr/bin/python3", "-c", &program(text)]);
    for name in ["CANARY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "LD_PRELOAD_CANARY", "GIT_CONFIG_PARAMETERS"] {
        command.env(name, SECRET);
    }
    let run = case.output(command);
    assert_eq!(run.code, 0, "{run:?}");
    match run.stdout.lines().any(|line| line.starts_with("through ")) {
        true => Verdict::GotThrough(run.stdout.trim().replace('\n', ", ")),
        false => Verdict::Stopped(run.stdout.trim().replace('\n', ", ")),
    }
}

fn passed(case: &Case) -> Verdict {
    with_secret(
        case,
        "
attempt('had a variable of the caller', lambda: 'host-secret-17' in ' '.join(os.environ.values()))
attempt('found a variable of the caller in its memory', lambda: b'host-secret-17' in read('/proc/self/environ'))
",
    )
}

const SEARCH: &str = "
def found(processes):
    for name in processes:
        try:
            if b'host-secret-17' in read('/proc/' + name + '/environ'):
                return True
        except OSError:
            pass
    return False
";

fn of_others(case: &Case) -> Verdict {
    let canary = Process::of(case);
    let search = format!("{SEARCH}\nattempt('read variables of other processes', lambda: found(['{}']))", canary.pid());
    python(case, &search)
}

fn of_isobox(case: &Case) -> Verdict {
    let search = format!(
        "{SEARCH}
attempt('read variables of isobox', lambda: found([name for name in os.listdir('/proc') if name.isdigit()]))
attempt('read variables of the stage', lambda: found([str(os.getppid())]))
"
    );
    with_secret(case, &search)
}
