//! Remembering across processes what works here, so that not every call of isobox has to try.

use crate::obstacles;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file that holds the circumstances under which something was tried last, and what came of it; nothing is believed from
/// it but that the same will come of it again. Every Stage looks at its own Sandbox all the same.
#[derive(Clone, Debug)]
pub(crate) struct Memory(PathBuf);

impl Memory {
    /// The memory of this name in a cache directory, which may not exist yet.
    pub(crate) fn within(cache_directory: &Path, name: &str) -> Self {
        Self(cache_directory.join(name))
    }

    /// What came of it, if these are the circumstances.
    pub(crate) fn recall(&self, circumstances: &str) -> Option<String> {
        let held = fs::read_to_string(&self.0).ok()?;
        held.strip_prefix(circumstances)?.strip_prefix('\n').map(str::to_owned)
    }

    /// How long ago it was tried; `None` if that is unknown.
    pub(crate) fn age(&self) -> Option<Duration> {
        self.0.metadata().ok()?.modified().ok()?.elapsed().ok()
    }

    /// Keeps the circumstances, and what came of it. What cannot be kept is tried again next time.
    pub(crate) fn keep(&self, circumstances: &str, outcome: &str) {
        self.write(&format!("{circumstances}\n{outcome}")).ok();
    }

    /// Forgets everything.
    pub(crate) fn forget(&self) {
        fs::remove_file(&self.0).ok();
    }

    fn write(&self, text: &str) -> io::Result<()> {
        if let Some(directory) = self.0.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        let draft = self.0.with_extension(std::process::id().to_string());
        let mut file = fs::File::options().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(text.as_bytes()).and_then(|()| fs::rename(&draft, &self.0)).inspect_err(|_| {
            fs::remove_file(&draft).ok();
        })
    }
}

/// Everything that decides whether a Sandbox comes up: this boot, this container, this user, this program and this
/// version, what this thread is kept from, and the settings that are known to matter.
pub(crate) fn circumstances(program: &Path) -> io::Result<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let namespaces = ["mnt", "user", "pid"].map(|name| fs::read_link(format!("/proc/self/ns/{name}")));
    let metadata = program.metadata()?;
    let program = (program, metadata.dev(), metadata.ino(), metadata.size(), metadata.ctime(), metadata.ctime_nsec());
    let user = (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw());
    let stage = std::env::current_exe()?;
    let version = env!("CARGO_PKG_VERSION");
    let kept_from = kept_from()?;
    Ok(format!(
        "{version} {boot} {namespaces:?} {user:?} {program:?} {stage:?} {kept_from} {:?}",
        obstacles::settings()
    ))
}

/// Capabilities and filters of this thread: one that is sandboxed itself finds out less than others of its user.
fn kept_from() -> io::Result<String> {
    let status = fs::read_to_string("/proc/thread-self/status")?;
    let tells = |line: &&str| ["Cap", "NoNewPrivs", "Seccomp"].iter().any(|name| line.starts_with(name));
    Ok(status.lines().filter(tells).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_circumstances_are_recognised() {
        let directory = tempfile::TempDir::new().expect("a temporary directory can be made");
        let memory = Memory::within(&directory.path().join("cache/isobox"), "x");
        assert_eq!(memory.recall("here"), None);
        memory.keep("here", "");
        let recalled = ["here", "there", "her"].map(|circumstances| memory.recall(circumstances));
        assert_eq!(recalled, [Some(String::new()), None, None]);
        memory.keep("there", "a reason\nof two lines");
        assert_eq!(memory.recall("there").as_deref(), Some("a reason\nof two lines"));
        assert!(memory.age().is_some());
        memory.forget();
        assert_eq!((memory.recall("there"), memory.age()), (None, None));
    }

    #[test]
    fn what_a_confined_thread_found_out_is_not_believed_by_others() {
        let here = || circumstances(Path::new("/bin/sh")).expect("there is a shell");
        let confined = std::thread::spawn(move || {
            nix::sys::prctl::set_no_new_privs().expect("it can be set");
            here()
        });
        assert_ne!(confined.join().expect("it ends"), here());
    }

    #[test]
    fn another_program_is_another_circumstance() {
        let here = circumstances(Path::new("/bin/sh")).expect("there is a shell");
        assert_eq!(circumstances(Path::new("/bin/sh")).ok(), Some(here.clone()));
        assert_ne!(circumstances(Path::new("/proc/self/exe")).ok(), Some(here));
    }
}
