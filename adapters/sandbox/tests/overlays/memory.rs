//! What is written in memory.

use crate::fill;
use crate::stand::{Heard, Stand};
use isobox_ports::{MemorySize, Overlay, WorkspaceMount};
use libtest_mimic::Failed;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Puts what `stand` writes into memory.
pub(crate) fn in_memory(stand: &mut Stand<'_>, bytes: u64, inodes: u64) -> Result<(), Failed> {
    let overlay = Overlay { memory: Some(MemorySize { bytes, inodes }), ..stand.overlay().clone() };
    fs::remove_dir(overlay.upper())?;
    fs::remove_dir(overlay.work())?;
    stand.mount = WorkspaceMount::Overlay(overlay);
    Ok(())
}

pub(crate) fn what_was_written_in_memory_is_read_afterwards(stand: &mut Stand<'_>) -> Result<(), Failed> {
    fill(stand)?;
    in_memory(stand, 1 << 20, 100)?;
    let mut sandbox =
        stand.launch(&["sh", "-c", "cat file && echo above > file && rm -r directory && mkdir directory"])?;
    sandbox.supervise(&mut Heard::default())?;
    let WorkspaceMount::Overlay(overlay) = sandbox.workspace() else { return Err("it is no overlay".into()) };
    assert_eq!(overlay.lowers, stand.overlay().lowers);
    assert_eq!(fs::read_to_string(overlay.upper().join("file"))?, "above\n");
    assert_eq!(overlay.place.metadata()?.mode() & 0o777, 0o700);
    let kept: Vec<_> = fs::read_dir(overlay.upper())?.flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert_eq!(fs::read_dir(&stand.overlay().place)?.count(), 0);
    drop(sandbox);
    assert!(!overlay.upper().join("file").exists());
    Ok(())
}

pub(crate) fn memory_holds_as_many_bytes_as_it_was_given(stand: &mut Stand<'_>) -> Result<(), Failed> {
    in_memory(stand, 1 << 20, 100)?;
    let script =
        "head -c 600000 /dev/zero > one && echo fits; (head -c 600000 /dev/zero > two) 2>&1 | grep -o 'No space.*'";
    assert_eq!(stand.shell(script)?, "fits\nNo space left on device\n");
    Ok(())
}

pub(crate) fn memory_holds_as_many_files_as_it_was_given(stand: &mut Stand<'_>) -> Result<(), Failed> {
    in_memory(stand, 1 << 20, 100)?;
    let made: u32 =
        stand.shell("for name in $(seq 200); do mkdir $name 2> /dev/null; done; ls | wc -l")?.trim().parse()?;
    assert!((100..120).contains(&made), "{made}");
    Ok(())
}
