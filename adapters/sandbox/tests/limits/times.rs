//! Time, idle time and CPU time.

use crate::stand::Stand;
use crate::{PROMPTLY, first, limited, run};
use isobox_domain::limit::{Limit, LimitEffect};
use isobox_domain::outcome::Exit;
use isobox_ports::{Content, EndCause, Flow, Streams};
use libtest_mimic::Failed;
use std::time::{Duration, Instant};

pub(crate) fn a_workload_ends_with_its_time(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::Time, "300ms");
    let before = Instant::now();
    let (ending, _, _) = run(stand, "sleep 3600")?;
    assert!(before.elapsed() < PROMPTLY, "it took {:?}", before.elapsed());
    let exceeded = first(&ending);
    assert_eq!((exceeded.limit, exceeded.value, exceeded.effect), (Limit::Time, 300, LimitEffect::Ended));
    assert!((300..30_000).contains(&exceeded.observed), "{exceeded}");
    assert_eq!(ending.cause, EndCause::Exited(Exit::Signal(15)));
    Ok(())
}

pub(crate) fn a_workload_that_ignores_sigterm_is_killed(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::Time, "200ms");
    let before = Instant::now();
    let (ending, _, _) = run(stand, "trap '' TERM; while :; do sleep 0.2; done")?;
    assert!(before.elapsed() < PROMPTLY, "it took {:?}", before.elapsed());
    assert_eq!((first(&ending).limit, &ending.cause), (Limit::Time, &EndCause::Exited(Exit::Signal(9))));
    Ok(())
}

pub(crate) fn a_workload_may_end_itself_in_its_grace(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::Time, "500ms");
    let (ending, _, heard) = run(stand, "trap 'echo saved; exit 7' TERM; while :; do sleep 0.05; done")?;
    assert_eq!(heard.text(), "saved\n");
    assert_eq!((first(&ending).limit, &ending.cause), (Limit::Time, &EndCause::Exited(Exit::Code(7))));
    Ok(())
}

pub(crate) fn the_time_ends_for_daemons_too(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::Time, "500ms");
    let script = "for n in 1 2 3; do (trap '' TERM; exec setsid sleep 3600) & done; sleep 3600";
    let (ending, _, _) = run(stand, script)?;
    assert_eq!(first(&ending).limit, Limit::Time);
    assert_eq!(ending.killed_processes, Some(3));
    Ok(())
}

/// Does not come back from the first piece of output for a while.
struct Slow {
    pause: Duration,
    came: u64,
}

impl Streams for Slow {
    fn stdin(&mut self) -> Option<Content> {
        None
    }

    fn stdout(&mut self, bytes: &[u8]) -> Flow {
        std::thread::sleep(std::mem::take(&mut self.pause));
        self.came += bytes.len() as u64;
        Flow::Continue
    }

    fn stderr(&mut self, _: &[u8]) -> Flow {
        Flow::Continue
    }
}

pub(crate) fn a_caller_that_does_not_read_stops_no_timer(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::Time, "200ms");
    // Longer than the time and the grace.
    let mut slow = Slow { pause: Duration::from_secs(6), came: 0 };
    let mut sandbox = stand.launch(&["sh", "-c", "trap '' TERM; yes"])?;
    let ending = sandbox.supervise(&mut slow)?;
    assert_eq!(first(&ending).limit, Limit::Time);
    // What was in the pipe then, and no more: it was not going on while nobody looked.
    assert!(slow.came <= 3 * 64 * 1024, "{} bytes came", slow.came);
    Ok(())
}

pub(crate) fn one_that_is_over_in_time_was_in_time(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::Time, "1s");
    limited(stand, Limit::IdleTime, "1s");
    // Its caller reads after the time is over; what it wrote waits in the pipe until then.
    let mut slow = Slow { pause: Duration::from_secs(3), came: 0 };
    let mut sandbox = stand.launch(&["sh", "-c", "echo one; sleep 0.1; echo two"])?;
    let ending = sandbox.supervise(&mut slow)?;
    assert_eq!((ending.exceeded.as_slice(), &ending.cause), (&[][..], &EndCause::Exited(Exit::Code(0))));
    assert_eq!(slow.came, 8);
    Ok(())
}

pub(crate) fn one_that_is_not_listened_to_is_not_silent(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::IdleTime, "1s");
    let mut slow = Slow { pause: Duration::from_secs(2), came: 0 };
    let mut sandbox = stand.launch(&["sh", "-c", "for n in $(seq 30); do echo $n; sleep 0.1; done"])?;
    let ending = sandbox.supervise(&mut slow)?;
    assert_eq!((ending.exceeded.as_slice(), &ending.cause), (&[][..], &EndCause::Exited(Exit::Code(0))));
    // It may be silent after that as little as before.
    let mut slow = Slow { pause: Duration::from_secs(2), came: 0 };
    let ending = stand.launch(&["sh", "-c", "echo one; sleep 3600"])?.supervise(&mut slow)?;
    assert_eq!(first(&ending).limit, Limit::IdleTime);
    Ok(())
}

pub(crate) fn a_silent_workload_is_ended(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::IdleTime, "500ms");
    let (ending, _, heard) = run(stand, "for n in 1 2 3; do sleep 0.2; echo $n >&2; done; sleep 3600")?;
    let exceeded = first(&ending);
    assert_eq!((exceeded.limit, exceeded.value, exceeded.effect), (Limit::IdleTime, 500, LimitEffect::Ended));
    assert_eq!(heard.complaints().lines().take(3).collect::<Vec<_>>(), ["1", "2", "3"]);
    Ok(())
}

pub(crate) fn one_that_speaks_is_not(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::IdleTime, "2s");
    let (ending, _, _) = run(stand, "for n in 1 2 3 4 5 6; do sleep 0.5; echo $n; done")?;
    assert_eq!((ending.exceeded.as_slice(), &ending.cause), (&[][..], &EndCause::Exited(Exit::Code(0))));
    Ok(())
}

const COMPUTE: &str = "while :; do :; done";

pub(crate) fn cpu_time_ends_one_that_computes(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::CpuTime, "1s");
    let before = Instant::now();
    let (ending, _, _) = run(stand, COMPUTE)?;
    assert!(before.elapsed() < PROMPTLY, "it took {:?}", before.elapsed());
    let exceeded = first(&ending);
    assert_eq!((exceeded.limit, exceeded.effect), (Limit::CpuTime, LimitEffect::Ended));
    assert!((1000..4000).contains(&exceeded.observed), "{exceeded}");
    Ok(())
}

pub(crate) fn cpu_time_is_of_all_processes_together(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::CpuTime, "2s");
    // Each of them has less than that; what is over counts, too.
    let busy = "timeout 0.9 sh -c 'while :; do :; done'";
    let (ending, _, _) = run(stand, &format!("while :; do {busy}; done"))?;
    assert_eq!((first(&ending).limit, first(&ending).effect), (Limit::CpuTime, LimitEffect::Ended));
    Ok(())
}

pub(crate) fn a_share_of_a_cpu_is_no_more_than_that(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::Cpu, "0.2");
    let both = format!("timeout 2 sh -c '{COMPUTE}' & timeout 2 sh -c '{COMPUTE}' & wait");
    let (ending, reports, _) = run(stand, &both)?;
    assert_eq!(reports[0].applied, Some(200));
    let used_us = ending.usage.user_cpu_us.unwrap_or(0) + ending.usage.system_cpu_us.unwrap_or(0);
    // 0.4 s of 2 s, and a period more.
    assert!(used_us < 800_000, "{used_us} µs of 2 s");
    Ok(())
}
