//! SQLite as a store of tasks, by `sqlite.py`.

use crate::store::Kind;
use isobox_tests::checkout;
use std::path::{Path, PathBuf};
use std::process::Command;

/// WAL, every transaction flushed, one a task; contents keyed by their hashes.
pub(crate) const SQLITE: Kind = Kind {
    name: "SQLite WAL",
    writer: |directory, parts| put(directory, "put", parts),
    list: |directory| on(directory, "list"),
    verify: |directory| on(directory, "verify"),
    compact: |directory| on(directory, "vacuum"),
};

/// The same with contents in the order in which they come: as good as SQLite can be at this.
pub(crate) const SQLITE_ROWID: Kind =
    Kind { name: "SQLite WAL, rowid", writer: |directory, parts| put(directory, "put-rowid", parts), ..SQLITE };

fn put(directory: &Path, what: &str, parts: &[PathBuf]) -> Command {
    let mut writer = on(directory, what);
    writer.args(parts);
    writer
}

fn on(directory: &Path, what: &str) -> Command {
    let mut command = Command::new("python3");
    command.arg(checkout().join("tests/scale/stores/sqlite.py")).arg(what).arg(directory.join("tasks.db"));
    command
}

/// Why it cannot be measured here, if so.
pub(crate) fn is_missing() -> Option<String> {
    let tried = Command::new("python3").args(["-c", "import ctypes, sqlite3; ctypes.CDLL('libzstd.so.1')"]).output();
    match tried {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("python3 lacks what it needs: {}", String::from_utf8_lossy(&output.stderr))),
        Err(error) => Some(format!("python3: {error}")),
    }
}
