//! The Workspaces that were kept for Tasks of a store.

use crate::failure::Failure;
use crate::use_case::list;
use crate::use_case::select::Selected;
use isobox_domain::record::{TaskRecord, WorkspaceFate};
use isobox_domain::task_state::Standing;
use isobox_ports::{RecordLog, StoreError};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where the Workspace of a record was kept; `None` if it was not.
pub(crate) fn place(record: &TaskRecord) -> Option<PathBuf> {
    match &record.workspace {
        WorkspaceFate::Retained { host_path } => Some(Path::new(OsStr::from_bytes(host_path)).to_owned()),
        WorkspaceFate::NeverCreated | WorkspaceFate::Disposed => None,
    }
}

/// A record whose Workspace stands.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) selected: Selected,
    /// The Workspace.
    pub(crate) root: PathBuf,
    pub(crate) standing: Standing,
}

/// Hands every record whose Workspace still stands to `each`, with its place, newest first. What is damaged is handed over
/// as its error, and passed by.
pub(crate) fn each_standing(
    records: &dyn RecordLog,
    each: &mut dyn FnMut(Result<Kept, StoreError>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    list::list(&list::Ports { records }, list::Met::default(), &mut |listed| {
        let listed = match listed {
            Ok(listed) => listed,
            Err(error) => return each(Err(error)),
        };
        match place(&listed.record).filter(|root| is_directory(root)) {
            Some(root) => {
                let selected = Selected { digest: listed.digest, record: listed.record };
                each(Ok(Kept { selected, root, standing: listed.standing }))
            }
            None => Ok(()),
        }
    })
}

fn is_directory(host_path: &Path) -> bool {
    std::fs::symlink_metadata(host_path).is_ok_and(|found| found.is_dir())
}
