//! The probe of a repository keeps what every probe keeps.

use isobox_git::RepositoryProbe;
use isobox_ports::contract::host_probe::{self, Looked};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use tempfile::TempDir;

fn main() -> ExitCode {
    let mut tests = host_probe::cases("RepositoryProbe of a repository", repository);
    tests.extend(host_probe::cases("RepositoryProbe of one without a commit", || looked(initialised())));
    tests.extend(host_probe::cases("RepositoryProbe of nothing", || looked(tempfile::tempdir().expect("a directory"))));
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), tests).exit_code()
}

fn git(directory: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.arg("-C").arg(directory).args(["-c", "user.name=Ana", "-c", "user.email=ana@example.com"]).args(arguments);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    assert!(command.status().expect("run git").success(), "{arguments:?}");
}

fn initialised() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    git(directory.path(), &["init", "-q", "-b", "main"]);
    directory
}

/// With an index that Git would refresh and a monitor that it would start.
fn repository() -> Looked {
    let directory = initialised();
    fs::write(directory.path().join("file"), "x").expect("write");
    git(directory.path(), &["add", "-A"]);
    git(directory.path(), &["commit", "-q", "-m", "first"]);
    git(directory.path(), &["config", "core.fsmonitor", "touch .git/monitor-ran; false"]);
    let file = fs::File::options().append(true).open(directory.path().join("file")).expect("open");
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("set its time");
    fs::write(directory.path().join("untracked"), "").expect("write");
    looked(directory)
}

fn looked(directory: TempDir) -> Looked {
    let probe = Box::new(RepositoryProbe::new(directory.path()));
    Looked { probe, watched: vec![directory.path().to_owned()], kept: Box::new(directory) }
}
