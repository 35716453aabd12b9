//! Values for cases: records, events and content.

use isobox_domain::content::ContentId;
use isobox_domain::event::{Confirmation, Event, EventKind, Promoted};
use isobox_domain::git_oid::GitOid;
use isobox_domain::outcome::{Exit, Outcome, ResourceUsage};
use isobox_domain::policy::{BackendName, EffectivePolicy, SandboxPolicy};
use isobox_domain::record::{OutputLoss, RecordedArgument, SandboxKind, TaskArtifacts, TaskRecord, WorkspaceFate};
use isobox_domain::source::WorkspaceSource;
use isobox_domain::task_id::TaskId;
use isobox_domain::timestamp::Timestamp;

/// The n-th record: of a Task of its own, without artifacts.
pub fn record(n: u64) -> TaskRecord {
    TaskRecord {
        task: TaskId::new(n.to_be_bytes()),
        attempt: 1,
        kind: SandboxKind::ToolCall,
        created_at: time(n),
        started_at: Some(time(n)),
        ended_at: time(n + 1),
        command: vec![RecordedArgument { shown: b"true".to_vec(), masked_digest: None }],
        source: WorkspaceSource {
            host_path: b"/home/ana/app".to_vec(),
            root_commit: Some(commit()),
            commit: commit(),
            branch: Some(b"refs/heads/main".to_vec()),
            working_directory: None,
        },
        policy: EffectivePolicy {
            backend: BackendName::Host,
            asked: SandboxPolicy::default(),
            controls: Vec::new(),
            limitations: Vec::new(),
            workspace: None,
            exposures: Vec::new(),
            why_this_backend: None,
            limits: Vec::new(),
        },
        outcome: Outcome::Success,
        outcome_detail: None,
        exit: Some(Exit::Code(0)),
        usage: ResourceUsage::default(),
        stdin: None,
        terminal: None,
        artifacts: TaskArtifacts::default(),
        output_loss: OutputLoss::None,
        workspace: WorkspaceFate::Disposed,
        warnings: Vec::new(),
        tools: vec![("isobox".into(), "0.1.0".into())],
        salt: [n as u8; 16],
        parents: Vec::new(),
        probes: Vec::new(),
        exceeded: Vec::new(),
        extensions: Vec::new(),
    }
}

/// The n-th draft: what [`record`] is while it runs.
pub fn draft(n: u64) -> TaskRecord {
    TaskRecord { outcome: Outcome::Interruption, exit: None, ..record(n) }
}

/// A Promotion of the record `subject` of the n-th Task.
pub fn promoted(n: u64, subject: ContentId, previous: Option<ContentId>) -> Event {
    let promoted = Promoted {
        host_path: b"/home/ana/app".to_vec(),
        commit: commit(),
        branch: None,
        confirmation: Confirmation::Flag,
        paths: n,
        part: None,
        destination: Default::default(),
        merged: None,
        overridden: None,
        verified: None,
    };
    let task = TaskId::new(n.to_be_bytes());
    Event { task, subject, previous, at: time(n), kind: EventKind::Promoted(promoted) }
}

/// A rejection of the record `subject` of the n-th Task.
pub fn rejected(n: u64, subject: ContentId, previous: Option<ContentId>) -> Event {
    Event { kind: EventKind::Rejected { reason: "not now".into() }, ..promoted(n, subject, previous) }
}

/// A prune of the record `subject` of the n-th Task.
pub fn pruned(n: u64, subject: ContentId, previous: Option<ContentId>) -> Event {
    Event { kind: EventKind::Pruned { reason: "keep-last 1".into() }, ..promoted(n, subject, previous) }
}

/// `length` bytes that no compression makes shorter; other ones for another seed.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// A moment in 2026, `n` milliseconds later for each `n`.
pub fn time(n: u64) -> Timestamp {
    Timestamp::nearest(1_790_000_000_000 + n)
}

fn commit() -> GitOid {
    GitOid::Sha1([0xc0; 20])
}
