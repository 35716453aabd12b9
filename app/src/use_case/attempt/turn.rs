//! Beginning an attempt once there is room for it beside those that run.

use super::{Ports, Progress, TaskRequest, Tell, draft, follow_up};
use crate::failure::{Failure, FailureKind};
use crate::use_case::open_tasks::is_running;
use isobox_domain::import;
use isobox_domain::policy::{EffectivePolicy, TaskLimit};
use isobox_domain::record::TaskRecord;
use isobox_domain::timings::Phase;
use isobox_ports::{Attempt, OpenAttempt, Room};
use std::time::Duration;

/// How often the first in the queue looks whether there is room. A look takes less than a thousandth of that.
const PAUSE: Duration = Duration::from_millis(100);

/// What to do while as many Tasks run as may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Wait for one to end.
    Wait,
    /// Refuse.
    Refuse,
}

type Begun = (Box<dyn Attempt>, TaskRecord);

/// Begins an attempt under `effective`; with its draft. One that waited starts from where HEAD is when its turn has come.
pub(super) fn begin(
    ports: &Ports<'_>,
    request: &TaskRequest<'_>,
    effective: &EffectivePolicy,
    tell: Tell<'_>,
) -> Result<Begun, Failure> {
    let limit = request.policy.tasks;
    if limit == TaskLimit::Unlimited {
        let draft = draft_now(ports, request, effective)?;
        return Ok((ports.attempts.begin(&draft)?, draft));
    }
    let mut running = 0;
    // Those who wait come before one who has only just come, unless that one would not wait.
    let is_polite = request.patience == Patience::Wait;
    let mut has_room = |room: &Room<'_>| {
        running = count(room.open);
        limit.has_room(running) && !(is_polite && room.is_queued_for)
    };
    if let Some(begun) = begin_if(ports, request, effective, &mut has_room)? {
        return Ok(begun);
    }
    if request.patience == Patience::Refuse {
        return Err(refusal(limit, running));
    }
    ports.laps.end(Phase::Source);
    tell(Progress::Waiting { running });
    let _turn = ports.turns.queue()?;
    loop {
        let has_room = &mut |room: &Room<'_>| limit.has_room(count(room.open));
        if let Some(begun) = begin_if(ports, request, effective, has_room)? {
            ports.laps.end(Phase::Turn);
            return Ok(begun);
        }
        std::thread::sleep(PAUSE);
    }
}

fn begin_if(
    ports: &Ports<'_>,
    request: &TaskRequest<'_>,
    effective: &EffectivePolicy,
    has_room: &mut dyn FnMut(&Room<'_>) -> bool,
) -> Result<Option<Begun>, Failure> {
    let draft = draft_now(ports, request, effective)?;
    let begun = ports.turns.begin_if(&draft, has_room)?;
    Ok(begun.map(|attempt| (attempt, draft)))
}

fn draft_now(ports: &Ports<'_>, request: &TaskRequest<'_>, effective: &EffectivePolicy) -> Result<TaskRecord, Failure> {
    let source = follow_up::source(ports, request)?;
    Ok(draft::draft(ports, request, source, effective.clone()))
}

/// The Tasks that run. An import is none, and neither is the recording of what a killed start left.
fn count(open: &[Box<dyn OpenAttempt>]) -> u64 {
    open.iter().filter(|attempt| is_running(&***attempt) && !import::is_draft(attempt.draft())).count() as u64
}

fn refusal(limit: TaskLimit, running: u64) -> Failure {
    let run = if running == 1 { "1 task runs".to_owned() } else { format!("{running} tasks run") };
    let message = format!("{run} in this task store, and `tasks.max` is {limit}; nothing was started");
    Failure::new(FailureKind::General, message).with_hint(
        "try again when one has ended, or without --no-wait, which waits for that; `isobox list --state running` lists them",
    )
}
