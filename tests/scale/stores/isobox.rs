//! The Task Store, driven through its own interface by helpers.

use crate::helper::helper;
use crate::store::Kind;
use std::path::Path;
use std::process::Command;

/// The Task Store.
pub(crate) const ISOBOX: Kind = Kind {
    name: "isobox",
    writer: |directory, parts| {
        let mut writer = on(directory, "put");
        writer.args(parts);
        writer
    },
    list: |directory| on(directory, "list"),
    verify: |directory| on(directory, "verify"),
    compact: |directory| on(directory, "compact"),
};

/// Its row after compaction.
pub(crate) const COMPACTED: &str = "isobox, compacted";

/// A helper that works on the store in `directory`.
pub(crate) fn on(directory: &Path, what: &str) -> Command {
    let mut command = helper(what);
    command.arg(directory);
    command
}
