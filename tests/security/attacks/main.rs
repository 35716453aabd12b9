//! Promise: what a record calls enforced holds against attacks from inside, and what does not hold is called so.
//!
//! One file a control. Each attack is a test of its own on every backend, as root and as an ordinary user; one more test
//! a control and backend looks whether the report is too modest: where it admits a gap, an attack has to get through it.

mod attack;
mod canary;
mod credentials;
mod environment;
mod filesystem;
mod inside;
mod ipc;
mod limits;
mod network;
mod privileges;
mod processes;
mod report;
mod syscalls;

use attack::{Attack, Verdict};
use isobox_tests::{Backend, Case, Machine, User, ignored, users};
use libtest_mimic::{Arguments, Failed, Trial};
use report::Reported;

/// The attacks on each control and on each limit, by its name in records.
const CONTROLS: [(&str, &[Attack]); 18] = [
    ("filesystem", filesystem::ATTACKS),
    ("network", network::ATTACKS),
    ("processes", processes::ATTACKS),
    ("privileges", privileges::ATTACKS),
    ("syscalls", syscalls::ATTACKS),
    ("ipc", ipc::ATTACKS),
    ("environment", environment::ATTACKS),
    ("credentials", credentials::ATTACKS),
    ("limits.time", limits::TIME),
    ("limits.idle_time", limits::IDLE_TIME),
    ("limits.memory", limits::MEMORY),
    ("limits.processes", limits::PROCESSES),
    ("limits.cpu", limits::CPU),
    ("limits.cpu_time", limits::CPU_TIME),
    ("limits.disk", limits::DISK),
    ("limits.inodes", limits::INODES),
    ("limits.open_files", limits::OPEN_FILES),
    ("limits.file_size", limits::FILE_SIZE),
];

/// Where attacks are tried: what tests are called after, the backend, and what the machine lacks.
const PLACES: [(&str, Backend, Machine); 6] = [
    ("bubblewrap", Backend::Bubblewrap, Machine::Whole),
    ("landlock", Backend::Landlock, Machine::Whole),
    ("landlock_without_namespaces", Backend::Landlock, Machine::WithoutUserNamespaces),
    ("landlock_of_abi_1", Backend::Landlock, Machine::OldLandlock(1)),
    ("landlock_of_abi_3_without_namespaces", Backend::Landlock, Machine::OldLandlockAlone(3)),
    ("host", Backend::Host, Machine::Whole),
];

/// What `landlock` without namespaces says that it lets through, attack by attack. Other gaps that it tells of depend on the
/// machine or on the user.
const ADMITTED: [(&str, &str); 9] = [
    ("filesystem", "the_mode_of_a_host_file_is_changed"),
    ("filesystem", "the_times_of_a_host_file_are_changed"),
    ("filesystem", "names_and_sizes_of_host_files_are_found_out"),
    ("filesystem", "a_directory_of_the_host_is_watched"),
    ("filesystem", "accounts_of_the_system_are_read"),
    ("processes", "a_process_of_the_host_is_seen"),
    ("ipc", "shared_memory_of_the_host_is_found"),
    ("ipc", "the_name_of_the_machine_is_found_out"),
    ("credentials", "sockets_of_the_host_are_listed"),
];

/// What it lets through besides where Landlock is older than ABI 6.
const ADMITTED_OF_OLDER: [(&str, &str); 3] = [
    ("processes", "a_process_of_the_host_is_signalled"),
    ("processes", "a_process_of_the_host_is_signalled_by_descriptor"),
    ("processes", "the_stage_is_killed"),
];

fn main() {
    let arguments = Arguments::from_args();
    let trials = match inside::PYTHON_IS_MISSING.as_ref() {
        Some(reason) => vec![left_out("attacks from inside", reason)],
        None => trials(),
    };
    libtest_mimic::run(&arguments, trials).exit();
}

/// What stands for tests that cannot be made here. It is said by its name: what is printed while tests are listed is taken for one.
fn left_out(what: &str, reason: &str) -> Trial {
    let why = reason.to_owned();
    Trial::test(format!("{what} ({reason})"), || Err(why.into())).with_ignored_flag(true)
}

fn trials() -> Vec<Trial> {
    let mut trials = vec![Trial::test("limits::every_attack_gets_through_without_limits", || {
        limits::all_get_through_without_limits(&Case::new(User::Current, Backend::Host))
    })];
    for (place, backend, machine) in PLACES {
        match machine.obstacle() {
            Some(reason) => trials.push(left_out(place, reason)),
            None => users().iter().for_each(|user| trials.extend(of_user(*user, place, backend, machine))),
        }
    }
    trials
}

/// Every attack by one user in one place.
fn of_user(user: User, place: &'static str, backend: Backend, machine: Machine) -> Vec<Trial> {
    let mut trials = Vec::new();
    let case = move || Case::on(user, backend, machine);
    for (control, attacks) in CONTROLS.into_iter().filter(|(control, _)| is_tried(control, machine)) {
        let title = |name: &str| format!("{control}::{name}::{place}::{}", called(user));
        trials.extend(attacks.iter().map(|attack| {
            let title = title(attack.name);
            let is_admitted = is_admitted(control, attack, machine);
            Trial::test(title.clone(), move || match is_admitted {
                true => gets_through_as_admitted(control, attack, &case()),
                false => is_held_or_admitted(&title, control, attack, &case()),
            })
        }));
        if is_measured(control, machine) {
            trials.push(Trial::test(title("is_not_called_weaker_than_it_is"), move || {
                is_not_too_modest(control, attacks, &case())
            }));
        }
    }
    trials
}

/// Whether what is admitted of it is a gap that can be shown. Without namespaces no limit is called more than partially
/// enforced, because the processes are among the user's others: for want of a wall, not for a known way.
fn is_measured(control: &str, machine: Machine) -> bool {
    !machine.lacks_user_namespaces() || !control.starts_with("limits.")
}

/// Where Landlock is older, what it has no part in is as everywhere.
fn is_tried(control: &str, machine: Machine) -> bool {
    machine.landlock_abi().is_none() || ["filesystem", "network", "processes", "ipc", "credentials"].contains(&control)
}

fn is_admitted(control: &'static str, attack: &Attack, machine: Machine) -> bool {
    let of = |admitted: &[(&str, &str)]| admitted.contains(&(control, attack.name));
    let is_older = machine.landlock_abi().is_some_and(|abi| abi < 6);
    machine.lacks_user_namespaces() && (of(&ADMITTED) || is_older && of(&ADMITTED_OF_OLDER))
}

const fn called(user: User) -> &'static str {
    match user {
        User::Current => "the_one_who_tests",
        User::Ordinary => "an_ordinary_user",
    }
}

/// Whoever gets through a control that is said to be enforced, or by a way that its report does not name, is a fault.
fn is_held_or_admitted(title: &str, control: &str, attack: &Attack, case: &Case) -> Result<(), Failed> {
    let verdict = attack.try_on(case)?;
    let reported = Reported::of(control, case);
    match (&verdict, &reported) {
        (Verdict::Untried(reason), _) => ignored(title, reason),
        (Verdict::GotThrough(what), Reported::Enforced) => {
            return Err(format!("{control} is reported as enforced, and {what}").into());
        }
        (Verdict::GotThrough(what), Reported::Partially(reason)) if !attack.is_named_in(reason) => {
            return Err(format!("{what}, and of {control} it is only said: {reason}").into());
        }
        _ => {}
    }
    Ok(())
}

/// What is said to get through does, and is said in words for it.
fn gets_through_as_admitted(control: &str, attack: &Attack, case: &Case) -> Result<(), Failed> {
    let verdict = attack.try_on(case)?;
    match (&verdict, Reported::of(control, case)) {
        (Verdict::GotThrough(_), Reported::Partially(reason)) if attack.is_named_in(&reason) => Ok(()),
        (_, reported) => {
            Err(format!("{control} is reported as {reported:?}, and of the attack came: {verdict:?}").into())
        }
    }
}

/// Whoever admits a gap that no attack finds deceives as well.
fn is_not_too_modest(control: &str, attacks: &[Attack], case: &Case) -> Result<(), Failed> {
    let mut stopped = Vec::new();
    for attack in attacks {
        let case = case.another();
        match (attack.try_on(&case)?, Reported::of(control, &case)) {
            (_, Reported::Enforced) | (Verdict::GotThrough(_), _) => return Ok(()),
            (Verdict::Stopped(how), _) => stopped.push(format!("{}: {how}", attack.name)),
            (Verdict::Untried(_), _) => {}
        }
    }
    let reported = Reported::of(control, case);
    Err(format!("{control} is reported as {reported:?}, and every attack was stopped: {stopped:#?}").into())
}
