//! The keys that sign logs, and the newest checkpoint of each: private files in the user's configuration, outside of any store.

use crate::directories::Directories;
use crate::private_file::{self, Made, PrivateFileError, io_error, untrusted};
use crate::task_ids::random;
use isobox_ports::{AuditKeyError, AuditKeys, KeyKept};
use std::io;
use std::path::PathBuf;

/// Directory of keys in the user's configuration.
const FOLDER: &str = "keys";
const PREFIX: &str = "audit-";
const SECRET: &str = ".key";
const CHECKPOINT: &str = ".checkpoint";
/// Longest key in bytes: a name of 255, and some hundred around it.
const LONGEST_KEY: usize = 1 << 10;
/// Longest checkpoint in bytes.
const LONGEST_NOTE: usize = 64 << 10;

/// Keys in `keys/audit-LOG.key` of the user's configuration, mode 0600.
#[derive(Clone, Debug)]
pub struct FsAuditKeys {
    directories: Directories,
}

impl FsAuditKeys {
    /// Of the user whose `directories` are given. Nothing is looked at or made yet.
    pub const fn new(directories: Directories) -> Self {
        Self { directories }
    }

    fn file(&self, log: &str, ending: &str) -> Result<PathBuf, PrivateFileError> {
        Ok(self.directories.config()?.join(FOLDER).join(format!("{PREFIX}{log}{ending}")))
    }

    fn logs_with_keys(&self) -> Result<Vec<String>, PrivateFileError> {
        let folder = self.directories.config()?.join(FOLDER);
        let failed = |source| io_error("list", &folder, source);
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let mut logs = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            let log = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SECRET));
            logs.extend(log.map(str::to_owned));
        }
        logs.sort_unstable();
        Ok(logs)
    }
}

impl AuditKeys for FsAuditKeys {
    fn logs(&self) -> Result<Vec<String>, AuditKeyError> {
        self.logs_with_keys().map_err(unusable)
    }

    fn load(&self, log: &str) -> Result<Option<String>, AuditKeyError> {
        let load = || {
            let file = self.file(log, SECRET)?;
            let Some(bytes) = private_file::load(&file, LONGEST_KEY)? else { return Ok(None) };
            let text = String::from_utf8(bytes).ok().and_then(|text| text.strip_suffix('\n').map(str::to_owned));
            text.map(Some).ok_or_else(|| untrusted(&file, "it is not one line of text".to_owned()))
        };
        load().map_err(unusable)
    }

    fn keep(&self, log: &str, secret: &str) -> Result<KeyKept, AuditKeyError> {
        let made =
            self.file(log, SECRET).and_then(|file| private_file::create(&file, format!("{secret}\n").as_bytes()));
        Ok(match made.map_err(unusable)? {
            Made::Now => KeyKept::Now,
            Made::Before => KeyKept::Before,
        })
    }

    fn newest(&self, log: &str) -> Result<Option<Vec<u8>>, AuditKeyError> {
        self.file(log, CHECKPOINT).and_then(|file| private_file::load(&file, LONGEST_NOTE)).map_err(unusable)
    }

    fn keep_newest(&self, log: &str, note: &[u8]) -> Result<(), AuditKeyError> {
        self.file(log, CHECKPOINT).and_then(|file| private_file::replace(&file, note)).map_err(unusable)
    }

    fn seed(&self) -> [u8; 32] {
        random()
    }
}

fn unusable(error: PrivateFileError) -> AuditKeyError {
    AuditKeyError(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::Path;

    fn keys(home: &Path) -> FsAuditKeys {
        FsAuditKeys::new(Directories::from_variables(|name| (name == "HOME").then(|| home.into())))
    }

    #[test]
    fn a_key_is_private_and_never_replaced() {
        let home = tempfile::tempdir().unwrap();
        let keys = keys(home.path());
        assert_eq!((keys.load("01").unwrap(), keys.logs().unwrap()), (None, vec![]));
        assert_eq!(keys.keep("01", "a secret").unwrap(), KeyKept::Now);
        assert_eq!(keys.keep("01", "another").unwrap(), KeyKept::Before);
        assert_eq!(keys.load("01").unwrap().as_deref(), Some("a secret"));
        let folder = home.path().join(".config/isobox/keys");
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o7777, 0o700);
        assert_eq!(fs::metadata(folder.join("audit-01.key")).unwrap().mode() & 0o7777, 0o600);
        assert_eq!((keys.logs().unwrap(), fs::read_dir(folder).unwrap().count()), (vec!["01".to_owned()], 1));
    }

    #[test]
    fn the_newest_checkpoint_is_replaced_whole() {
        let home = tempfile::tempdir().unwrap();
        let keys = keys(home.path());
        assert_eq!(keys.newest("01").unwrap(), None);
        for note in ["one", "two"] {
            keys.keep_newest("01", note.as_bytes()).unwrap();
            assert_eq!(keys.newest("01").unwrap().as_deref(), Some(note.as_bytes()));
        }
        assert_eq!((keys.newest("02").unwrap(), keys.logs().unwrap()), (None, vec![]));
    }

    #[test]
    fn a_key_that_others_could_have_read_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let keys = keys(home.path());
        keys.keep("01", "a secret").unwrap();
        let file = home.path().join(".config/isobox/keys/audit-01.key");
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        let refused = keys.load("01").unwrap_err().to_string();
        assert!(refused.contains("others can get at it (mode 0644"), "{refused}");
    }
}
