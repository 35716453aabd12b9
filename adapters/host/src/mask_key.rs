//! The user's key under which masked secrets can be told equal, and nothing else.

use crate::directories::Directories;
use crate::private_file::{self, PrivateFileError, untrusted};
use crate::task_ids::random;
use isobox_domain::content::ContentId;
use std::fmt;
use std::path::Path;

/// Length of the key in bytes: what keyed BLAKE3 takes.
const LENGTH: usize = 32;

/// 32 random bytes that never leave this machine: `keys/mask.key` in the user's configuration, mode 0600.
///
/// Without it a digest in a record would let anybody try out likely secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct MaskKey([u8; LENGTH]);

impl MaskKey {
    /// Reads the user's key; makes it when there is none. Two processes that make it at once end with the same one.
    pub fn load_or_create(directories: &Directories) -> Result<Self, PrivateFileError> {
        let folder = directories.config()?.join("keys");
        let host_path = folder.join("mask.key");
        if let Some(key) = load(&host_path)? {
            return Ok(key);
        }
        Directories::create(&folder)?;
        private_file::create(&host_path, &random::<LENGTH>())?;
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

fn load(host_path: &Path) -> Result<Option<MaskKey>, PrivateFileError> {
    let Some(bytes) = private_file::load(host_path, LENGTH)? else { return Ok(None) };
    let wrong = |bytes: Vec<u8>| untrusted(host_path, format!("it has {} bytes, expected {LENGTH}", bytes.len()));
    Ok(Some(MaskKey(bytes.try_into().map_err(wrong)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::path::PathBuf;
    use tempfile::TempDir;

    struct Home(TempDir);

    impl Home {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn load(&self) -> Result<MaskKey, PrivateFileError> {
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
        private_file::create(&home.key(), &[1; LENGTH]).unwrap();
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
