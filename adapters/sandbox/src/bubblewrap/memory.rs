//! Remembering across processes that Sandboxes come up here, so that not every call of isobox has to try.

use super::program;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A file that holds the circumstances under which a Sandbox came up last; nothing else is remembered, and nothing is
/// believed from it but that the same will work again. Every Stage looks at its own Sandbox all the same.
#[derive(Clone, Debug)]
pub(super) struct Memory(PathBuf);

impl Memory {
    /// The memory in a cache directory, which may not exist yet.
    pub(super) fn within(cache_directory: &Path) -> Self {
        Self(cache_directory.join("bubblewrap"))
    }

    /// Whether these are the circumstances.
    pub(super) fn holds(&self, circumstances: &str) -> bool {
        fs::read(&self.0).is_ok_and(|held| held == circumstances.as_bytes())
    }

    /// Keeps the circumstances. What cannot be kept is tried again next time.
    pub(super) fn keep(&self, circumstances: &str) {
        self.write(circumstances).ok();
    }

    /// Forgets everything.
    pub(super) fn forget(&self) {
        fs::remove_file(&self.0).ok();
    }

    fn write(&self, circumstances: &str) -> io::Result<()> {
        if let Some(directory) = self.0.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        let draft = self.0.with_extension(std::process::id().to_string());
        let mut file = fs::File::options().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(circumstances.as_bytes()).and_then(|()| fs::rename(&draft, &self.0)).inspect_err(|_| {
            fs::remove_file(&draft).ok();
        })
    }
}

/// Everything that decides whether a Sandbox comes up: this boot, this container, this user, this program and this
/// version, and the settings that are known to matter.
pub(super) fn circumstances(program: &Path) -> io::Result<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let namespaces = ["mnt", "user", "pid"].map(|name| fs::read_link(format!("/proc/self/ns/{name}")));
    let metadata = program.metadata()?;
    let program = (program, metadata.dev(), metadata.ino(), metadata.size(), metadata.ctime(), metadata.ctime_nsec());
    let user = (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw());
    let stage = std::env::current_exe()?;
    let version = env!("CARGO_PKG_VERSION");
    Ok(format!("{version} {boot} {namespaces:?} {user:?} {program:?} {stage:?} {:?}", program::settings()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_circumstances_are_recognised() {
        let directory = tempfile::TempDir::new().expect("a temporary directory can be made");
        let memory = Memory::within(&directory.path().join("cache/isobox"));
        assert!(!memory.holds("here"));
        memory.keep("here");
        assert!(memory.holds("here") && !memory.holds("there") && !memory.holds("her"));
        memory.keep("there");
        assert!(memory.holds("there"));
        memory.forget();
        assert!(!memory.holds("there"));
    }

    #[test]
    fn another_program_is_another_circumstance() {
        let here = circumstances(Path::new("/bin/sh")).expect("there is a shell");
        assert_eq!(circumstances(Path::new("/bin/sh")).ok(), Some(here.clone()));
        assert_ne!(circumstances(Path::new("/proc/self/exe")).ok(), Some(here));
    }
}
