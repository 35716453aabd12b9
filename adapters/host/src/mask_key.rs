//! The user's key under which masked secrets can be told equal, and nothing else.

use crate::directories::{Directories, DirectoriesError};
use crate::task_ids::random;
use isobox_domain::content::ContentId;
use isobox_domain::escape::Escaped;
use nix::fcntl::OFlag;
use nix::unistd::geteuid;
use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Length of the key in bytes: what keyed BLAKE3 takes.
const LENGTH: usize = 32;

/// The key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MaskKeyError {
    /// Its directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoriesError),
    /// What is there is no private key.
    #[error("{host_path} is not a key that isobox trusts: {reason}")]
    Untrusted {
        /// The file, escaped for people.
        host_path: String,
        /// Why not.
        reason: String,
    },
    /// The system refused.
    #[error("{operation} {host_path}")]
    Io {
        /// What was being done.
        operation: &'static str,
        /// The file, escaped for people.
        host_path: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// 32 random bytes that never leave this machine: `keys/mask.key` in the user's configuration, mode 0600.
///
/// Without it a digest in a record would let anybody try out likely secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct MaskKey([u8; LENGTH]);

impl MaskKey {
    /// Reads the user's key; makes it when there is none. Two processes that make it at once end with the same one.
    pub fn load_or_create(directories: &Directories) -> Result<Self, MaskKeyError> {
        let folder = directories.config()?.join("keys");
        let host_path = folder.join("mask.key");
        if let Some(key) = load(&host_path)? {
            return Ok(key);
        }
        Directories::create(&folder)?;
        create(&folder, &host_path)?;
        load(&host_path)?.ok_or_else(|| untrusted(&host_path, "it went away while it was being made".to_owned()))
    }

    /// The digest of `secret` under this key.
    pub fn digest(&self, secret: &[u8]) -> ContentId {
        ContentId::new(*blake3::keyed_hash(&self.0, secret).as_bytes())
    }
}

impl fmt::Debug for MaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MaskKey(…)")
    }
}

fn load(host_path: &Path) -> Result<Option<MaskKey>, MaskKeyError> {
    // O_NONBLOCK: a FIFO in the place of the key must not block.
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = match OpenOptions::new().read(true).custom_flags(flags.bits()).open(host_path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(nix::libc::ELOOP) => {
            return Err(untrusted(host_path, "it is a symbolic link".to_owned()));
        }
        Err(source) => return Err(io_error("open", host_path, source)),
    };
    let found = file.metadata().map_err(|source| io_error("look at", host_path, source))?;
    if let Some(reason) = distrust(&found) {
        return Err(untrusted(host_path, reason));
    }
    read(file).map(Some).map_err(|source| io_error("read", host_path, source))
}

fn distrust(found: &Metadata) -> Option<String> {
    let user = geteuid().as_raw();
    if !found.is_file() {
        return Some("it is not a regular file".to_owned());
    }
    if found.uid() != user {
        return Some(format!("it belongs to user {}, and this is user {user}", found.uid()));
    }
    if found.mode() & 0o077 != 0 {
        return Some(format!("others can get at it (mode {:04o}, expected 0600)", found.mode() & 0o7777));
    }
    let length = found.len();
    (length != LENGTH as u64).then(|| format!("it has {length} bytes, expected {LENGTH}"))
}

fn read(mut file: File) -> io::Result<MaskKey> {
    let mut key = [0; LENGTH];
    file.read_exact(&mut key)?;
    Ok(MaskKey(key))
}

// Whole and on disk before it has its name: a record must not refer to a key that a crash takes away.
fn create(folder: &Path, host_path: &Path) -> Result<(), MaskKeyError> {
    let io = |operation| move |source| io_error(operation, host_path, source);
    let mut file = tempfile::Builder::new().prefix(".mask.key-").tempfile_in(folder).map_err(io("create"))?;
    file.write_all(&random::<LENGTH>()).map_err(io("write"))?;
    file.as_file().sync_all().map_err(io("flush"))?;
    match file.persist_noclobber(host_path) {
        Ok(_) => File::open(folder).and_then(|folder| folder.sync_all()).map_err(io("flush the directory of")),
        Err(lost) if lost.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(failed) => Err(io_error("create", host_path, failed.error)),
    }
}

fn untrusted(host_path: &Path, reason: String) -> MaskKeyError {
    MaskKeyError::Untrusted { host_path: Escaped::path(host_path).to_string(), reason }
}

fn io_error(operation: &'static str, host_path: &Path, source: io::Error) -> MaskKeyError {
    MaskKeyError::Io { operation, host_path: Escaped::path(host_path).to_string(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;
    use tempfile::TempDir;

    struct Home(TempDir);

    impl Home {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn load(&self) -> Result<MaskKey, MaskKeyError> {
            MaskKey::load_or_create(&Directories::from_variables(|name| (name == "HOME").then(|| self.0.path().into())))
        }

        fn key(&self) -> PathBuf {
            self.0.path().join(".config/isobox/keys/mask.key")
        }
    }

    #[test]
    fn the_key_is_made_once_and_private() {
        let home = Home::new();
        let key = home.load().unwrap();
        assert_eq!(home.load().unwrap(), key);
        assert_eq!(fs::metadata(home.key()).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(fs::metadata(home.key().parent().unwrap()).unwrap().mode() & 0o7777, 0o700);
        assert_eq!(fs::read_dir(home.key().parent().unwrap()).unwrap().count(), 1);
        assert_ne!(key, Home::new().load().unwrap());
        assert_eq!(format!("{key:?}"), "MaskKey(…)");
    }

    #[test]
    fn processes_that_make_the_key_at_once_end_with_the_same_one() {
        let home = Home::new();
        let keys = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| home.load().unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
    }

    #[test]
    fn a_key_that_another_process_made_first_is_not_replaced() {
        let home = Home::new();
        let key = home.load().unwrap();
        let folder = home.key().parent().unwrap().to_owned();
        create(&folder, &home.key()).unwrap();
        assert_eq!(home.load().unwrap(), key);
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
    }

    #[test]
    fn a_digest_depends_on_the_key_and_the_secret_alone() {
        let (one, other) = (MaskKey([1; LENGTH]), MaskKey([2; LENGTH]));
        assert_eq!(one.digest(b"hunter2"), one.digest(b"hunter2"));
        assert_ne!(one.digest(b"hunter2"), other.digest(b"hunter2"));
        assert_ne!(one.digest(b"hunter2"), one.digest(b"hunter3"));
        assert_ne!(one.digest(b"hunter2"), ContentId::new(*blake3::hash(b"hunter2").as_bytes()));
    }

    #[test]
    fn a_key_that_others_could_know_or_choose_is_refused() {
        type Spoil = fn(&Path);
        let spoil: [(&str, Spoil); 5] = [
            ("others can get at it (mode 0640, expected 0600)", |key| {
                fs::set_permissions(key, Permissions::from_mode(0o640)).unwrap();
            }),
            ("it has 31 bytes, expected 32", |key| fs::write(key, [7; 31]).unwrap()),
            ("it is a symbolic link", |key| {
                fs::rename(key, key.with_extension("moved")).unwrap();
                symlink("mask.moved", key).unwrap();
            }),
            ("it is not a regular file", |key| {
                fs::remove_file(key).unwrap();
                nix::unistd::mkfifo(key, nix::sys::stat::Mode::S_IRUSR).unwrap();
            }),
            ("it is not a regular file", |key| {
                fs::remove_file(key).unwrap();
                fs::create_dir(key).unwrap();
            }),
        ];
        for (reason, spoil) in spoil {
            let home = Home::new();
            home.load().unwrap();
            spoil(&home.key());
            let refused = home.load().unwrap_err().to_string();
            assert!(refused.ends_with(reason), "{refused}");
        }
    }
}
