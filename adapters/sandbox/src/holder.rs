//! Holding what a workload writes in memory by a process of its own, so that a killed isobox does not take it along, and
//! finding it again.

use crate::protocol::{Channel, HOLDER_NAME, Message, Received};
use crate::spawn::spawn;
use crate::supervision::{Child, PidHandle};
use isobox_domain::escape::Escaped;
use isobox_ports::{Cause, FoundAgain, HeldMemory, NotNow, Overlay, WorkspaceMount};
use nix::fcntl::{OFlag, open};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, bind, connect, listen, socket, sockopt};
use nix::sys::stat::Mode;
use nix::sys::time::TimeVal;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The socket of a holder, in the directory that the overlay is mounted over in its Sandbox.
pub(crate) const SOCKET: &str = "holder";

/// How long a holder may take to end once its socket is gone, before it is left to itself.
const PATIENCE: Duration = Duration::from_secs(2);

/// A holder that this process started.
pub(crate) struct Holder {
    child: Child,
    socket: PathBuf,
}

impl Holder {
    /// Starts one that holds `written`, of an overlay at `place`. It gives it to nobody before `stage` has ended.
    pub(crate) fn start(written: &OwnedFd, stage: &PidHandle, place: &Path) -> io::Result<Self> {
        let directory = open_directory(place)?;
        let listening = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None)?;
        bind(listening.as_raw_fd(), &address(&directory)?)?;
        listen(&listening, nix::sys::socket::Backlog::new(4)?)?;
        let (control, theirs) = Channel::pair()?;
        let nothing = || File::options().read(true).write(true).open("/dev/null").map(OwnedFd::from);
        let stage = stage.as_fd().try_clone_to_owned()?;
        let descriptors =
            vec![nothing()?, nothing()?, nothing()?, theirs, listening, written.try_clone()?, stage, directory];
        let name = CString::new(HOLDER_NAME).map_err(io::Error::other)?;
        let child = Child::of(spawn(c"/proc/self/exe", &[name], descriptors, None)?)?;
        match control.receive()?.as_deref().and_then(Message::decode) {
            Some(Message::Ready) => Ok(Self { child, socket: place.join(SOCKET) }),
            Some(Message::Failed(reason)) => Err(io::Error::other(reason)),
            _ => Err(io::Error::other("the process that is to hold it did not come up")),
        }
    }
}

/// One whose Workspace is gone ends at once. Any other is left for a later start to find.
impl Drop for Holder {
    fn drop(&mut self) {
        if !self.socket.exists() && self.child.wait_until(Instant::now() + PATIENCE).unwrap_or(false) {
            self.child.wait().ok();
        }
    }
}

fn open_directory(place: &Path) -> io::Result<OwnedFd> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    Ok(open(place, flags, Mode::empty())?)
}

/// By a descriptor, since addresses are short and paths may be long.
fn address(directory: &OwnedFd) -> io::Result<UnixAddr> {
    Ok(UnixAddr::new(format!("/proc/self/fd/{}/{SOCKET}", directory.as_raw_fd()).as_str())?)
}

/// What holders of killed starts hold.
#[derive(Clone, Copy, Debug)]
pub struct Holders;

impl HeldMemory for Holders {
    fn find(&self, mount: &WorkspaceMount) -> Result<Option<FoundAgain>, Cause> {
        let WorkspaceMount::Overlay(overlay) = mount else { return Ok(None) };
        if overlay.memory.is_none() {
            return Ok(None);
        }
        let Some(holder) = reach(&overlay.place)? else { return Ok(None) };
        let Some(Received { descriptor: Some(written), .. }) = holder.receive_whole()? else {
            let place = Escaped::path(&overlay.place);
            return Err(NotNow(format!("processes of the workload are still writing to the workspace {place}")).into());
        };
        let place = PathBuf::from(format!("/proc/self/fd/{}", written.as_raw_fd()));
        Ok(Some(FoundAgain { mount: WorkspaceMount::Overlay(Overlay { place, ..overlay.clone() }), written }))
    }
}

/// The holder at a place; `None` if nobody is there any more.
fn reach(place: &Path) -> io::Result<Option<Channel>> {
    let directory = match open_directory(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let asking = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None)?;
    let longest = TimeVal::new(60, 0);
    nix::sys::socket::setsockopt(&asking, sockopt::ReceiveTimeout, &longest)?;
    match connect(asking.as_raw_fd(), &address(&directory)?) {
        Ok(()) => Ok(Some(Channel::of(asking))),
        Err(nix::errno::Errno::ENOENT | nix::errno::Errno::ECONNREFUSED) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}
