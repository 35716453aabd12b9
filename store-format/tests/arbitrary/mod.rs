//! Strategies for every value that becomes an object.
#![allow(dead_code, reason = "each test target uses a part of it")]

use isobox_domain::change::{
    After, Before, Change, ChangeLine, ChangeSetRef, ChangeSummary, Mode, NotCaptured, NotCapturedReason, RuleOrigin,
};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::enforcement::{Control, ControlReport, Enforcement};
use isobox_domain::event::{Confirmation, Destination, Event, EventKind, Merged, Promoted};
use isobox_domain::git_oid::GitOid;
use isobox_domain::limit::{ExceededLimit, Limit, LimitEffect, LimitReport, Limits};
use isobox_domain::outcome::{Exit, MemoryScope, Outcome, ResourceUsage};
use isobox_domain::policy::{
    BackendChoice, BackendName, CopyChanges, DependencyCache, EffectivePolicy, Exposure, FileRules, HideRule,
    NetworkAccess, PathMode, Requirement, ReuseInput, ReuseKind, SandboxPolicy, UnsafeOverride, WorkspaceExposure,
    WorkspaceKind, WriteRule,
};
use isobox_domain::probe::{ProbeOutcome, ProbeResult};
use isobox_domain::promotion::{BlockedRisk, ChosenHunks, Overridden, PromotionRequirement, Selection};
use isobox_domain::record::{OutputLoss, RecordedArgument, SandboxKind, TaskArtifacts, TaskRecord, WorkspaceFate};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::WorkspaceSource;
use isobox_domain::task_id::TaskId;
use isobox_domain::terminal::TerminalSize;
use isobox_domain::timestamp::Timestamp;
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

fn id() -> impl Strategy<Value = ContentId> {
    any::<[u8; 32]>().prop_map(ContentId::new)
}

fn reference() -> impl Strategy<Value = ContentRef> {
    (id(), any::<u64>()).prop_map(|(id, length)| ContentRef { id, length })
}

fn time() -> impl Strategy<Value = Timestamp> {
    any::<u64>().prop_map(Timestamp::nearest)
}

fn text() -> impl Strategy<Value = String> {
    "[^\0]{0,30}"
}

fn bytes_without_nul() -> impl Strategy<Value = Vec<u8>> {
    vec(1u8.., 0..30)
}

fn host_path() -> impl Strategy<Value = Vec<u8>> {
    bytes_without_nul().prop_map(|rest| [b"/".as_slice(), &rest].concat())
}

fn oid() -> impl Strategy<Value = GitOid> {
    prop_oneof![any::<[u8; 20]>().prop_map(GitOid::Sha1), any::<[u8; 32]>().prop_map(GitOid::Sha256)]
}

pub(crate) fn path() -> impl Strategy<Value = RepoPath> {
    vec(vec(1u8.., 1..6), 1..4).prop_filter_map("a path", |parts| RepoPath::parse(parts.join(&b'/')).ok())
}

fn enforcement() -> impl Strategy<Value = Enforcement> {
    prop_oneof![
        text().prop_map(|mechanism| Enforcement::Enforced { mechanism }),
        (text(), text()).prop_map(|(mechanism, reason)| Enforcement::PartiallyEnforced { mechanism, reason }),
        text().prop_map(|reason| Enforcement::NotEnforced { reason }),
    ]
}

fn controls() -> impl Strategy<Value = Vec<ControlReport>> {
    let some = subsequence(Control::ALL.to_vec(), 0..=Control::ALL.len());
    (some, vec(enforcement(), Control::ALL.len())).prop_map(|(controls, enforcements)| {
        let pairs = controls.into_iter().zip(enforcements);
        pairs.map(|(control, enforcement)| ControlReport { control, enforcement }).collect()
    })
}

fn files() -> impl Strategy<Value = FileRules> {
    let rule = select(vec!["**/.env", "~/.cargo/credentials*", "/opt/?/x"])
        .prop_map(|text| HideRule::parse(text).expect("a rule"));
    let paths = || vec(any::<Vec<u8>>(), 0..2);
    let write = (any::<Vec<u8>>(), select(vec![CopyChanges::Discarded, CopyChanges::Captured]))
        .prop_map(|(path, changes)| WriteRule { path, changes });
    (vec(write, 0..2), vec(rule, 0..3), vec(path(), 0..3), paths())
        .prop_map(|(write, hide, protected, unsafe_shown)| FileRules { write, hide, protected, unsafe_shown })
}

fn exposure() -> impl Strategy<Value = Exposure> {
    (text(), select(Control::ALL.to_vec()), text()).prop_map(|(what, control, why)| Exposure { what, control, why })
}

fn limits() -> impl Strategy<Value = Limits> {
    vec(option::of(1u64..), Limit::ALL.len()).prop_map(|values| {
        let pairs = Limit::ALL.into_iter().zip(values);
        pairs.fold(Limits::NONE, |limits, (limit, value)| limits.with(limit, value))
    })
}

fn limit_reports() -> impl Strategy<Value = Vec<LimitReport>> {
    let some = subsequence(Limit::ALL.to_vec(), 0..=Limit::ALL.len());
    let values = (1u64.., option::of(1u64..), enforcement());
    (some, vec(values, Limit::ALL.len())).prop_map(|(limits, values)| {
        let report = |(limit, (asked, applied, enforcement))| LimitReport { limit, asked, applied, enforcement };
        limits.into_iter().zip(values).map(report).collect()
    })
}

fn exceeded() -> impl Strategy<Value = Vec<ExceededLimit>> {
    let (limit, effect) = (select(Limit::ALL.to_vec()), select(LimitEffect::ALL.to_vec()));
    let one = (limit, 1u64.., any::<u64>(), text(), effect);
    vec(
        one.prop_map(|(limit, value, observed, evidence, effect)| ExceededLimit {
            limit,
            value,
            observed,
            evidence,
            effect,
        }),
        0..3,
    )
}

fn asked() -> impl Strategy<Value = SandboxPolicy> {
    let choice =
        prop_oneof![Just(BackendChoice::Auto), select(BackendName::ALL.to_vec()).prop_map(BackendChoice::Named)];
    let input = (select(ReuseKind::ALL.to_vec()), text(), option::of(id()))
        .prop_map(|(kind, value, digest)| ReuseInput { kind, value, digest });
    (
        choice,
        select(NetworkAccess::ALL.to_vec()),
        vec(text(), 0..3),
        select(PathMode::ALL.to_vec()),
        select(vec![WorkspaceExposure::ReadWrite, WorkspaceExposure::ReadOnly]),
        vec(any::<Vec<u8>>(), 0..3),
        vec(input, 0..3),
        limits(),
        vec(select(Requirement::all().collect::<Vec<_>>()), 0..3),
        subsequence(UnsafeOverride::ALL.to_vec(), 0..=UnsafeOverride::ALL.len()),
        (files(), subsequence(DependencyCache::ALL.to_vec(), 0..=DependencyCache::ALL.len())),
    )
        .prop_map(
            |(
                backend,
                network,
                network_allow,
                path_mode,
                workspace,
                read,
                reuse_inputs,
                limits,
                require,
                overrides,
                (files, caches),
            )| {
                SandboxPolicy {
                    backend,
                    network,
                    network_allow,
                    path_mode,
                    workspace,
                    read,
                    reuse_inputs,
                    limits,
                    require: require.into_iter().collect(),
                    unsafe_overrides: overrides,
                    files,
                    caches,
                }
            },
        )
}

pub(crate) fn policy() -> impl Strategy<Value = EffectivePolicy> {
    let workspaces: Vec<_> = WorkspaceKind::ALL.map(Some).into_iter().chain([None]).collect();
    (
        (select(BackendName::ALL.to_vec()), option::of(text())),
        asked(),
        controls(),
        vec(text(), 0..3),
        select(workspaces),
        vec(exposure(), 0..2),
        limit_reports(),
    )
        .prop_map(|((backend, why_this_backend), asked, controls, limitations, workspace, exposures, limits)| {
            EffectivePolicy { backend, asked, controls, limitations, workspace, exposures, limits, why_this_backend }
        })
}

fn command() -> impl Strategy<Value = Vec<RecordedArgument>> {
    let argument = (bytes_without_nul(), option::of(id()))
        .prop_map(|(shown, masked_digest)| RecordedArgument { shown, masked_digest });
    vec(argument, 1..5).prop_filter("a program", |command| !command[0].shown.is_empty())
}

fn source() -> impl Strategy<Value = WorkspaceSource> {
    (host_path(), option::of(oid()), oid(), option::of(bytes_without_nul()), option::of(path())).prop_map(
        |(host_path, root_commit, commit, branch, working_directory)| WorkspaceSource {
            host_path,
            root_commit,
            commit,
            branch,
            working_directory,
        },
    )
}

fn usage() -> impl Strategy<Value = ResourceUsage> {
    let scope = select(vec![MemoryScope::LargestProcess, MemoryScope::Tree]);
    (any::<Option<u64>>(), any::<Option<u64>>(), any::<Option<u64>>(), option::of(scope)).prop_map(
        |(user_cpu_us, system_cpu_us, peak_memory_bytes, peak_memory_of)| ResourceUsage {
            user_cpu_us,
            system_cpu_us,
            peak_memory_bytes,
            peak_memory_of,
        },
    )
}

fn summary() -> impl Strategy<Value = ChangeSummary> {
    any::<[u64; 4]>().prop_map(|[added, modified, deleted, not_captured]| ChangeSummary {
        added,
        modified,
        deleted,
        not_captured,
    })
}

fn artifacts() -> impl Strategy<Value = TaskArtifacts> {
    let set = || (id(), any::<u64>(), summary()).prop_map(|(id, length, summary)| ChangeSetRef { id, length, summary });
    let any_of = || option::of(reference());
    let rest = || (option::of(set()), option::of(set()), any_of());
    (any_of(), any_of(), option::of(set()), any_of(), any_of(), any_of(), any_of(), rest()).prop_map(
        |(stdout, stderr, change_set, patch, workspace_git, v1_record, v1_files, rest)| {
            let (source_snapshot, host_copies, timeline) = rest;
            TaskArtifacts {
                timeline,
                stdout,
                stderr,
                change_set,
                patch,
                workspace_git,
                v1_record,
                v1_files,
                source_snapshot,
                host_copies,
            }
        },
    )
}

fn exit() -> impl Strategy<Value = Exit> {
    prop_oneof![any::<u8>().prop_map(Exit::Code), any::<u8>().prop_map(Exit::Signal)]
}

fn loss() -> impl Strategy<Value = OutputLoss> {
    any::<Option<u64>>()
        .prop_map(|lost| lost.map_or(OutputLoss::None, |dropped_bytes| OutputLoss::StoreFailed { dropped_bytes }))
}

fn fate() -> impl Strategy<Value = WorkspaceFate> {
    prop_oneof![
        Just(WorkspaceFate::NeverCreated),
        Just(WorkspaceFate::Disposed),
        host_path().prop_map(|host_path| WorkspaceFate::Retained { host_path }),
    ]
}

// Sorted as they come back: the shorter name first.
fn extensions() -> impl Strategy<Value = Vec<(String, Vec<u8>)>> {
    btree_map(text(), any::<Vec<u8>>(), 0..3).prop_map(|map| {
        let mut entries: Vec<_> = map.into_iter().collect();
        entries.sort_by_key(|(name, _)| (name.len(), name.clone()));
        entries
    })
}

fn probe() -> impl Strategy<Value = ProbeResult> {
    let outcome = prop_oneof![
        text().prop_map(ProbeOutcome::Held),
        text().prop_map(ProbeOutcome::GotThrough),
        text().prop_map(ProbeOutcome::NotTried),
    ];
    (select(Control::ALL.to_vec()), text(), outcome).prop_map(|(control, tried, outcome)| ProbeResult {
        control,
        tried,
        outcome,
    })
}

pub(crate) fn record() -> impl Strategy<Value = TaskRecord> {
    let kind = select(vec![SandboxKind::Session, SandboxKind::ToolCall, SandboxKind::Verification]);
    let request = (any::<[u8; 8]>(), 1u32.., kind, time(), command(), source(), policy());
    let ending = (option::of(time()), time(), select(Outcome::ALL.to_vec()), option::of(text()), option::of(exit()));
    let terminal = (any::<u16>(), any::<u16>()).prop_map(|(columns, rows)| TerminalSize { columns, rows });
    let results = (usage(), option::of(reference()), option::of(terminal), artifacts(), loss(), fate());
    let rest = (
        vec(text(), 0..3),
        vec((text(), text()), 0..3),
        any::<[u8; 16]>(),
        vec(id(), 0..3),
        extensions(),
        vec(probe(), 0..3),
        exceeded(),
    );
    (request, ending, results, rest).prop_map(
        |(
            (task, attempt, kind, created_at, command, source, policy),
            (started_at, ended_at, outcome, outcome_detail, exit),
            (usage, stdin, terminal, artifacts, output_loss, workspace),
            (warnings, tools, salt, parents, extensions, probes, exceeded),
        )| TaskRecord {
            task: TaskId::new(task),
            attempt,
            kind,
            created_at,
            started_at,
            ended_at,
            command,
            source,
            policy,
            outcome,
            outcome_detail,
            exit,
            usage,
            stdin,
            terminal,
            artifacts,
            output_loss,
            workspace,
            warnings,
            tools,
            salt,
            parents,
            probes,
            exceeded,
            extensions,
        },
    )
}

fn selection() -> impl Strategy<Value = Selection> {
    let paths = || btree_set(path(), 0..3);
    let hunks = || btree_map(path(), btree_set(any::<u32>(), 1..4), 0..3);
    (paths(), paths(), hunks())
        .prop_map(|(only, except, hunks)| {
            let mut selection = Selection { only, except, hunks: Vec::new() };
            let hunks = hunks.into_iter().filter(|(path, _)| selection.admits(path));
            selection.hunks =
                hunks.map(|(path, numbers)| ChosenHunks { path, numbers: numbers.into_iter().collect() }).collect();
            selection
        })
        .prop_filter("a part leaves something out", |selection| !selection.is_everything())
}

fn overridden() -> impl Strategy<Value = Overridden> {
    let risks: Vec<BlockedRisk> = BlockedRisk::all().collect();
    let require = subsequence(PromotionRequirement::ALL.to_vec(), 0..=PromotionRequirement::ALL.len());
    (text(), require, subsequence(risks, 1..4)).prop_map(|(reason, require, block)| Overridden {
        reason,
        require,
        block,
    })
}

fn destination() -> impl Strategy<Value = Destination> {
    prop_oneof![
        Just(Destination::WorkingTree),
        Just(Destination::Index),
        oid().prop_map(|made| Destination::Commit { made }),
        (oid(), bytes_without_nul()).prop_map(|(made, name)| Destination::Branch { made, name }),
    ]
}

pub(crate) fn event() -> impl Strategy<Value = Event> {
    let confirmation =
        select(vec![Confirmation::Interactive, Confirmation::Piped, Confirmation::Flag, Confirmation::Unknown]);
    let promoted = (host_path(), oid(), option::of(bytes_without_nul()), confirmation, any::<u64>()).prop_map(
        |(host_path, commit, branch, confirmation, paths)| Promoted {
            host_path,
            commit,
            branch,
            confirmation,
            paths,
            part: None,
            destination: Destination::WorkingTree,
            merged: None,
            overridden: None,
            verified: None,
        },
    );
    let merged = option::of(any::<u64>().prop_map(|conflicts| Merged { conflicts }));
    let gate = (option::of(overridden().prop_map(Box::new)), option::of(id()));
    let promoted = (promoted, option::of(selection().prop_map(Box::new)), destination(), merged, gate).prop_map(
        |(promoted, part, destination, merged, (overridden, verified))| {
            EventKind::Promoted(Promoted { part, destination, merged, overridden, verified, ..promoted })
        },
    );
    let kind = prop_oneof![
        promoted,
        text().prop_map(|reason| EventKind::Rejected { reason }),
        text().prop_map(|reason| EventKind::Pruned { reason }),
        select(vec![EventKind::Pinned, EventKind::Unpinned, EventKind::Undone]),
    ];
    (any::<[u8; 8]>(), id(), option::of(id()), time(), kind).prop_map(|(task, subject, previous, at, kind)| Event {
        task: TaskId::new(task),
        subject,
        previous,
        at,
        kind,
    })
}

fn before() -> impl Strategy<Value = Before> {
    let mode = select(vec![Mode::File, Mode::Executable, Mode::Symlink, Mode::Submodule]);
    (mode, oid(), reference()).prop_map(|(mode, oid, content)| Before {
        mode,
        oid,
        content: (mode != Mode::Submodule).then_some(content),
    })
}

fn after() -> impl Strategy<Value = After> {
    (select(vec![Mode::File, Mode::Executable, Mode::Symlink]), reference(), any::<bool>())
        .prop_map(|(mode, content, binary)| After { mode, content, binary })
}

fn change() -> impl Strategy<Value = Change> {
    let sides = prop_oneof![
        (option::of(path()), after()).prop_map(|(from, after)| (from, None, Some(after))),
        (before(), option::of(after())).prop_map(|(before, after)| (None, Some(before), after)),
    ];
    (option::of(path()), path(), sides).prop_map(|(submodule, path, (renamed_from, before, after))| {
        let path = submodule.as_ref().map_or(path.clone(), |outer| outer.join(path.as_bytes()).expect("short"));
        Change { path, before, after, renamed_from, submodule }
    })
}

fn reason() -> impl Strategy<Value = NotCapturedReason> {
    let origin = select(vec![RuleOrigin::Commit, RuleOrigin::Workload]);
    prop_oneof![
        (any::<Vec<u8>>(), path(), origin).prop_map(|(rule, rule_file, origin)| NotCapturedReason::Ignored {
            rule,
            rule_file,
            origin
        }),
        select(vec![
            NotCapturedReason::EmptyDirectory,
            NotCapturedReason::NestedRepository,
            NotCapturedReason::Fifo,
            NotCapturedReason::Socket,
            NotCapturedReason::Device,
            NotCapturedReason::OtherFileSystem,
        ]),
        text().prop_map(NotCapturedReason::Unreadable),
        any::<u32>().prop_map(NotCapturedReason::SpecialModeBits),
        any::<u64>().prop_map(|length| NotCapturedReason::TooLarge { length }),
        text().prop_map(NotCapturedReason::UnsupportedName),
    ]
}

fn line() -> impl Strategy<Value = ChangeLine> {
    prop_oneof![
        change().prop_map(ChangeLine::Change),
        (bytes_without_nul(), reason())
            .prop_map(|(workspace_path, reason)| ChangeLine::NotCaptured(NotCaptured { workspace_path, reason })),
    ]
}

pub(crate) fn line_path(line: &ChangeLine) -> &[u8] {
    match line {
        ChangeLine::Change(change) => change.path.as_bytes(),
        ChangeLine::NotCaptured(left_out) => &left_out.workspace_path,
    }
}

/// Lines in order, none about the same path as another.
pub(crate) fn lines() -> impl Strategy<Value = Vec<ChangeLine>> {
    vec(line(), 1..8).prop_map(|mut lines| {
        lines.sort_by(|a, b| line_path(a).cmp(line_path(b)));
        lines.dedup_by(|a, b| line_path(a) == line_path(b));
        lines
    })
}
