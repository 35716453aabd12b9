//! Things of the host that no workload may reach.

use isobox_tests::Case;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// What the files hold.
pub(crate) const SECRET: &str = "host-secret-17";

/// A file of the user's that lies beside the repository.
pub(crate) fn file(case: &Case, name: &str) -> PathBuf {
    let path = case.project.home().join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    fs::write(&path, SECRET).expect("write");
    for below in path.ancestors().take_while(|above| *above != case.project.home()) {
        give(case, below);
    }
    path
}

fn give(case: &Case, path: &Path) {
    let owner = fs::metadata(case.project.home()).expect("metadata");
    chown(path, Some(std::os::unix::fs::MetadataExt::uid(&owner)), Some(std::os::unix::fs::MetadataExt::gid(&owner)))
        .expect("chown");
}

/// What changed about a file that [`file`] made.
pub(crate) fn damage(path: &Path) -> Option<String> {
    let content = fs::read(path).ok();
    let mode = fs::metadata(path).map(|metadata| metadata.permissions().mode() & 0o7777).ok();
    match (content, mode) {
        (None, _) => Some("a file of the host was taken away".to_owned()),
        (Some(content), _) if content != SECRET.as_bytes() => Some("a file of the host was written".to_owned()),
        (Some(_), Some(mode)) if mode != 0o644 && mode != 0o664 => {
            Some("the mode of a file of the host was changed".to_owned())
        }
        _ => None,
    }
}

/// A process of the user's on the host, with a secret in its environment. It ends with this value.
pub(crate) struct Process(Child);

impl Process {
    /// Starts it.
    pub(crate) fn of(case: &Case) -> Self {
        let mut command = case.project.command("/bin/sleep");
        command.arg("31540").env("CANARY", SECRET).stdin(Stdio::null()).stdout(Stdio::null());
        Self(command.spawn().expect("start a process"))
    }

    /// Its PID on the host.
    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Whether somebody ended it.
    pub(crate) fn is_dead(&mut self) -> bool {
        self.0.try_wait().expect("wait").is_some()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
