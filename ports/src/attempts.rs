//! Attempts in progress: what must survive a killed supervisor before anything is published.

use crate::{CaptureSink, StoreError};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::record::TaskRecord;
use std::io::Write;

/// What a staged object is, so that a later start finds it again by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Standard output of the workload.
    Stdout,
    /// Standard error of the workload.
    Stderr,
    /// The timeline of both.
    Timeline,
    /// The rendered patch.
    Patch,
    /// The Workspace's own Git objects.
    WorkspaceGit,
    /// The `record.json` that an imported record is made from.
    V1Record,
    /// The archive of the files that it names.
    V1Files,
    /// The content of a changed file.
    File,
}

/// Attempts that are running, and those that a killed supervisor left.
///
/// - An attempt that was begun is found by `abandoned` after its process is gone without publishing or discarding it,
///   with its draft, its notes and what was written to its outputs, but not while its process lives.
/// - Two processes never both receive the same abandoned attempt.
/// - Nothing staged is visible through [`ObjectStore`](crate::ObjectStore) before its record is published.
/// - Beginning flushes nothing to disk.
pub trait Attempts: Send + Sync {
    /// Proves that the store can be written and has `room_bytes` to spare, or says why not.
    fn probe(&self, room_bytes: u64) -> Result<(), StoreError>;

    /// Begins an attempt. `draft` is the record as it would be published, with outcome `interruption`, if isobox
    /// were killed right away.
    fn begin(&self, draft: &TaskRecord) -> Result<Box<dyn Attempt>, StoreError>;

    /// The attempts that nobody runs any more. The caller owns them now.
    fn abandoned(&self) -> Result<Vec<Box<dyn Attempt>>, StoreError>;
}

/// What became of a record that somebody was killed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Publishing {
    /// It is durable with everything that belongs to it.
    Done(ContentId),
    /// It is not, or not whole.
    Undone,
}

/// One attempt in progress. Dropping it without publishing leaves it to be found as abandoned.
pub trait Attempt: Send + Sync {
    /// The record as it would be published if isobox were killed now.
    fn draft(&self) -> &TaskRecord;

    /// Replaces the draft. Survives a kill, but not necessarily a power cut.
    fn update(&mut self, draft: &TaskRecord) -> Result<(), StoreError>;

    /// Keeps `state` under `name` (lower-case letters and `-`) for whoever finds the attempt abandoned.
    fn note(&mut self, name: &str, state: &[u8]) -> Result<(), StoreError>;

    /// What was noted under `name`.
    fn noted(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// For an abandoned attempt: whether its dead owner had begun to publish it, and what came of that.
    fn publishing(&self) -> Option<Publishing>;

    /// Sets room aside, where the store can, so that a disk that fills from now on still takes the record.
    fn set_room_aside(&self) {}

    /// Starts to stage an object. At most one each of every role but `File`.
    fn stage(&self, role: Role) -> Result<Box<dyn ObjectWriter>, StoreError>;

    /// For an abandoned attempt: finishes staging what its dead owner had written for `role`, up to its last whole piece.
    fn salvage(&self, role: Role) -> Result<Option<ContentRef>, StoreError>;

    /// A sink that stages a Change Set with its files and patch. At most one of an attempt.
    fn capture_sink(&self) -> Result<Box<dyn CaptureSink>, StoreError>;

    /// A sink that stages the Change Set of a Dirty Source Snapshot. At most one of an attempt.
    fn snapshot_sink(&self) -> Result<Box<dyn CaptureSink>, StoreError>;

    /// A sink that stages the Change Set of copies of host files. At most one of an attempt.
    fn copies_sink(&self) -> Result<Box<dyn CaptureSink>, StoreError>;

    /// Forgets the attempt and everything staged in it.
    fn discard(self: Box<Self>) -> Result<(), StoreError>;

    /// For the store's own adapter: itself, to be recognised when it is published.
    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any>;
}

/// An object that is being staged. Written bytes survive a kill of the process in pieces of at most 1 MiB.
pub trait ObjectWriter: Write + Send {
    /// Ends the object: its identity and length.
    fn finish(self: Box<Self>) -> Result<ContentRef, StoreError>;
}
