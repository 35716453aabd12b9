//! The Task Record: the history of one Task Attempt.

mod shown_command;

pub use shown_command::{ShownCommand, shown_word};

use crate::change::ChangeSetRef;
use crate::content::{ContentId, ContentRef};
use crate::limit::ExceededLimit;
use crate::outcome::{Exit, Outcome, ResourceUsage};
use crate::policy::EffectivePolicy;
use crate::probe::ProbeResult;
use crate::source::WorkspaceSource;
use crate::task_id::TaskId;
use crate::terminal::TerminalSize;
use crate::timestamp::Timestamp;

/// Which kind of Sandbox served an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxKind {
    /// `isobox run`: an agent session.
    Session,
    /// `isobox tool`: a single tool command of an outside agent.
    ToolCall,
    /// `isobox promote --verify`: commands that verify what another attempt left. Nothing of its own is to be promoted.
    Verification,
}

/// An argument of the Workload Command as it may be kept: secrets masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedArgument {
    /// The bytes of the argument, with each secret-shaped part replaced by `***`.
    pub shown: Vec<u8>,
    /// For a masked argument, the keyed BLAKE3 of its true bytes, so that equal secrets can be told equal.
    pub masked_digest: Option<ContentId>,
}

impl RecordedArgument {
    /// How many bytes it takes in a record, at most.
    pub fn recorded_length(&self) -> usize {
        // The heads of an array, of a byte string and of a digest: RFC 8949, section 3.
        const HEADS: usize = 1 + 5 + 2;
        HEADS + self.shown.len() + self.masked_digest.map_or(0, |digest| digest.as_bytes().len())
    }
}

/// What was read from the caller's standard input. Its bytes are not kept.
pub type RecordedInput = ContentRef;

/// The durable content of an attempt. What is empty is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskArtifacts {
    /// Standard output, byte for byte.
    pub stdout: Option<ContentRef>,
    /// Standard error, byte for byte.
    pub stderr: Option<ContentRef>,
    /// In which order the pieces of both came, and when: see [`timeline`](crate::timeline). Of a record that was made before
    /// there were timelines, and of one without output, `None`.
    pub timeline: Option<ContentRef>,
    /// The Change Set: the truth about what changed.
    pub change_set: Option<ChangeSetRef>,
    /// A rendering of the Change Set that `git apply` accepts. Never the source of truth.
    pub patch: Option<ContentRef>,
    /// The Workspace's own new Git objects and refs (commits and stashes of the workload), as one opaque archive.
    pub workspace_git: Option<ContentRef>,
    /// The Dirty Source Snapshot that the Workspace began with, as a Change Set against the pinned commit; `None` where it
    /// began with the commit alone. Then `change_set` says what the workload changed of the snapshot.
    pub source_snapshot: Option<ChangeSetRef>,
    /// What the workload changed in copies of host files, where a rule captures that: a Change Set against what was copied, by
    /// host paths without their first slash. It is of no repository, and cannot be promoted.
    pub host_copies: Option<ChangeSetRef>,
    /// Of an imported record: the exact bytes of the `record.json` that it was imported from.
    pub v1_record: Option<ContentRef>,
    /// Of an imported record: the untracked files that its `record.json` names, in one archive.
    pub v1_files: Option<ContentRef>,
}

impl TaskArtifacts {
    /// Every Change Set: what the workload changed, the Dirty Source Snapshot, and what it changed in copies of host files.
    pub fn change_sets(&self) -> impl Iterator<Item = ChangeSetRef> + use<> {
        [self.change_set, self.source_snapshot, self.host_copies].into_iter().flatten()
    }
}

/// What became of the Workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkspaceFate {
    /// There never was one.
    NeverCreated,
    /// It is removed once the record is durable.
    Disposed,
    /// It was kept by explicit choice at this host path (any bytes).
    Retained {
        /// Absolute host path of its root, any bytes.
        host_path: Vec<u8>,
    },
}

/// Why output is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputLoss {
    /// Nothing was lost.
    None,
    /// The disk of the store filled, or failed, after this many bytes of both streams were kept.
    StoreFailed {
        /// Bytes of both streams that came after that and were only passed on.
        dropped_bytes: u64,
    },
}

/// The durable history of one Task Attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRecord {
    /// The Task.
    pub task: TaskId,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// Session or tool call.
    pub kind: SandboxKind,
    /// When the Task was requested.
    pub created_at: Timestamp,
    /// When the workload started; `None` if it never did.
    pub started_at: Option<Timestamp>,
    /// When the last process of the workload was gone. For an interruption: when that was found.
    pub ended_at: Timestamp,
    /// The Workload Command; never empty.
    pub command: Vec<RecordedArgument>,
    /// The source and the pinned commit.
    pub source: WorkspaceSource,
    /// What held.
    pub policy: EffectivePolicy,
    /// Why it ended.
    pub outcome: Outcome,
    /// The reason in words, for outcomes that have one: an error chain, or what interrupted.
    pub outcome_detail: Option<String>,
    /// How the command's process ended; `None` if it never started or nobody saw.
    pub exit: Option<Exit>,
    /// What it used.
    pub usage: ResourceUsage,
    /// Standard input, if any was passed on.
    pub stdin: Option<RecordedInput>,
    /// The terminal that the session had, by the size that it had at first; then its standard output is what was shown there.
    pub terminal: Option<TerminalSize>,
    /// Outputs and results.
    pub artifacts: TaskArtifacts,
    /// Whether outputs are whole.
    pub output_loss: OutputLoss,
    /// The Workspace.
    pub workspace: WorkspaceFate,
    /// Things a reader should know, as sentences: what could not be captured or removed.
    pub warnings: Vec<String>,
    /// Versions of the tools that took part: name, version.
    pub tools: Vec<(String, String)>,
    /// 16 random bytes: records with equal fields have different digests.
    pub salt: [u8; 16],
    /// Earlier records that this one follows from, e.g. the previous attempt.
    pub parents: Vec<ContentId>,
    /// Attacks from inside a Sandbox of this policy, tried before the workload was started; empty if none were asked for.
    pub probes: Vec<ProbeResult>,
    /// Limits that the workload ran into, the one that decided the outcome first.
    pub exceeded: Vec<ExceededLimit>,
    /// Extensions by name, kept byte for byte.
    pub extensions: Vec<(String, Vec<u8>)>,
}

/// One line of a listing: what a COMMIT says without opening its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordEntry {
    /// The Task.
    pub task: TaskId,
    /// Which attempt.
    pub attempt: u32,
    /// The record's digest.
    pub record: ContentId,
    /// When it was committed.
    pub committed_at: Timestamp,
}
