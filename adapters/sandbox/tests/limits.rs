//! Limits hold, whoever holds them, and it is told which one a workload ran into.
//!
//! Every case runs on every backend, as the user that the tests run as, with what that user has: control groups or none.
//! A limit that is reported as not enforced is not attacked, and the case says so.

#[path = "limits/bombs.rs"]
mod bombs;
#[path = "limits/groups.rs"]
mod groups;
mod stand;
#[path = "limits/times.rs"]
mod times;

use isobox_domain::enforcement::Enforcement;
use isobox_domain::limit::{ExceededLimit, Limit, LimitReport};
use isobox_ports::{Ending, RuntimeBackend};
use isobox_sandbox::{BubblewrapBackend, HostBackend, LandlockBackend};
use libtest_mimic::{Arguments, Failed, Trial};
use stand::{Heard, Stand};
use std::sync::Arc;
use std::time::Duration;

/// Longest that anything here may take on a busy machine, except what must never be waited for.
pub(crate) const PROMPTLY: Duration = Duration::from_secs(30);

type Case = fn(&mut Stand<'_>) -> Result<(), Failed>;

/// Each case, and the limits that it attacks.
const CASES: &[(&str, &[Limit], Case)] = &[
    ("a_workload_ends_with_its_time", &[Limit::Time], times::a_workload_ends_with_its_time),
    ("a_workload_that_ignores_sigterm_is_killed", &[Limit::Time], times::a_workload_that_ignores_sigterm_is_killed),
    ("a_workload_may_end_itself_in_its_grace", &[Limit::Time], times::a_workload_may_end_itself_in_its_grace),
    ("the_time_ends_for_daemons_too", &[Limit::Time], times::the_time_ends_for_daemons_too),
    ("a_caller_that_does_not_read_stops_no_timer", &[Limit::Time], times::a_caller_that_does_not_read_stops_no_timer),
    ("one_that_is_over_in_time_was_in_time", &[Limit::Time], times::one_that_is_over_in_time_was_in_time),
    ("one_that_is_not_listened_to_is_not_silent", &[Limit::IdleTime], times::one_that_is_not_listened_to_is_not_silent),
    ("a_silent_workload_is_ended", &[Limit::IdleTime], times::a_silent_workload_is_ended),
    ("one_that_speaks_is_not", &[Limit::IdleTime], times::one_that_speaks_is_not),
    ("cpu_time_ends_one_that_computes", &[Limit::CpuTime], times::cpu_time_ends_one_that_computes),
    ("cpu_time_is_of_all_processes_together", &[Limit::CpuTime], times::cpu_time_is_of_all_processes_together),
    ("a_share_of_a_cpu_is_no_more_than_that", &[Limit::Cpu], times::a_share_of_a_cpu_is_no_more_than_that),
    ("a_bomb_on_the_heap_is_ended", &[Limit::Memory], bombs::a_bomb_on_the_heap_is_ended),
    ("a_bomb_of_many_processes_is_ended", &[Limit::Memory], bombs::a_bomb_of_many_processes_is_ended),
    ("a_bomb_in_files_in_memory_is_ended", &[Limit::Memory], bombs::a_bomb_in_files_in_memory_is_ended),
    ("what_is_cached_of_files_is_no_bomb", &[Limit::Memory], bombs::what_is_cached_of_files_is_no_bomb),
    ("memory_that_is_shared_counts_once", &[Limit::Memory], bombs::memory_that_is_shared_counts_once),
    ("a_fork_bomb_gets_no_further", &[Limit::Processes], bombs::a_fork_bomb_gets_no_further),
    ("a_success_beside_a_refusal_is_one", &[Limit::Processes], bombs::a_success_beside_a_refusal_is_one),
    ("a_disk_bomb_gets_no_further", &[Limit::Disk], bombs::a_disk_bomb_gets_no_further),
    ("an_inode_bomb_gets_no_further", &[Limit::Disk, Limit::Inodes], bombs::an_inode_bomb_gets_no_further),
    ("no_more_files_can_be_open", &[Limit::OpenFiles], bombs::no_more_files_can_be_open),
    ("no_file_can_be_longer", &[Limit::FileSize], bombs::no_file_can_be_longer),
    ("no_limit_can_be_raised_again", &[Limit::OpenFiles], bombs::no_limit_can_be_raised_again),
    ("no_core_is_dumped", &[], bombs::no_core_is_dumped),
    ("without_limits_nothing_is_reported", &[], groups::without_limits_nothing_is_reported),
    ("what_is_in_force_is_what_was_asked_for", &[], groups::what_is_in_force_is_what_was_asked_for),
    ("no_group_is_left", &[Limit::Memory], groups::no_group_is_left),
    ("what_a_killed_start_left_is_removed_by_the_next", &[Limit::Memory], groups::what_a_killed_start_left_is_removed),
    ("no_group_is_in_sight", &[Limit::Memory], groups::no_group_is_in_sight),
];

fn main() {
    isobox_sandbox::stage::enter_if_asked();
    let words: Vec<String> = std::env::args().collect();
    match words.get(1).map(String::as_str) {
        Some("supervise") => groups::supervise(&*backend(&words[2])).expect("a sandbox comes up"),
        _ => run_cases(),
    }
}

fn backend(name: &str) -> Arc<dyn RuntimeBackend> {
    match name {
        "host" => Arc::new(HostBackend::new()),
        "landlock" => Arc::new(LandlockBackend::new()),
        _ => Arc::new(BubblewrapBackend::new()),
    }
}

fn run_cases() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for name in ["host", "bubblewrap", "landlock"] {
        let backend = backend(name);
        let unavailable = backend.capabilities().unavailable;
        for &(case_name, limits, case) in CASES {
            trials.push(match unavailable.clone().or_else(|| obstacle(&*backend, limits)) {
                Some(reason) => {
                    Trial::test(format!("{name}::{case_name} ({reason})"), || Ok(())).with_ignored_flag(true)
                }
                None => trial(name, case_name, Arc::clone(&backend), case),
            });
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn trial(name: &str, case_name: &str, backend: Arc<dyn RuntimeBackend>, case: Case) -> Trial {
    Trial::test(format!("{name}::{case_name}"), move || case(&mut Stand::new(&*backend)?))
}

/// Why one of `limits` cannot be attacked here: the backend says that nothing enforces it.
fn obstacle(backend: &dyn RuntimeBackend, limits: &[Limit]) -> Option<String> {
    let asked =
        limits.iter().fold(isobox_domain::limit::Limits::NONE, |asked, limit| asked.with(*limit, Some(1 << 20)));
    backend.limits(&asked).into_iter().find_map(|report| match report.enforcement {
        Enforcement::NotEnforced { reason } => Some(reason),
        _ => None,
    })
}

/// A limit as a policy file would have it.
pub(crate) fn limited(stand: &mut Stand<'_>, limit: Limit, text: &str) {
    let value = limit.parse_value(text).expect("a value of a test is one");
    stand.policy.limits = stand.policy.limits.with(limit, value);
}

/// How a script ended, what was in force, and what it said.
pub(crate) fn run(stand: &Stand<'_>, script: &str) -> Result<(Ending, Vec<LimitReport>, Heard), Failed> {
    let mut heard = Heard::default();
    let mut sandbox = stand.launch(&["sh", "-c", script])?;
    let ending = sandbox.supervise(&mut heard)?;
    let reports = sandbox.limits();
    Ok((ending, reports, heard))
}

/// What a workload ran into first.
#[track_caller]
pub(crate) fn first(ending: &Ending) -> &ExceededLimit {
    ending.exceeded.first().unwrap_or_else(|| panic!("no limit was exceeded: {ending:?}"))
}
