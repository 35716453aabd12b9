//! Records of the existing tool, version 1: what one says, and the Task Record that stands for it.

mod ending;
mod export;
mod import;

pub use import::{Import, NotImportable, ORIGIN, ORIGIN_EXTENSION, is_imported, missing};

use crate::repo_path::RepoPath;

/// Where a record directory keeps its record.
pub const RECORD_FILE: &str = "record.json";
/// Where the existing tool writes standard output, from the record directory.
pub const STDOUT_FILE: &str = "artifacts/stdout.txt";
/// Where it writes standard error.
pub const STDERR_FILE: &str = "artifacts/stderr.txt";
/// Where it writes the patch.
pub const DIFF_FILE: &str = "artifacts/diff.patch";

/// What a v1 `record.json` says, as far as isobox understands it. What is absent there is empty here. Every text is
/// whatever somebody wrote: nothing of it was checked but the paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct V1Record {
    /// `id`: the Task, as written.
    pub id: String,
    /// `created_at`: a moment in RFC 3339.
    pub created_at: String,
    /// `effective_policy`.
    pub policy: V1Policy,
    /// `workspace.source_type`: `repository`, or empty where the Workspace was never created.
    pub source_type: String,
    /// `workspace.source_commit`.
    pub source_commit: String,
    /// `workspace.retention`: `disposable` or `retained`.
    pub retention: String,
    /// `workspace.path`: where a Retained Workspace was kept.
    pub workspace_path: String,
    /// `outcome.type`.
    pub outcome: String,
    /// `outcome.exit_code`.
    pub exit_code: Option<i64>,
    /// `outcome.error`.
    pub error: String,
    /// `result.exit_status`.
    pub exit_status: Option<i64>,
    /// Standard output.
    pub stdout: V1Output,
    /// Standard error.
    pub stderr: V1Output,
    /// The patch.
    pub diff: V1Output,
    /// `result.artifacts.untracked_files[].path`: files that are promoted beside the patch, from the record directory.
    pub untracked: Vec<RepoPath>,
    /// `promotion.confirmation.mode`: written once the result was promoted.
    pub promotion_mode: String,
    /// How many entries `promotion_report.changed_files` has.
    pub changed_files: u64,
}

/// What a v1 record says about the policy that held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct V1Policy {
    /// `workspace_source`: host path of the trusted repository.
    pub workspace_source: String,
    /// `workload_command`.
    pub workload_command: Vec<String>,
    /// `runtime_backend`.
    pub runtime_backend: String,
    /// `network.default`, or `network.mode`.
    pub network: String,
    /// `reuse_inputs`: kind and value.
    pub reuse_inputs: Vec<(String, String)>,
    /// `limitations`.
    pub limitations: Vec<String>,
}

/// Where an output of a v1 record is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum V1Output {
    /// Nowhere: it was empty.
    #[default]
    Absent,
    /// In the record itself.
    Inline(String),
    /// In a file, from the record directory.
    File(RepoPath),
}
