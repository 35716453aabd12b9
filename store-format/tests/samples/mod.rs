//! Fixed values that use every field and every variant of the format. Golden files are made of them: they never change.
#![allow(dead_code, reason = "each test target uses a part of it")]

pub(crate) mod events;

use isobox_domain::change::{
    After, Before, Change, ChangeLine, ChangeSetRef, ChangeSummary, Mode, NotCaptured, NotCapturedReason, RuleOrigin,
};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::enforcement::{Control, ControlReport, Enforcement};
use isobox_domain::git_oid::GitOid;
use isobox_domain::limit::{ExceededLimit, Limit, LimitEffect, LimitReport, Limits};
use isobox_domain::log::{LeafKind, LogLeaf, TreeHash, TreeHead};
use isobox_domain::outcome::{Exit, MemoryScope, Outcome, ResourceUsage};
use isobox_domain::policy::{
    BackendChoice, BackendName, DependencyCache, EffectivePolicy, Exposure, FileRules, HideRule, NetworkAccess,
    PathMode, Requirement, ReuseInput, ReuseKind, SandboxPolicy, UnsafeOverride, WorkspaceExposure, WriteRule,
};
use isobox_domain::probe::{ProbeOutcome, ProbeResult};
use isobox_domain::record::{OutputLoss, RecordedArgument, SandboxKind, TaskArtifacts, TaskRecord, WorkspaceFate};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::WorkspaceSource;
use isobox_domain::task_id::TaskId;
use isobox_domain::terminal::TerminalSize;
use isobox_domain::timestamp::Timestamp;
use isobox_store_format::log::{
    Older, Proof, SignedNote, SigningKey, consistency_path, encode_leaf, inclusion_path, leaf_hash, node_in_tile, root,
};
use std::convert::Infallible;

pub(crate) const TASK: TaskId = TaskId::new([0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef]);

pub(crate) fn time(ms: u64) -> Timestamp {
    Timestamp::nearest(1_790_000_000_000 + ms)
}

pub(crate) fn path(bytes: &[u8]) -> RepoPath {
    RepoPath::parse(bytes).expect("a path")
}

pub(crate) fn id(byte: u8) -> ContentId {
    ContentId::new([byte; 32])
}

pub(crate) fn reference(byte: u8, length: u64) -> ContentRef {
    ContentRef { id: id(byte), length }
}

pub(crate) fn policy() -> EffectivePolicy {
    EffectivePolicy {
        backend: BackendName::Bubblewrap,
        asked: SandboxPolicy {
            backend: BackendChoice::Auto,
            network: NetworkAccess::Deny,
            network_allow: vec![],
            path_mode: PathMode::Inherited,
            workspace: WorkspaceExposure::ReadOnly,
            read: vec![b"/opt/go".to_vec(), b"/opt/\xff".to_vec()],
            reuse_inputs: ReuseKind::ALL.map(|kind| ReuseInput { kind, value: "välue".into(), digest: None }).to_vec(),
            ..SandboxPolicy::default()
        },
        controls: vec![
            ControlReport {
                control: Control::Filesystem,
                enforcement: Enforcement::Enforced { mechanism: "mount namespace".into() },
            },
            ControlReport {
                control: Control::Syscalls,
                enforcement: Enforcement::PartiallyEnforced { mechanism: "seccomp".into(), reason: "x32".into() },
            },
            ControlReport {
                control: Control::Limits,
                enforcement: Enforcement::NotEnforced { reason: "not built".into() },
            },
        ],
        limitations: vec!["The host kernel is shared.".into()],
        workspace: None,
        exposures: Vec::new(),
        why_this_backend: None,
        limits: vec![],
    }
}

/// A policy with every field about files and what is exposed.
pub(crate) fn policy_of_files() -> EffectivePolicy {
    let bare = bare_policy();
    let input = ReuseInput { kind: ReuseKind::EnvVar, value: "API_TOKEN".into(), digest: Some(id(7)) };
    let files = FileRules {
        write: vec![
            WriteRule::discarding(b"/home/ana/.cache/agent".to_vec()),
            WriteRule::capturing(b"/home/ana/.config/agent".to_vec()),
        ],
        hide: ["~/.cargo/credentials*", "**/.env"].map(|rule| HideRule::parse(rule).expect("a rule")).to_vec(),
        protected: vec![path(b".github"), path(b".isobox")],
        unsafe_shown: vec![b"/home/ana/.aws".to_vec()],
    };
    let exposure = Exposure {
        what: "env_var=API_TOKEN".into(),
        control: Control::Credentials,
        why: "the workload has the value of API_TOKEN".into(),
    };
    EffectivePolicy {
        asked: SandboxPolicy {
            reuse_inputs: vec![input],
            files,
            caches: vec![DependencyCache::Cargo, DependencyCache::Go],
            ..bare.asked
        },
        exposures: vec![exposure],
        ..bare
    }
}

/// A policy with limits.
pub(crate) fn policy_with_limits() -> EffectivePolicy {
    let asked =
        Limits::NONE.with(Limit::Time, Some(90_000)).with(Limit::Memory, Some(4 << 30)).with(Limit::Cpu, Some(1500));
    let limits = vec![
        LimitReport::by(Limit::Time, 90_000, "isobox's timer"),
        LimitReport {
            limit: Limit::Memory,
            asked: 4 << 30,
            applied: Some(4 << 30),
            enforcement: Enforcement::PartiallyEnforced { mechanism: "polling".into(), reason: "no tmpfs".into() },
        },
        LimitReport::not(Limit::Cpu, 1500, "no cgroup"),
    ];
    EffectivePolicy { asked: SandboxPolicy { limits: asked, ..policy().asked }, ..policy() }.with_limits(limits)
}

/// A record of an attempt that a limit ended.
pub(crate) fn record_with_exceeded() -> TaskRecord {
    let exceeded = |limit, value, observed, evidence: &str, effect| ExceededLimit {
        limit,
        value,
        observed,
        evidence: evidence.into(),
        effect,
    };
    TaskRecord {
        policy: policy_with_limits(),
        outcome: Outcome::LimitExceeded,
        exceeded: vec![
            exceeded(Limit::Time, 90_000, 90_004, "isobox's timer", LimitEffect::Ended),
            exceeded(Limit::Processes, 300, 300, "pids.events max 7", LimitEffect::Refused),
            exceeded(Limit::Output, 1 << 20, 1 << 33, "isobox's counter", LimitEffect::Unnoticed),
        ],
        ..record()
    }
}

/// A policy under which something was required, and something weaker than the project's policy.
pub(crate) fn required_policy() -> EffectivePolicy {
    let mut policy = policy();
    policy.asked.require = Requirement::all().collect();
    policy.asked.unsafe_overrides = UnsafeOverride::ALL.to_vec();
    policy
}

/// A policy with nothing in it.
pub(crate) fn bare_policy() -> EffectivePolicy {
    EffectivePolicy {
        backend: BackendName::Host,
        asked: SandboxPolicy {
            backend: BackendChoice::Named(BackendName::Host),
            network: NetworkAccess::Inherited,
            network_allow: vec!["example.com".into()],
            ..SandboxPolicy::default()
        },
        controls: vec![],
        limitations: vec![],
        workspace: None,
        exposures: Vec::new(),
        why_this_backend: None,
        limits: vec![],
    }
}

/// A record with every optional field.
pub(crate) fn record() -> TaskRecord {
    TaskRecord {
        task: TASK,
        attempt: 2,
        kind: SandboxKind::ToolCall,
        created_at: time(0),
        started_at: Some(time(120)),
        ended_at: time(4500),
        command: vec![
            RecordedArgument { shown: b"make".to_vec(), masked_digest: None },
            RecordedArgument { shown: b"--token=***".to_vec(), masked_digest: Some(id(0xaa)) },
            RecordedArgument { shown: b"\xff\n".to_vec(), masked_digest: None },
        ],
        source: WorkspaceSource {
            host_path: b"/home/ana/app".to_vec(),
            root_commit: Some(GitOid::Sha1([0x11; 20])),
            commit: GitOid::Sha1([0x22; 20]),
            branch: Some(b"refs/heads/main".to_vec()),
            working_directory: Some(path(b"src/lib")),
        },
        policy: policy(),
        outcome: Outcome::WorkloadCommandExit,
        outcome_detail: Some("the command exited with 3".into()),
        exit: Some(Exit::Code(3)),
        usage: ResourceUsage {
            user_cpu_us: Some(1_500_000),
            system_cpu_us: Some(20),
            peak_memory_bytes: Some(64 << 20),
            peak_memory_of: Some(MemoryScope::LargestProcess),
        },
        stdin: Some(reference(0x31, 24)),
        terminal: None,
        artifacts: TaskArtifacts {
            stdout: Some(reference(0x32, 1)),
            stderr: Some(reference(0x33, 256)),
            change_set: Some(ChangeSetRef {
                id: id(0x34),
                length: 700,
                summary: ChangeSummary { added: 1, modified: 2, deleted: 3, not_captured: 4 },
            }),
            patch: Some(reference(0x35, 65_536)),
            workspace_git: Some(reference(0x36, 1 << 32)),
            ..TaskArtifacts::default()
        },
        output_loss: OutputLoss::StoreFailed { dropped_bytes: 4096 },
        workspace: WorkspaceFate::Retained { host_path: b"/home/ana/.local/state/isobox/workspaces/x".to_vec() },
        warnings: vec!["one file was not captured".into()],
        tools: vec![("isobox".into(), "0.1.0".into()), ("bwrap".into(), "0.11.0".into())],
        salt: [0x5a; 16],
        parents: vec![id(0x41)],
        probes: Vec::new(),
        exceeded: vec![],
        extensions: vec![("bench".into(), vec![0, 1, 2, 0xff]), ("origin".into(), b"go-v1".to_vec())],
    }
}

/// A record of an attempt that began with uncommitted changes.
pub(crate) fn record_with_snapshot() -> TaskRecord {
    let summary = ChangeSummary { added: 5, modified: 6, deleted: 7, not_captured: 0 };
    let source_snapshot = Some(ChangeSetRef { id: id(0x37), length: 300, summary });
    TaskRecord { artifacts: TaskArtifacts { source_snapshot, ..record().artifacts }, ..record() }
}

/// A record of commands that verified what another attempt left.
pub(crate) fn record_of_verification() -> TaskRecord {
    TaskRecord { kind: SandboxKind::Verification, attempt: 1, ..record_with_snapshot() }
}

/// A record of an attempt that changed copies of host files.
pub(crate) fn record_with_host_copies() -> TaskRecord {
    let summary = ChangeSummary { added: 1, modified: 2, deleted: 0, not_captured: 3 };
    let host_copies = Some(ChangeSetRef { id: id(0x38), length: 200, summary });
    TaskRecord { artifacts: TaskArtifacts { host_copies, ..record().artifacts }, ..record() }
}

/// A record of an attempt of which it is known when its output came.
pub(crate) fn record_with_timeline() -> TaskRecord {
    let timeline = Some(reference(0x39, 40));
    TaskRecord { artifacts: TaskArtifacts { timeline, ..record().artifacts }, ..record() }
}

/// A record of an attempt whose Sandbox was attacked from inside first.
pub(crate) fn record_with_probes() -> TaskRecord {
    let result = |control, tried: &str, outcome| ProbeResult { control, tried: tried.to_owned(), outcome };
    let probes = vec![
        result(
            Control::Network,
            "connect to a service of the host",
            ProbeOutcome::Held("connection refused".to_owned()),
        ),
        result(Control::Ipc, "find the name of the host", ProbeOutcome::GotThrough("it is shown".to_owned())),
        result(Control::Syscalls, "open a vsock", ProbeOutcome::NotTried("this machine has none".to_owned())),
    ];
    TaskRecord { probes, ..record() }
}

/// A record with no optional field: an attempt of which only the request is known.
pub(crate) fn imported_record() -> TaskRecord {
    TaskRecord {
        artifacts: TaskArtifacts {
            patch: Some(reference(0x35, 65_536)),
            v1_record: Some(reference(0x37, 4096)),
            v1_files: Some(reference(0x38, 70)),
            ..TaskArtifacts::default()
        },
        extensions: vec![
            ("origin".into(), b"go-v1".to_vec()),
            ("v1-missing".into(), b"artifacts/stdout.txt\0".to_vec()),
        ],
        ..bare_record()
    }
}

pub(crate) fn bare_record() -> TaskRecord {
    TaskRecord {
        task: TASK,
        attempt: 1,
        kind: SandboxKind::Session,
        created_at: time(0),
        started_at: None,
        ended_at: time(0),
        command: vec![RecordedArgument { shown: b"true".to_vec(), masked_digest: None }],
        source: WorkspaceSource {
            host_path: b"/".to_vec(),
            root_commit: None,
            commit: GitOid::Sha256([0x22; 32]),
            branch: None,
            working_directory: None,
        },
        policy: bare_policy(),
        outcome: Outcome::Interruption,
        outcome_detail: None,
        exit: None,
        usage: ResourceUsage::default(),
        stdin: None,
        terminal: None,
        artifacts: TaskArtifacts::default(),
        output_loss: OutputLoss::None,
        workspace: WorkspaceFate::NeverCreated,
        warnings: vec![],
        tools: vec![],
        salt: [0; 16],
        parents: vec![],
        probes: Vec::new(),
        exceeded: vec![],
        extensions: vec![],
    }
}

/// One line of every kind, in order.
pub(crate) fn change_lines() -> Vec<ChangeLine> {
    let mut lines: Vec<ChangeLine> = changes().into_iter().map(ChangeLine::Change).collect();
    lines.extend(left_out().map(ChangeLine::NotCaptured));
    lines
}

/// A Change Set whose only files are `content`.
pub(crate) fn lines_about(content: ContentRef) -> Vec<ChangeLine> {
    let mut changes = changes();
    changes.iter_mut().filter_map(|change| change.after.as_mut()).for_each(|after| after.content = content);
    changes.into_iter().map(ChangeLine::Change).collect()
}

fn changes() -> Vec<Change> {
    let before = |mode, byte| Before {
        mode,
        oid: GitOid::Sha1([byte; 20]),
        content: (mode != Mode::Submodule).then(|| reference(byte, 10)),
    };
    let after = |mode, byte| After { mode, content: reference(byte, 11), binary: byte % 2 == 1 };
    let change =
        |name: &[u8], before, after| Change { path: path(name), before, after, renamed_from: None, submodule: None };
    vec![
        change(b"\n", None, Some(after(Mode::File, 0x61))),
        change(b"a", Some(before(Mode::File, 0x62)), None),
        change(b"a/b", Some(before(Mode::File, 0x63)), Some(after(Mode::Executable, 0x64))),
        change(b"link", Some(before(Mode::Symlink, 0x65)), Some(after(Mode::File, 0x66))),
        Change { renamed_from: Some(path(b"a")), ..change(b"renamed", None, Some(after(Mode::Symlink, 0x67))) },
        change(b"vendor", Some(before(Mode::Submodule, 0x68)), None),
        Change {
            submodule: Some(path(b"vendor/inner")),
            ..change(b"vendor/inner/f", Some(before(Mode::Executable, 0x69)), None)
        },
    ]
}

fn left_out() -> impl Iterator<Item = NotCaptured> {
    let ignored =
        |origin| NotCapturedReason::Ignored { rule: b"target/".to_vec(), rule_file: path(b".gitignore"), origin };
    let reasons = [
        ignored(RuleOrigin::Commit),
        ignored(RuleOrigin::Workload),
        NotCapturedReason::EmptyDirectory,
        NotCapturedReason::NestedRepository,
        NotCapturedReason::Fifo,
        NotCapturedReason::Socket,
        NotCapturedReason::Device,
        NotCapturedReason::Unreadable("Permission denied".into()),
        NotCapturedReason::SpecialModeBits(0o4000),
        NotCapturedReason::TooLarge { length: 1 << 40 },
        NotCapturedReason::UnsupportedName("it has a component `.git`".into()),
        NotCapturedReason::OtherFileSystem,
    ];
    (b'a'..).zip(reasons).map(|(letter, reason)| NotCaptured { workspace_path: vec![b'z', letter, 0xff], reason })
}

/// The first `count` leaves of a log: three lanes, records and events, and one COMMIT that was lost.
pub(crate) fn leaves(count: u64) -> Vec<LogLeaf> {
    (0..count).map(leaf).collect()
}

fn leaf(index: u64) -> LogLeaf {
    let (lane, sequence) = ((index % 3) as u8, index / 3 + 1);
    if index == 4 {
        return LogLeaf::lost(lane, sequence, time(index));
    }
    let hash = |salt: u8| {
        let mut hash = [salt; 32];
        hash[..8].copy_from_slice(&index.to_le_bytes());
        ContentId::new(hash)
    };
    let (kind, attempt) = if index.is_multiple_of(5) { (LeafKind::Event, 0) } else { (LeafKind::Record, 2) };
    let (record, commit) = (hash(0x81), hash(0x82));
    LogLeaf { kind, lane, sequence, task: TASK, attempt, record, commit, time: time(index) }
}

/// The hash of a complete subtree over `leaves`.
pub(crate) fn node(leaves: &[LogLeaf], height: u8, index: u64) -> TreeHash {
    let width = 1 << height;
    let start = index as usize * width;
    let hashes: Vec<_> = leaves[start..start + width].iter().map(|leaf| leaf_hash(&encode_leaf(leaf))).collect();
    node_in_tile(&hashes, height, 0).expect("a complete subtree")
}

/// The head of the tree of `leaves`.
pub(crate) fn head(leaves: &[LogLeaf]) -> TreeHead {
    let size = leaves.len() as u64;
    let root = root(size, &mut |height, index| Ok::<_, Infallible>(node(leaves, height, index)));
    TreeHead { size, root: root.expect("infallible") }
}

/// A key of which everybody knows the secret.
pub(crate) fn signing_key() -> SigningKey {
    SigningKey::from_seed("isobox.dev/log/0123456789abcdef", [0x91; 32]).expect("a key")
}

/// A proof that `leaves[index]` is in the log of `leaves`, whose first `older` were logged before.
pub(crate) fn proof(leaves: &[LogLeaf], index: u64, older: Option<u64>) -> Proof {
    let size = leaves.len() as u64;
    let mut node = |height, index| Ok::<_, Infallible>(node(leaves, height, index));
    let path = inclusion_path(index, size, &mut node).expect("infallible");
    let older =
        older.map(|older| Older { size: older, path: consistency_path(older, size, &mut node).expect("infallible") });
    let note = SignedNote::of_checkpoint(&head(leaves), &signing_key());
    Proof { leaf: leaves[index as usize], index, path, older, note }
}

/// A record of a session that had a terminal.
pub(crate) fn record_with_terminal() -> TaskRecord {
    TaskRecord { terminal: Some(TerminalSize { columns: 80, rows: 300 }), ..record() }
}
