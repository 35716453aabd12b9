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
