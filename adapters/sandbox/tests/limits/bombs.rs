//! What takes as much as it gets: memory, processes, room, files.

use crate::stand::Stand;
use crate::{first, limited, run};
use isobox_domain::enforcement::Enforcement;
use isobox_domain::limit::{Limit, LimitEffect};
use isobox_domain::outcome::{Exit, MemoryScope};
use isobox_ports::{EndCause, MemorySize};
use libtest_mimic::Failed;

const SUCCESS: EndCause = EndCause::Exited(Exit::Code(0));

/// `tail` keeps a last line, however long it is.
const HOG: &str = "head -c 600M /dev/zero | tail";

pub(crate) fn a_bomb_on_the_heap_is_ended(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::Memory, "64MiB");
    let (ending, reports, heard) = run(stand, &format!("{HOG}; echo went on"))?;
    let exceeded = first(&ending);
    assert_eq!((exceeded.limit, exceeded.effect), (Limit::Memory, LimitEffect::Ended), "{}", heard.complaints());
    assert!(exceeded.observed >= 64 << 20, "{exceeded}");
    // Nothing of it is passed on, and without a control group the whole of it is ended before it is done.
    assert!(!heard.text().contains("went on") || exceeded.evidence.starts_with("oom_kill"), "{exceeded}");
    if reports[0].enforcement.is_enforced() {
        assert_eq!(ending.usage.peak_memory_of, Some(MemoryScope::Tree));
        assert!(ending.usage.peak_memory_bytes.is_some_and(|peak| peak <= 64 << 20), "{:?}", ending.usage);
    }
    Ok(())
}

pub(crate) fn a_bomb_of_many_processes_is_ended(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::Memory, "64MiB");
    // Each of them has far less.
    let one = "(head -c 12M /dev/zero; sleep 20) | tail > /dev/null";
    let (ending, _, heard) = run(stand, &format!("for n in 1 2 3 4 5 6 7 8 9 10 11 12; do {one} & done; wait"))?;
    assert_eq!(first(&ending).limit, Limit::Memory, "{}", heard.complaints());
    Ok(())
}

pub(crate) fn a_bomb_in_files_in_memory_is_ended(stand: &mut Stand<'_>) -> Result<(), Failed> {
    if stand.shell("stat -f -c %T /tmp")?.trim() != "tmpfs" {
        // Only a Sandbox of its own has one.
        return Ok(());
    }
    limited(stand, Limit::Memory, "64MiB");
    let (ending, _, heard) = run(stand, "head -c 600M /dev/zero > /tmp/bomb; sleep 20")?;
    assert_eq!(first(&ending).limit, Limit::Memory, "{}", heard.complaints());
    Ok(())
}

pub(crate) fn what_is_cached_of_files_is_no_bomb(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::Memory, "64MiB");
    let (ending, _, heard) = run(stand, "head -c 150M /dev/zero > cached && cat cached > /dev/null")?;
    assert_eq!((&ending.cause, ending.exceeded.as_slice()), (&SUCCESS, &[][..]), "{}", heard.complaints());
    Ok(())
}

pub(crate) fn memory_that_is_shared_counts_once(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::Memory, "128MiB");
    // The shell's variable is there once, for all that it forks.
    let script = "kept=$(head -c 20000000 /dev/zero | tr '\\0' x); for n in 1 2 3 4 5 6 7 8; do sleep 1; done & \
        for n in 1 2 3 4 5 6; do (sleep 1; :) & done; wait";
    let (ending, _, heard) = run(stand, script)?;
    assert_eq!((&ending.cause, ending.exceeded.as_slice()), (&SUCCESS, &[][..]), "{}", heard.complaints());
    Ok(())
}

pub(crate) fn a_fork_bomb_gets_no_further(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::Processes, "40");
    // It doubles nine times at most: where nothing stops it, it must not take the machine.
    let bomb = "bomb() { [ $1 -gt 8 ] || { bomb $(($1+1)) & bomb $(($1+1)) & }; sleep 2; }; bomb 0; exit 3";
    let (ending, reports, heard) = run(stand, bomb)?;
    match ending.exceeded.first() {
        Some(exceeded) => assert_eq!((exceeded.limit, exceeded.value), (Limit::Processes, 40)),
        // Without a control group a refusal can only be seen while there are as many as may be.
        None => assert!(heard.complaints().contains("fork"), "{} {ending:?}", heard.complaints()),
    }
    if reports[0].enforcement.is_enforced() {
        assert!(ending.killed_processes.is_none_or(|killed| killed <= 40), "{:?}", ending.killed_processes);
    }
    Ok(())
}

pub(crate) fn a_success_beside_a_refusal_is_one(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::Processes, "8");
    let script = "for n in 1 2 3 4 5 6 7 8 9 10; do sleep 0.5 & done; sleep 1; exit 0";
    let (ending, reports, _) = run(stand, &format!("bash -c '{script}' || true"))?;
    match &reports[0].enforcement {
        // The kernel counts what it refuses in a control group, and nowhere else.
        Enforcement::Enforced { mechanism } if mechanism.contains("controller") => {
            assert_eq!((first(&ending).effect, &ending.cause), (LimitEffect::Refused, &SUCCESS));
        }
        Enforcement::Enforced { .. } => assert_eq!(ending.cause, SUCCESS),
        // isobox may have ended it.
        Enforcement::PartiallyEnforced { .. } | Enforcement::NotEnforced { .. } => {}
    }
    Ok(())
}

/// Puts what is written into memory, of the size that is asked for.
fn in_memory(stand: &mut Stand<'_>, bytes: u64, inodes: u64) -> Result<(), Failed> {
    let kind = stand.backend.overlay(None).map_err(Failed::from)?;
    let policy = stand.policy.clone();
    *stand = Stand::on_overlay(stand.backend, kind, Some(MemorySize { bytes, inodes }))?;
    stand.policy = policy;
    Ok(())
}

pub(crate) fn a_disk_bomb_gets_no_further(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::Disk, "4MiB");
    in_memory(stand, 4 << 20, 1000)?;
    let (ending, reports, heard) = run(stand, "head -c 100M /dev/zero > bomb")?;
    assert!(heard.complaints().contains("No space left"), "{}", heard.complaints());
    let exceeded = first(&ending);
    assert_eq!((exceeded.limit, exceeded.value, exceeded.effect), (Limit::Disk, 4 << 20, LimitEffect::Refused));
    assert_eq!(reports[0].applied, Some(4 << 20));
    Ok(())
}

pub(crate) fn an_inode_bomb_gets_no_further(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::Disk, "4MiB");
    limited(stand, Limit::Inodes, "100");
    in_memory(stand, 4 << 20, 100)?;
    let (ending, _, heard) = run(stand, "for name in $(seq 200); do : > $name || exit 1; done")?;
    assert!(heard.complaints().contains("No space left"), "{}", heard.complaints());
    assert_eq!((first(&ending).limit, first(&ending).effect), (Limit::Inodes, LimitEffect::Refused));
    Ok(())
}

pub(crate) fn no_more_files_can_be_open(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::OpenFiles, "32");
    let (_, reports, heard) = run(stand, "ulimit -Sn; ulimit -Hn; exec 31</dev/null && echo one; exec 32</dev/null")?;
    assert!(heard.text().starts_with("32\n32\n"), "{}", heard.text());
    assert_eq!(reports[0].applied, Some(32));
    Ok(())
}

pub(crate) fn no_file_can_be_longer(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::FileSize, "1MiB");
    let (ending, _, _) = run(stand, "exec head -c 2M /dev/zero > file")?;
    assert_eq!(ending.cause, EndCause::Exited(Exit::Signal(25)));
    let exceeded = first(&ending);
    assert_eq!(
        (exceeded.limit, exceeded.evidence.as_str(), exceeded.effect),
        (Limit::FileSize, "SIGXFSZ", LimitEffect::Ended)
    );
    Ok(())
}

pub(crate) fn no_limit_can_be_raised_again(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::OpenFiles, "32");
    let (_, reports, heard) = run(stand, "(ulimit -n 64) 2> /dev/null; ulimit -n 64 2> /dev/null && ulimit -n")?;
    // As root on a backend that contains nothing it can, and the report does not say otherwise.
    assert!(heard.text().is_empty() || !reports[0].enforcement.is_enforced(), "{}", heard.text());
    Ok(())
}

pub(crate) fn no_core_is_dumped(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let (_, _, heard) = run(stand, "ulimit -Sc; ulimit -Hc")?;
    assert_eq!(heard.text(), "0\n0\n");
    Ok(())
}
