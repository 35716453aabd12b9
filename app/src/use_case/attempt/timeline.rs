//! When the pieces of both outputs come: from a clock that no one sets, into the attempt.

use isobox_domain::record::TaskRecord;
use isobox_domain::timeline::{OutputStream, Recorder, encode_header};
use isobox_domain::timestamp::Timestamp;
use isobox_ports::{Attempt, ObjectWriter, Role, Stopwatch};

/// The timeline of an attempt's output. A store that fails ends the timeline, and never the output.
pub(super) struct Timeline<'a> {
    attempt: &'a dyn Attempt,
    stopwatch: &'a dyn Stopwatch,
    started_at: Timestamp,
    started_us: u64,
    recorder: Recorder,
    keeper: Keeper,
    /// What is to be written: no longer than a few entries.
    ready: Vec<u8>,
}

enum Keeper {
    /// Nothing came yet, so nothing is staged.
    Unopened,
    Open(Box<dyn ObjectWriter>),
    /// The store failed. What was written until then stands alone, and may end within an entry.
    Failed(Option<Box<dyn ObjectWriter>>),
}

impl<'a> Timeline<'a> {
    /// Starts now, which is `started_at`.
    pub(super) fn start(attempt: &'a dyn Attempt, started_at: Timestamp, stopwatch: &'a dyn Stopwatch) -> Self {
        Self {
            attempt,
            stopwatch,
            started_at,
            started_us: stopwatch.elapsed_us(),
            recorder: Recorder::default(),
            keeper: Keeper::Unopened,
            ready: Vec::new(),
        }
    }

    /// Notes that `length` bytes of `stream` came now.
    pub(super) fn piece(&mut self, stream: OutputStream, length: usize) {
        if length == 0 || matches!(self.keeper, Keeper::Failed(_)) {
            return;
        }
        let at_ms = self.stopwatch.elapsed_us().saturating_sub(self.started_us) / 1000;
        self.recorder.piece(stream, length as u64, at_ms, &mut self.ready);
        self.write();
    }

    fn write(&mut self) {
        if self.ready.is_empty() {
            return;
        }
        if let Keeper::Unopened = self.keeper {
            self.keeper = self.attempt.stage(Role::Timeline).map_or(Keeper::Failed(None), Keeper::Open);
            self.ready.splice(..0, encode_header(self.started_at));
        }
        self.keeper = match std::mem::replace(&mut self.keeper, Keeper::Unopened) {
            Keeper::Open(mut writer) => match writer.write_all(&self.ready) {
                Ok(()) => Keeper::Open(writer),
                Err(_) => Keeper::Failed(Some(writer)),
            },
            failed => failed,
        };
        self.ready.clear();
    }

    /// Completes the timeline of `record`, whose outputs are complete. Without output there is none.
    pub(super) fn finish(mut self, record: &mut TaskRecord) {
        std::mem::take(&mut self.recorder).finish(&mut self.ready);
        let is_opened = !matches!(self.keeper, Keeper::Unopened);
        if is_opened {
            self.write();
        }
        let (writer, is_whole) = match self.keeper {
            Keeper::Unopened => return,
            Keeper::Open(writer) => (Some(writer), true),
            Keeper::Failed(writer) => (writer, false),
        };
        let kept = writer.map(ObjectWriter::finish).transpose();
        if !is_whole || kept.is_err() {
            let lost = "when all of the output came was not kept: the task store failed while the workload ran";
            record.warnings.push(lost.to_owned());
        }
        let has_output = record.artifacts.stdout.is_some() || record.artifacts.stderr.is_some();
        record.artifacts.timeline = kept.ok().flatten().filter(|kept| has_output && kept.length > 0);
    }
}
