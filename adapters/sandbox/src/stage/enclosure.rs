//! The walls that the Stage makes itself, in the order in which that is possible.

mod layout;
mod mounts;
mod network;
mod ruleset;
mod user;

pub(crate) use ruleset::ABIS;
pub(super) use ruleset::Ruleset;

use crate::capabilities;
use crate::filter;
use crate::overlay;
use crate::protocol::{Channel, Enclosure, Inside, Message, OwnNetwork, Privileges};
use crate::view::HOST_NAME;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Its name as others see it.
const STAGE: &CStr = c"isobox-stage";

/// Makes every wall that holds the Stage, too; returns the one that only the workload is put behind.
///
/// Landlock would keep the Stage from ending what is not its child, and lets no process of a workload touch one that is not
/// behind it.
pub(super) fn enter(enclosure: &Enclosure, control: &Channel) -> io::Result<Ruleset> {
    // Executed as /proc/self/exe, it is called that.
    prctl::set_name(STAGE)?;
    if let Some(inside) = &enclosure.inside {
        // The kernel ends the namespace with it. Elsewhere it lives on for a moment, and ends the workload.
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        lay_out(inside, control)?;
        capabilities::drop_all()?;
    } else {
        // Who has none can drop none from the bounding set, and gains none from it either: no_new_privs.
        capabilities::drop_all().or_else(|_| capabilities::drop_held())?;
    }
    prctl::set_no_new_privs()?;
    let ruleset = Ruleset::build(enclosure.landlock_abi, &enclosure.rules, enclosure.strictness)?;
    filter::apply(enclosure.strictness).map_err(while_doing("filter system calls"))?;
    Ok(ruleset)
}

/// Removes what is the Sandbox's own of the host, once every process of the workload is dead.
pub(super) fn leave(enclosure: &Enclosure) {
    for directory in &enclosure.own_directories {
        // isobox removes them, too, unless it is gone; then nobody is left to be told.
        drop(isobox_removal::remove(Path::new(OsStr::from_bytes(directory))));
    }
}

/// Mounts come first: whoever has dropped its capabilities, or is restricted by Landlock, can no longer mount(2).
fn lay_out(inside: &Inside, control: &Channel) -> io::Result<()> {
    let ids = user::OwnIds::of_this_process()?;
    mounts::make_private()?;
    if let Some(overlay) = &inside.overlay
        && let Some(written) = overlay::mount(overlay)?
    {
        control.send_with(&Message::Mounted.encode(), written.as_fd())?;
    }
    // What is in memory of these goes with the namespace; nobody captures it.
    inside.layers.iter().try_for_each(|layer| overlay::mount(layer).map(drop))?;
    layout::make(&inside.entries)?;
    name_host().map_err(while_doing("name the sandbox"))?;
    if inside.network == OwnNetwork::Yes {
        network::raise_loopback().map_err(while_doing("raise the loopback"))?;
    }
    match inside.privileges {
        Privileges::UserNamespace => Ok(()),
        Privileges::Root => ids.enter_user_namespace().map_err(while_doing("make a user namespace")),
    }
}

fn name_host() -> io::Result<()> {
    // SAFETY: the name and its length are of one string.
    nix::errno::Errno::result(unsafe { libc::sethostname(HOST_NAME.as_ptr().cast(), HOST_NAME.len()) })?;
    Ok(())
}

fn while_doing(step: &'static str) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{step}: {error}"))
}
