//! What keeps a Task Store small, also without being asked.

use super::{Store, clock};
use crate::failure::Failure;
use crate::use_case::{pin, prune};
use isobox_ports::Compactor;
use isobox_sandbox::close_on_exec_from;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Set to `0` where no compaction may start by itself.
const AUTO_COMPACT: &str = "ISOBOX_AUTO_COMPACT";

/// The first descriptor after those of standard input, output and error.
const FIRST_NOT_STANDARD: i32 = 3;

impl Store {
    /// The ports of a prune.
    pub(crate) fn prune_ports(&self) -> Result<prune::Ports<'_>, Failure> {
        let own = self.own("prune")?;
        Ok(prune::Ports { records: own, objects: own, views: self.views(), collector: own, clock: clock() })
    }

    /// The ports of a pin.
    pub(crate) fn pin_ports(&self) -> Result<pin::Ports<'_>, Failure> {
        Ok(pin::Ports { records: self.own("pin a task of")?, clock: clock() })
    }

    /// What compacts it.
    pub(crate) fn compactor(&self) -> Result<&dyn Compactor, Failure> {
        Ok(self.own("compact")?)
    }

    /// Starts a compaction in the background if it pays. Nobody waits for it, and if it cannot start, the next one will.
    pub(crate) fn compact_if_it_pays(&self) {
        let is_wanted = std::env::var_os(AUTO_COMPACT).is_none_or(|value| value != "0");
        let pays = || self.compactor().is_ok_and(|compactor| compactor.compaction_pays().unwrap_or(false));
        if !is_wanted || !pays() {
            return;
        }
        let Ok(program) = std::env::current_exe() else { return };
        let mut command = Command::new(program);
        command.args(["store", "compact", "--background", "--records"]).arg(self.directory());
        // A group of its own: what is typed to end this process does not end it.
        command.process_group(0).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // A caller who waits for the end of a pipe, or for a lock, that isobox inherited does not wait for the compaction. An
        // attempt that came to no launch has left them as they were.
        if close_on_exec_from(FIRST_NOT_STANDARD).is_ok() {
            drop(command.spawn());
        }
    }
}

/// Lets others have the machine first, where that is not refused.
pub(crate) fn give_way() {
    const LEAST: i32 = 19;
    if rustix::process::nice(LEAST).is_err() {
        // It goes on as it was.
    }
}
