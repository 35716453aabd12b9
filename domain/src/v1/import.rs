//! The Task Record that stands for a v1 record.

use super::{V1Record, ending};
use crate::content::ContentId;
use crate::enforcement::{Control, ControlReport, Enforcement};
use crate::event::{Confirmation, Destination, Event, EventKind, Promoted};
use crate::git_oid::GitOid;
use crate::outcome::{Outcome, ResourceUsage};
use crate::policy::{BackendChoice, BackendName, EffectivePolicy, NetworkAccess, ReuseInput, ReuseKind, SandboxPolicy};
use crate::record::{OutputLoss, RecordedArgument, SandboxKind, TaskArtifacts, TaskRecord, WorkspaceFate};
use crate::repo_path::RepoPath;
use crate::source::WorkspaceSource;
use crate::task_id::TaskId;
use crate::timestamp::{Timestamp, rfc3339};

/// The extension that says where a record comes from.
pub const ORIGIN_EXTENSION: &str = "origin";
/// Its value for an imported v1 record.
pub const ORIGIN: &[u8] = b"go-v1";
/// The extension that lists artifacts which the v1 record names but which were not there, each followed by NUL.
const MISSING_EXTENSION: &str = "v1-missing";

/// Most bytes of the Workload Command that a record repeats; the v1 record beside it has all of them.
const COMMAND_BYTES: usize = 64 << 10;
/// Most texts of a list that a record repeats.
const TEXTS: usize = 64;
/// Most bytes of one such text.
const TEXT_BYTES: usize = 1 << 10;

/// Whether `record` was imported.
pub fn is_imported(record: &TaskRecord) -> bool {
    record.extensions.iter().any(|(name, value)| name == ORIGIN_EXTENSION && value == ORIGIN)
}

/// The artifacts that the v1 record behind `record` names but that were not there, as far as the record repeats them.
pub fn missing(record: &TaskRecord) -> Vec<RepoPath> {
    let listed = record.extensions.iter().find(|(name, _)| name == MISSING_EXTENSION);
    let paths = listed.into_iter().flat_map(|(_, paths)| paths.split(|&byte| byte == 0));
    paths.filter_map(|path| RepoPath::parse(path).ok()).collect()
}

/// What an import adds to what a v1 record says.
#[derive(Clone, Debug)]
pub struct Import {
    /// The Task that the record directory is named after.
    pub task: TaskId,
    /// Which attempt of it this is in the store, from 1.
    pub attempt: u32,
    /// The record of the attempt before, if there is one.
    pub parents: Vec<ContentId>,
    /// The moment of the import.
    pub now: Timestamp,
    /// 16 random bytes.
    pub salt: [u8; 16],
    /// The version of isobox that imports.
    pub version: String,
    /// What was staged.
    pub artifacts: TaskArtifacts,
    /// Artifacts that the v1 record names but that are not there, from the record directory.
    pub missing: Vec<RepoPath>,
    /// More things that a reader should know.
    pub warnings: Vec<String>,
}

/// A `record.json` that says nothing: it is empty, or not whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotImportable {
    /// What is wrong with it, as a sentence without its end.
    pub reason: String,
}

impl V1Record {
    /// The Workload Command as far as a record repeats it, and what it does not repeat, as a sentence.
    pub fn command(&self) -> (Vec<Vec<u8>>, Option<String>) {
        let mut room = COMMAND_BYTES;
        let mut arguments = Vec::new();
        for argument in &self.policy.workload_command {
            let Some(left) = room.checked_sub(argument.len() + 1) else { break };
            room = left;
            arguments.push(without_nul(argument).into_bytes());
        }
        let warning = match arguments.first() {
            Some(program) if !program.is_empty() => (arguments.len() < self.policy.workload_command.len())
                .then(|| "the command is longer than shown; the v1 record has all of it".to_owned()),
            _ => {
                arguments = vec![UNKNOWN_COMMAND.to_vec()];
                Some("the v1 record names no program".to_owned())
            }
        };
        (arguments, warning)
    }

    /// The record that stands for this one. `command` is [`command`](Self::command) with its secrets masked.
    pub fn record(&self, import: Import, command: Vec<RecordedArgument>) -> TaskRecord {
        let mut record = blank(import, command);
        self.tell_request(&mut record);
        self.tell_ending(&mut record);
        if self.id != record.task.to_string() {
            record.warnings.push(format!("the v1 record calls itself `{}`", cut(&self.id)));
        }
        record
    }

    fn tell_request(&self, record: &mut TaskRecord) {
        match rfc3339::parse(&self.created_at) {
            Some(created_at) => (record.created_at, record.ended_at) = (created_at, created_at),
            None => record.warnings.push("the v1 record does not say when it was made; this is the import".to_owned()),
        }
        let source = self.policy.workspace_source.as_bytes();
        match source.starts_with(b"/") && !source.contains(&0) {
            true => record.source.host_path = source.to_vec(),
            false => record.warnings.push("the v1 record names no absolute path of a source".to_owned()),
        }
        match GitOid::from_hex(&self.source_commit) {
            Some(commit) => record.source.commit = commit,
            None => record.warnings.push("the v1 record names no commit".to_owned()),
        }
        record.policy = self.policy.effective();
        if record.policy.backend == BackendName::Bubblewrap {
            record.kind = SandboxKind::ToolCall;
        }
        record.workspace = ending::fate(self);
    }

    fn tell_ending(&self, record: &mut TaskRecord) {
        let outcome = ending::outcome(self);
        record.exit = ending::exit(self, outcome);
        record.outcome_detail = (!self.error.is_empty()).then(|| cut(&self.error));
        record.outcome = outcome.unwrap_or_else(|| {
            record.warnings.push(format!("the v1 record has an outcome of its own, `{}`", cut(&self.outcome)));
            Outcome::ResultCaptureFailure
        });
    }

    /// The event that the v1 record notes about `record`, its stand-in with the digest `subject`: the existing tool
    /// writes a mode of confirmation when it has promoted a result, at a time that it does not note.
    pub fn promotion(&self, record: &TaskRecord, subject: ContentId) -> Option<Event> {
        let confirmation = match self.promotion_mode.as_str() {
            "" => return None,
            "interactive" => Confirmation::Interactive,
            "explicit_non_interactive" => Confirmation::Flag,
            _ => Confirmation::Unknown,
        };
        let promoted = Promoted {
            host_path: record.source.host_path.clone(),
            commit: record.source.commit,
            branch: None,
            confirmation,
            paths: self.changed_files.max(self.untracked.len() as u64),
            part: None,
            destination: Destination::WorkingTree,
            merged: None,
            overridden: None,
            verified: None,
        };
        let kind = EventKind::Promoted(promoted);
        Some(Event { task: record.task, subject, previous: None, at: record.ended_at, kind })
    }
}

impl NotImportable {
    /// The record that keeps what was found beside such a file: an interruption, since that is how the file came to be.
    pub fn record(&self, import: Import) -> TaskRecord {
        let command = vec![RecordedArgument { shown: UNKNOWN_COMMAND.to_vec(), masked_digest: None }];
        let mut record = blank(import, command);
        record.outcome_detail = Some(cut(&format!("the v1 record is not whole: {}", self.reason)));
        record
    }
}

impl super::V1Policy {
    fn effective(&self) -> EffectivePolicy {
        let backend = BackendName::ALL.into_iter().find(|backend| backend.name() == self.runtime_backend);
        let backend = backend.unwrap_or(BackendName::Host);
        let network = if self.network == NetworkAccess::Deny.name() || self.network.is_empty() {
            NetworkAccess::Deny
        } else {
            NetworkAccess::Inherited
        };
        let reuse_inputs = self.reuse_inputs.iter().take(TEXTS).filter_map(|(kind, value)| {
            let kind = ReuseKind::ALL.into_iter().find(|known| known.name() == kind)?;
            Some(ReuseInput { kind, value: cut(value), digest: None })
        });
        EffectivePolicy {
            backend,
            asked: SandboxPolicy {
                backend: BackendChoice::Named(backend),
                network,
                reuse_inputs: reuse_inputs.collect(),
                ..SandboxPolicy::default()
            },
            controls: unknown_controls(),
            limitations: self.limitations.iter().take(TEXTS).map(|text| cut(text)).collect(),
            workspace: None,
            exposures: Vec::new(),
            why_this_backend: None,
            limits: Vec::new(),
        }
    }
}

/// What stands in the place of a command that is not known.
const UNKNOWN_COMMAND: &[u8] = b"(unknown)";

fn unknown_controls() -> Vec<ControlReport> {
    let reason = "imported: what another tool enforced is not known";
    let report =
        |control| ControlReport { control, enforcement: Enforcement::NotEnforced { reason: reason.to_owned() } };
    Control::ALL.map(report).to_vec()
}

fn blank(import: Import, command: Vec<RecordedArgument>) -> TaskRecord {
    let mut warnings = import.warnings;
    warnings.extend(import.missing.iter().map(|path| format!("the v1 record names {path}, which is not there")));
    // A list of any length has no place in a record; the v1 record itself names them all.
    warnings.truncate(TEXTS);
    let missing: Vec<u8> =
        import.missing.iter().take(TEXTS).flat_map(|path| [path.as_bytes(), b"\0"].concat()).collect();
    let mut extensions = vec![(ORIGIN_EXTENSION.to_owned(), ORIGIN.to_vec())];
    if !missing.is_empty() {
        extensions.push((MISSING_EXTENSION.to_owned(), missing));
    }
    TaskRecord {
        task: import.task,
        attempt: import.attempt,
        kind: SandboxKind::Session,
        created_at: import.now,
        started_at: None,
        ended_at: import.now,
        command,
        source: WorkspaceSource {
            host_path: b"/".to_vec(),
            root_commit: None,
            commit: GitOid::Sha1([0; 20]),
            branch: None,
            working_directory: None,
        },
        policy: super::V1Policy { runtime_backend: "host".to_owned(), ..Default::default() }.effective(),
        outcome: Outcome::Interruption,
        outcome_detail: None,
        exit: None,
        usage: ResourceUsage::default(),
        stdin: None,
        terminal: None,
        artifacts: import.artifacts,
        output_loss: OutputLoss::None,
        workspace: WorkspaceFate::NeverCreated,
        warnings,
        tools: vec![("isobox import".to_owned(), import.version)],
        salt: import.salt,
        parents: import.parents,
        probes: Vec::new(),
        exceeded: Vec::new(),
        extensions,
    }
}

fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// A text as a record repeats it: without NUL, which texts of a record do not have, and of bounded length.
fn cut(text: &str) -> String {
    let text = without_nul(text);
    if text.len() <= TEXT_BYTES {
        return text;
    }
    format!("{}…", &text[..text.floor_char_boundary(TEXT_BYTES)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn import() -> Import {
        Import {
            task: TaskId::new([1; 8]),
            attempt: 1,
            parents: Vec::new(),
            now: Timestamp::nearest(1_800_000_000_000),
            salt: [2; 16],
            version: "0".to_owned(),
            artifacts: TaskArtifacts::default(),
            missing: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn with_command(arguments: &[&str]) -> V1Record {
        let workload_command = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let policy = super::super::V1Policy { workload_command, ..Default::default() };
        V1Record { policy, ..V1Record::default() }
    }

    #[test]
    fn a_command_that_no_record_could_hold_is_shown_as_far_as_it_can_be() {
        let long = "x".repeat(COMMAND_BYTES);
        for (written, shown) in [
            (vec!["sh", "-c", "a\0b"], vec!["sh", "-c", "a\u{fffd}b"]),
            (vec![], vec!["(unknown)"]),
            (vec!["", "x"], vec!["(unknown)"]),
            (vec!["sh", &long], vec!["sh"]),
        ] {
            let (command, warning) = with_command(&written).command();
            assert_eq!(command, shown.iter().map(|argument| argument.as_bytes().to_vec()).collect::<Vec<_>>());
            assert_eq!(warning.is_some(), written.len() != shown.len() || shown == ["(unknown)"], "{warning:?}");
        }
    }

    #[test]
    fn an_outcome_that_is_not_known_is_never_one_that_can_be_promoted() {
        for word in ["", "SUCCESS", "done"] {
            let v1 = V1Record { outcome: word.to_owned(), ..V1Record::default() };
            let record = v1.record(import(), Vec::new());
            assert_eq!((record.outcome.is_promotable(), record.exit), (false, None), "{word}");
        }
    }

    #[test]
    fn missing_artifacts_are_read_back_from_the_record() {
        let paths: Vec<RepoPath> = ["a/b", "c"].iter().map(|&path| RepoPath::parse(path).expect("a path")).collect();
        let record = V1Record::default().record(Import { missing: paths.clone(), ..import() }, Vec::new());
        assert_eq!((missing(&record), is_imported(&record)), (paths, true));
    }
}
