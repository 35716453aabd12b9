//! A throw-away Git repository with a HOME of its own, in which a test runs `isobox` as root or as an ordinary user.

use crate::ignored;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Who runs `isobox` in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// Whoever runs the tests.
    Current,
    /// An ordinary user, 65533, to which a test that runs as root steps down.
    Ordinary,
}

/// Uid and gid of [`User::Ordinary`]: high, and not `nobody`, whom some programs treat apart.
const ORDINARY_ID: u32 = 65533;

/// What a command left behind.
#[derive(Debug)]
pub struct Outcome {
    /// Its exit code; 128 + n if signal n killed it.
    pub code: i32,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// A repository with one commit, in a directory that goes away with it.
#[derive(Debug)]
pub struct Project {
    directory: TempDir,
    user: User,
}

impl Project {
    /// A repository with the files `README.md`, `src/main.rs` and `run.sh`, not yet initialised for isobox.
    pub fn bare(user: User) -> Self {
        Self::below(&std::env::temp_dir(), user)
    }

    /// The same in a directory whose path has the same length on every machine: what is printed is broken at blanks where
    /// a terminal ends.
    pub fn of_fixed_length(user: User) -> Self {
        Self::below(Path::new("/tmp"), user)
    }

    fn below(parent: &Path, user: User) -> Self {
        let directory =
            tempfile::Builder::new().prefix("isobox-test-").tempdir_in(parent).expect("a temporary directory");
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("open up the directory");
        let project = Self { directory, user };
        for folder in ["home", "repository", "repository/src", "scratch"] {
            fs::create_dir(project.path(folder)).expect("a folder of the project");
        }
        project.write("README.md", "hello\n");
        project.write("src/main.rs", "fn main() {}\n");
        project.write("run.sh", "#!/bin/sh\necho ran\n");
        fs::set_permissions(project.repository().join("run.sh"), fs::Permissions::from_mode(0o755)).expect("chmod");
        project.give_to_user();
        project.git(&["init", "-q", "-b", "main"]);
        project.git(&["config", "user.name", "Ana"]);
        project.git(&["config", "user.email", "ana@example.com"]);
        project.commit_all("first");
        project
    }

    /// The same after `isobox init`, with what that wrote committed.
    pub fn initialised(user: User) -> Self {
        Self::initialised_below(&std::env::temp_dir(), user)
    }

    /// The same in a directory below `parent`, which must be there.
    pub fn initialised_below(parent: &Path, user: User) -> Self {
        Self::below(parent, user).set_up()
    }

    /// [`Project::of_fixed_length`] after `isobox init`, with what that wrote committed.
    pub fn initialised_of_fixed_length(user: User) -> Self {
        Self::of_fixed_length(user).set_up()
    }

    fn set_up(self) -> Self {
        let init = self.isobox(&["init"]);
        assert_eq!(init.code, 0, "{init:?}");
        self.commit_all("Set up isobox");
        self
    }

    /// Who runs `isobox` in it.
    pub const fn user(&self) -> User {
        self.user
    }

    /// The root of the repository.
    pub fn repository(&self) -> PathBuf {
        self.path("repository")
    }

    /// The HOME of the user.
    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// A directory outside the repository that the user may write to.
    pub fn scratch(&self) -> PathBuf {
        self.path("scratch")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file of the repository, as its owner.
    pub fn write(&self, path: &str, content: &str) {
        let host_path = self.repository().join(path);
        fs::create_dir_all(host_path.parent().expect("a parent")).expect("parent directories");
        fs::write(&host_path, content).expect("write a file");
        self.give(&host_path);
    }

    /// Reads a file of the repository.
    pub fn read(&self, path: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.repository().join(path)).expect("read a file")).into_owned()
    }

    /// Writes the policy of the project and trusts it, as a user who looked at it does.
    pub fn write_policy(&self, text: &str) {
        self.write(".isobox/config.yaml", text);
        let trusted = self.isobox(&["policy", "trust"]);
        assert_eq!(trusted.code, 0, "{trusted:?}");
    }

    /// Commits everything in the repository.
    pub fn commit_all(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    /// Runs git in the repository and returns what it printed.
    pub fn git(&self, arguments: &[&str]) -> String {
        let output = self.command("git").args(arguments).output().expect("run git");
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs `isobox` in the repository with nothing on standard input.
    pub fn isobox<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Outcome {
        outcome(self.isobox_command(arguments).output().expect("run isobox"))
    }

    /// Runs `isobox` in the repository as root that the user became by sudo(8). The tests must run as root.
    pub fn isobox_by_sudo<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Outcome {
        let mut command = Command::new(isobox_program());
        self.equip(&mut command);
        let id = ORDINARY_ID.to_string();
        command.env("HOME", self.path("root")).env("SUDO_UID", &id).env("SUDO_GID", &id);
        outcome(command.args(arguments).stdin(Stdio::null()).output().expect("run isobox"))
    }

    /// `isobox` with `arguments`, to be run in the repository; streams are the caller's to set.
    pub fn isobox_command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = self.command(isobox_program());
        command.args(arguments).stdin(Stdio::null());
        command
    }

    /// Any program, to be run in the repository as the user, in an environment of its own.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = match self.steps_down() {
            false => Command::new(program),
            true => {
                let mut command = Command::new("/usr/bin/setpriv");
                let id = ORDINARY_ID.to_string();
                command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--"]).arg(program);
                command
            }
        };
        self.equip(&mut command);
        command
    }

    fn equip(&self, command: &mut Command) {
        command.current_dir(self.repository()).env_clear();
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("HOME", self.home()).env("LANG", "C.UTF-8");
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    }

    /// Whether Workspaces can be overlays here; if not, `case` is said to be ignored.
    pub fn has_overlays(&self, case: &str) -> bool {
        let tried = self.isobox(&["tool", "-q", "--workspace", "overlay", "--", "true"]);
        if tried.code != 0 && tried.stderr.contains("the workspace cannot be an overlay here") {
            ignored(case, &tried.stderr);
            return false;
        }
        assert_eq!(tried.code, 0, "{tried:?}");
        true
    }

    /// The directories of Workspaces that are still there.
    pub fn workspaces(&self) -> Vec<PathBuf> {
        let root = self.home().join(".local/state/isobox/workspaces");
        // What a killed trial of an overlay leaves beside them, and empty places for later ones.
        let is_none = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
        fs::read_dir(root)
            .map(|entries| entries.map(|entry| entry.expect("an entry").path()).filter(|path| !is_none(path)).collect())
            .unwrap_or_default()
    }

    fn steps_down(&self) -> bool {
        self.user == User::Ordinary && nix::unistd::geteuid().is_root()
    }

    fn give_to_user(&self) {
        for folder in ["home", "repository", "repository/src", "scratch"] {
            self.give(&self.path(folder));
        }
        self.give(&self.repository().join("run.sh"));
    }

    fn give(&self, host_path: &Path) {
        if self.steps_down() {
            chown(host_path, Some(ORDINARY_ID), Some(ORDINARY_ID)).expect("chown");
        }
    }
}

/// What `output` says, as text.
pub fn outcome(output: Output) -> Outcome {
    use std::os::unix::process::ExitStatusExt;
    let code = output.status.code().or_else(|| output.status.signal().map(|signal| 128 + signal));
    Outcome {
        code: code.expect("an exit code or a signal"),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The program under test: `ISOBOX_BIN`, or the one that was built beside this test.
pub fn isobox_program() -> PathBuf {
    if let Some(program) = std::env::var_os("ISOBOX_BIN") {
        return program.into();
    }
    let test = std::env::current_exe().expect("the test's own path");
    let program = test.ancestors().nth(2).expect("a target directory").join("isobox");
    assert!(program.exists(), "{} is not built: run `cargo build` first", program.display());
    program
}
