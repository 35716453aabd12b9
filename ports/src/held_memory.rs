//! Finding what a workload wrote in memory after isobox was killed.

use crate::{Cause, WorkspaceMount};
use std::os::fd::OwnedFd;

/// What was written in memory, found again.
#[derive(Debug)]
pub struct FoundAgain {
    /// Where it can be read, by this process and while this value lives.
    pub mount: WorkspaceMount,
    /// What holds it.
    pub written: OwnedFd,
}

/// What workloads of killed starts wrote in memory.
///
/// - What a workload wrote is found until its Workspace is disposed, whoever was killed.
/// - It is found only when no process of the workload is left; until then the error is [`crate::NotNow`].
/// - Where nothing is held, or nothing was in memory, there is none.
pub trait HeldMemory {
    /// What was written in memory to a Workspace that is mounted in this way.
    fn find(&self, mount: &WorkspaceMount) -> Result<Option<FoundAgain>, Cause>;
}
