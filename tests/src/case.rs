//! One combination of Runtime Backend and user, on which a promise is tested from outside.

use crate::{Machine, Outcome, Project, User, outcome};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The backends that a promise is tested on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Contains the workload with a program of its own.
    Bubblewrap,
    /// Contains the workload by itself: with namespaces on a whole machine.
    Landlock,
    /// Contains nothing: a test looks that the record says so.
    Host,
}

impl Backend {
    /// The value of `--backend`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
            Self::Host => "host",
        }
    }
}

/// A project of one user, whose workloads run on one backend.
#[derive(Debug)]
pub struct Case {
    /// The project, initialised.
    pub project: Project,
    /// The backend.
    pub backend: Backend,
    machine: Machine,
}

impl Case {
    /// A fresh project of `user`.
    pub fn new(user: User, backend: Backend) -> Self {
        Self::on(user, backend, Machine::Whole)
    }

    /// A fresh project of `user` on a machine that lacks something.
    pub fn on(user: User, backend: Backend, machine: Machine) -> Self {
        Self { project: Project::initialised(user), backend, machine }
    }

    /// A fresh project of the same user, on the same backend.
    pub fn another(&self) -> Self {
        Self::on(self.project.user(), self.backend, self.machine)
    }

    /// Runs a shell script as the workload of `isobox run`.
    pub fn run(&self, script: &str) -> Outcome {
        self.run_command(&["sh", "-c", script])
    }

    /// Runs a command as the workload of `isobox run`.
    pub fn run_command(&self, command: &[&str]) -> Outcome {
        let mut arguments = vec!["run", "--backend", self.backend.name(), "--"];
        arguments.extend(command);
        self.output(self.project.isobox_command(&arguments))
    }

    /// What comes of a command on the machine of this case.
    pub fn output(&self, command: Command) -> Outcome {
        outcome(self.machine.output(command).expect("run a command"))
    }

    /// Runs a script whose code is 0, captured without complaint.
    pub fn run_well(&self, script: &str) -> Outcome {
        let run = self.run(script);
        assert_eq!(run.code, 0, "{}: {run:?}", self.backend.name());
        run
    }

    /// The document of the newest record.
    pub fn record(&self) -> serde_json::Value {
        let shown = self.project.isobox(&["show", "--json", "@latest"]);
        assert_eq!(shown.code, 0, "{shown:?}");
        serde_json::from_str(&shown.stdout).expect("a document")
    }

    /// The newest patch.
    pub fn patch(&self) -> String {
        let diff = self.project.isobox(&["diff", "@latest"]);
        assert_eq!(diff.code, 0, "{diff:?}");
        diff.stdout
    }

    /// What the newest record holds as `path`.
    pub fn captured(&self, path: &str) -> String {
        let cat = self.project.isobox(&["cat", &format!("@latest:{path}")]);
        assert_eq!(cat.code, 0, "{path}: {cat:?}");
        cat.stdout
    }

    /// Promotes the newest record without a question.
    pub fn promote(&self) -> Outcome {
        self.project.isobox(&["promote", "--yes", "@latest"])
    }

    /// Promotes the newest record, which must be possible.
    pub fn promote_well(&self) -> Outcome {
        let promoted = self.promote();
        assert_eq!(promoted.code, 0, "{}: {promoted:?}", self.backend.name());
        promoted
    }

    /// Where hostile commands try to leave a mark on the host.
    pub fn marks(&self) -> PathBuf {
        self.project.scratch()
    }

    /// Fails if a hostile command was executed.
    pub fn assert_unmarked(&self) {
        let left: Vec<_> =
            fs::read_dir(self.marks()).expect("a directory").map(|entry| entry.expect("an entry")).collect();
        assert!(left.is_empty(), "{}: {left:?}", self.backend.name());
    }
}

/// Tests a promise on one backend, as root and as an ordinary user.
pub fn on(backend: Backend, test: impl Fn(&Case)) {
    for user in users() {
        test(&Case::new(*user, backend));
    }
}

/// Tests a promise on every backend, where one test tells enough.
pub fn on_every_backend(test: impl Fn(&Case)) {
    for backend in [Backend::Bubblewrap, Backend::Landlock, Backend::Host] {
        on(backend, &test);
    }
}

/// Those who run a test: root and an ordinary user where root runs it, and else whoever does.
pub fn users() -> &'static [User] {
    match nix::unistd::geteuid().is_root() {
        true => &[User::Current, User::Ordinary],
        false => &[User::Current],
    }
}

/// Makes a test per promise and backend, whose name tells both: `boundary::bubblewrap::descriptors_are_closed`.
///
/// `every` are promises of all backends, `containing` those of the backends that contain a workload; the others are of the
/// one backend alone. Each is a function of a [`Case`] in the file that calls this.
#[macro_export]
macro_rules! promises {
    ($(every: [$($every:ident),* $(,)?],)? $(containing: [$($containing:ident),* $(,)?],)?
     $(bubblewrap: [$($bubblewrap:ident),* $(,)?],)? $(host: [$($host:ident),* $(,)?],)?) => {
        $crate::promises!(@on bubblewrap Bubblewrap
            [$($($every)*)?] [$($($containing)*)?] [$($($bubblewrap)*)?]);
        $crate::promises!(@on landlock Landlock [$($($every)*)?] [$($($containing)*)?] []);
        $crate::promises!(@on host Host [$($($every)*)?] [$($($host)*)?] []);
    };
    (@on $module:ident $backend:ident [] [] []) => {};
    (@on $module:ident $backend:ident [$($one:ident)*] [$($two:ident)*] [$($three:ident)*]) => {
        mod $module {
            $crate::promises!(@test $backend $($one)* $($two)* $($three)*);
        }
    };
    (@test $backend:ident $($test:ident)*) => {
        $(
            #[test]
            fn $test() {
                $crate::on($crate::Backend::$backend, super::$test);
            }
        )*
    };
}
