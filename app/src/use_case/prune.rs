//! Drops records that no rule keeps: first a plan, then, if it is wanted, an event for each and a sweep.

use crate::failure::{Failure, FailureKind};
use crate::use_case::list::{Listed, Met, listed};
use isobox_domain::change::ChangeLine;
use isobox_domain::content::ContentId;
use isobox_domain::event::{Event, EventKind};
use isobox_domain::pruning::Swept;
use isobox_domain::record::{RecordEntry, SandboxKind, TaskRecord};
use isobox_domain::retention::{Candidate, Judge, Keeps, Retention};
use isobox_domain::task_id::TaskId;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::{AppendError, Clock, Collector, ObjectStore, RecordLog, StoreError, TellAdvance, Views};
use std::collections::{BTreeMap, BTreeSet};

/// What a prune touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) records: &'a dyn RecordLog,
    pub(crate) objects: &'a dyn ObjectStore,
    pub(crate) views: &'a dyn Views,
    pub(crate) collector: &'a dyn Collector,
    pub(crate) clock: &'a dyn Clock,
}

/// So many records go in one prune, about 100 bytes of memory each.
const MOST: usize = 100_000;

/// Whether a clock that may have been set is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clockwork {
    /// A doubt refuses the prune.
    Doubted,
    /// The caller knows that it is right.
    Trusted,
}

/// A record that is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Doomed {
    pub(crate) entry: RecordEntry,
    /// The newest event that it was judged by: if there is another one by then, it stays.
    newest: Option<ContentId>,
}

/// What is to go, and what stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) doomed: Vec<Doomed>,
    /// How long those are with all their content, each counted for itself.
    pub(crate) doomed_bytes: u64,
    /// How many stay, by the strongest reason.
    pub(crate) kept: BTreeMap<Keeps, u64>,
    /// Whether more were to go than one prune takes.
    pub(crate) is_partial: bool,
}

/// Finds what is to go, and hands each of these to `each`, the newest first.
pub(crate) fn plan(
    ports: &Ports<'_>,
    retention: Retention,
    clockwork: Clockwork,
    each: &mut dyn FnMut(&Listed) -> Result<(), Failure>,
) -> Result<Plan, Failure> {
    let now = ports.clock.now();
    let mut met = Met::default();
    let (mut judge, mut plan, mut is_first) = (Judge::new(retention, now), Plan::default(), true);
    let mut verifications = Vec::new();
    for entry in ports.records.list()? {
        let entry = entry.map_err(|error| cannot_judge(error.into()))?;
        if std::mem::take(&mut is_first) && clockwork == Clockwork::Doubted {
            believe(retention, now, entry.committed_at)?;
        }
        let Some(found) = listed(ports.records, &entry, &mut met).map_err(|error| cannot_judge(error.into()))? else {
            continue;
        };
        let bytes = if retention.most_bytes.is_some() { length(ports.objects, &found.record)? } else { 0 };
        let candidate = Candidate { entry: &entry, record: &found.record, events: &found.events, bytes };
        if found.record.kind == SandboxKind::Verification {
            let kept = judge.set_aside(&candidate);
            verifications.push(SetAside { entry, bytes, kept, of: found.record.parents.first().copied() });
            continue;
        }
        let kept = judge.judge(candidate);
        plan.add(kept, &found, (entry, bytes), each)?;
    }
    judge_verifications(ports, &mut plan, verifications, each)?;
    Ok(plan)
}

/// A record of a verification, judged when it is known what becomes of the record that it verified.
struct SetAside {
    entry: RecordEntry,
    bytes: u64,
    /// Why it stays whatever becomes of that one.
    kept: Option<Keeps>,
    of: Option<ContentId>,
}

/// Keeps what verified a record that stays: the event of a Promotion can name it.
fn judge_verifications(
    ports: &Ports<'_>,
    plan: &mut Plan,
    verifications: Vec<SetAside>,
    each: &mut dyn FnMut(&Listed) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let doomed: BTreeSet<ContentId> = plan.doomed.iter().map(|doomed| doomed.entry.record).collect();
    for SetAside { entry, bytes, kept, of } in verifications {
        let stays = |of: ContentId| -> Result<bool, StoreError> {
            Ok(!doomed.contains(&of) && ports.records.load(&of)?.is_some())
        };
        let is_needed = of.map(stays).transpose().map_err(|error| cannot_judge(error.into()))?.unwrap_or(false);
        let found = listed(ports.records, &entry, &mut Met::default()).map_err(|error| cannot_judge(error.into()))?;
        if let Some(found) = found {
            plan.add(kept.or(is_needed.then_some(Keeps::Verifies)), &found, (entry, bytes), each)?;
        }
    }
    Ok(())
}

impl Plan {
    fn add(
        &mut self,
        kept: Option<Keeps>,
        found: &Listed,
        (entry, bytes): (RecordEntry, u64),
        each: &mut dyn FnMut(&Listed) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match kept {
            Some(keeps) => *self.kept.entry(keeps).or_default() += 1,
            None if self.doomed.len() == MOST => self.is_partial = true,
            None => {
                each(found)?;
                self.doomed.push(Doomed { entry, newest: found.newest });
                self.doomed_bytes += bytes;
            }
        }
        Ok(())
    }
}

fn believe(retention: Retention, now: Timestamp, newest: Timestamp) -> Result<(), Failure> {
    let Some(doubt) = retention.doubt_of_clock(now, newest) else { return Ok(()) };
    Err(Failure::new(FailureKind::General, "cannot tell the age of records; nothing was removed")
        .because(doubt)
        .with_hint("set the clock, or pass --trust-clock if it is right"))
}

fn cannot_judge(failure: Failure) -> Failure {
    failure
        .while_doing("cannot judge every record; nothing was removed".to_owned())
        .with_hint("`isobox verify` says what is damaged")
}

/// Says of every record of the plan that it goes, and removes what only these refer to. Records of which somebody decided
/// something meanwhile stay; how many, and what was removed.
pub(crate) fn perform(
    ports: &Ports<'_>,
    plan: &Plan,
    retention: Retention,
    tell: TellAdvance<'_>,
) -> Result<(u64, Swept), Failure> {
    let mut spared = 0;
    for doomed in &plan.doomed {
        spared += u64::from(!say(ports, doomed, retention)?);
    }
    forget_views(ports, &plan.doomed)?;
    let not_swept = |error| match plan.doomed.is_empty() {
        true => Failure::from(error),
        false => Failure::from(error).while_doing("the records were dropped, but their room was not given back"),
    };
    let swept = ports.collector.sweep(tell).map_err(not_swept)?;
    Ok((spared, swept))
}

fn say(ports: &Ports<'_>, doomed: &Doomed, retention: Retention) -> Result<bool, Failure> {
    let event = Event {
        task: doomed.entry.task,
        subject: doomed.entry.record,
        previous: doomed.newest,
        at: ports.clock.now(),
        kind: EventKind::Pruned { reason: retention.to_string() },
    };
    match ports.records.append(&event) {
        Ok(_) => Ok(true),
        Err(AppendError::Stale { .. }) => Ok(false),
        Err(AppendError::Store(error)) => Err(error.into()),
    }
}

/// Removes the Views of Tasks of which no record is left.
fn forget_views(ports: &Ports<'_>, doomed: &[Doomed]) -> Result<(), Failure> {
    let mut tasks: BTreeSet<TaskId> = doomed.iter().map(|doomed| doomed.entry.task).collect();
    for entry in ports.records.list()? {
        tasks.remove(&entry?.task);
    }
    tasks.into_iter().try_for_each(|task| ports.views.remove(task)).map_err(Failure::from)
}

/// How long a record is with all its content, in bytes.
fn length(objects: &dyn ObjectStore, record: &TaskRecord) -> Result<u64, StoreError> {
    let artifacts = &record.artifacts;
    let outputs = [artifacts.stdout, artifacts.stderr, artifacts.timeline, artifacts.patch, artifacts.workspace_git];
    let imported = [artifacts.v1_record, artifacts.v1_files];
    let mut bytes: u64 = outputs.into_iter().chain(imported).flatten().map(|content| content.length).sum();
    for set in artifacts.change_sets() {
        bytes += set.length;
        for line in objects.changes(&set)? {
            let Ok(ChangeLine::Change(change)) = line else { continue };
            bytes += change.after.map_or(0, |after| after.content.length);
        }
    }
    Ok(bytes)
}
