//! The room of a Workspace in memory, which limits what is written to it.

use isobox_domain::limit::{Limit, Limits};
use nix::sys::statvfs::{Statvfs, fstatvfs};
use std::os::fd::AsFd;

/// Whether the Workspace can lie in memory, of the size that is asked for. `overlay` tries whether any can.
pub(crate) fn in_memory<T>(asked: &Limits, overlay: impl FnOnce() -> Result<T, String>) -> Result<(), String> {
    asked.of(Limit::Disk).map_or(Ok(()), may_hold)?;
    overlay().map(drop).map_err(|why| format!("no overlay can be in memory here: {why}"))
}

/// Whether a file system in memory of so many bytes does not take more than half of what the machine has; the error says
/// that it does.
fn may_hold(bytes: u64) -> Result<(), String> {
    let half = memory_of_machine().map_or(u64::MAX, |memory| memory / 2);
    if bytes <= half {
        return Ok(());
    }
    let unit = Limit::Disk.unit();
    let shown = unit.shown(half >> 20 << 20);
    Err(format!("it is more than half of the memory of this machine, {shown}, in which the workspace would lie"))
}

/// `MemTotal` of proc_meminfo(5), in bytes.
pub(super) fn memory_of_machine() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// What is used and what is left of a file system in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// Bytes that files may take.
    pub(super) bytes: u64,
    pub(super) used_bytes: u64,
    /// Files that there may be.
    pub(super) inodes: u64,
    pub(super) used_inodes: u64,
}

impl Room {
    /// Looks at the file system of an open directory.
    pub(super) fn look(directory: &impl AsFd) -> Option<Self> {
        fstatvfs(directory).ok().map(|found| Self::of(&found))
    }

    // The types differ between architectures and C libraries.
    #[allow(clippy::useless_conversion, reason = "fsblkcnt_t is 32 bits wide on some targets")]
    fn of(found: &Statvfs) -> Self {
        let block = u64::from(found.fragment_size());
        let (blocks, free) = (u64::from(found.blocks()), u64::from(found.blocks_free()));
        let (inodes, free_inodes) = (u64::from(found.files()), u64::from(found.files_free()));
        Self {
            bytes: blocks.saturating_mul(block),
            used_bytes: blocks.saturating_sub(free).saturating_mul(block),
            inodes,
            used_inodes: inodes.saturating_sub(free_inodes),
        }
    }

    /// Whether nothing more can be written.
    pub(super) const fn is_full(&self) -> bool {
        self.used_bytes >= self.bytes
    }

    /// Whether no more file can be made.
    pub(super) const fn has_no_inode(&self) -> bool {
        self.used_inodes >= self.inodes
    }
}
