//! The seam at which tests make the n-th change of the file system fail, or end the process there.

/// Called before each change to a file system that has to be whole or undone in the end. Outside of tests it does nothing.
#[cfg(not(test))]
pub(crate) fn step() -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(crate) use testing::step;

#[cfg(test)]
pub(crate) mod testing {
    //! What happens at a step, set for the calling thread.

    use std::cell::Cell;
    use std::io;
    use std::os::unix::process::ExitStatusExt;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    /// What happens at the step that was chosen.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Fault {
        /// This one operation fails with this error number.
        FailOnce(i32),
        /// It and all that follow fail.
        FailFromHere(i32),
        /// It fails, and so do all from so many steps later on: what undoes the first failure fails too.
        FailAgain(i32, u64),
        /// The process ends at once, as by SIGKILL: nothing is unwound or flushed.
        Abort,
    }

    thread_local! {
        static STEPS: Cell<u64> = const { Cell::new(0) };
        static PLAN: Cell<Option<(u64, Fault)>> = const { Cell::new(None) };
    }

    /// Starts to count steps from 0; `fault` happens at the step `at`.
    pub(crate) fn plan(at: u64, fault: Fault) {
        STEPS.set(0);
        PLAN.set(Some((at, fault)));
    }

    /// Forgets the plan; says whether its step was reached.
    pub(crate) fn forget() -> bool {
        PLAN.take().is_some_and(|(at, _)| STEPS.get() > at)
    }

    /// Says which test is run by itself, and what is done in it.
    pub(crate) struct Child<'a> {
        /// The full name of the test, which is ignored otherwise, and calls [`asked`].
        pub(crate) test: &'a str,
        /// The directory that it works in.
        pub(crate) root: &'a Path,
        /// What it does.
        pub(crate) action: &'a str,
    }

    const ROOT: &str = "ISOBOX_TEST_ROOT";
    const STEP: &str = "ISOBOX_TEST_STEP";
    const ACTION: &str = "ISOBOX_TEST_ACTION";

    impl Child<'_> {
        /// Whether it was killed at `step`, in a process of its own.
        pub(crate) fn is_killed(&self, step: u64) -> bool {
            let mut command = Command::new(std::env::current_exe().expect("this program"));
            command.args(["--exact", self.test, "--ignored", "-q"]).stdout(Stdio::null());
            command.env(ROOT, self.root).env(ACTION, self.action).env(STEP, step.to_string());
            let status = command.status().expect("a child");
            let is_killed = status.signal().is_some();
            assert!(is_killed || status.success(), "the child failed at step {step}");
            is_killed
        }
    }

    /// What a child was asked for: where and what, once its kill is planned; `None` in any other process.
    pub(crate) fn asked() -> Option<(PathBuf, String)> {
        let root = std::env::var_os(ROOT)?;
        let step = std::env::var(STEP).expect("a step").parse().expect("a number");
        plan(step, Fault::Abort);
        Some((root.into(), std::env::var(ACTION).expect("an action")))
    }

    pub(crate) fn step() -> io::Result<()> {
        let now = STEPS.replace(STEPS.get() + 1);
        match PLAN.get() {
            Some((at, Fault::FailOnce(errno))) if now == at => Err(io::Error::from_raw_os_error(errno)),
            Some((at, Fault::FailFromHere(errno))) if now >= at => Err(io::Error::from_raw_os_error(errno)),
            Some((at, Fault::FailAgain(errno, gap))) if now == at || now >= at + gap => {
                Err(io::Error::from_raw_os_error(errno))
            }
            Some((at, Fault::Abort)) if now == at => {
                nix::sys::signal::raise(nix::sys::signal::Signal::SIGKILL).expect("a process may kill itself");
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
