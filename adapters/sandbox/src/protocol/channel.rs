//! The socket between isobox and its own processes.

use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, Shutdown, SockFlag, SockType, UnixCredentials, recv,
    recvmsg, send, sendmsg, setsockopt, shutdown, socketpair, sockopt,
};
use nix::unistd::Pid;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Longest message, in bytes.
const MESSAGE_BYTES: usize = 8 * 1024;

/// One end of the socket between isobox and its Stage. When the other end is gone, it reads as ended.
#[derive(Debug)]
pub(crate) struct Channel(OwnedFd);

/// A message, and what came with it.
#[derive(Debug)]
pub(crate) struct Received {
    /// The message.
    pub(crate) bytes: Vec<u8>,
    /// Who sent it, as this process sees it.
    pub(crate) sender: Option<Pid>,
    /// What was passed along.
    pub(crate) descriptor: Option<OwnedFd>,
}

impl Channel {
    /// Both ends. Messages that arrive at the first carry the PID of their sender.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
        setsockopt(&ours, sockopt::PassCred, &true)?;
        Ok((Self(ours), theirs))
    }

    /// The end that a descriptor is.
    pub(crate) const fn of(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }

    /// The same end once more, for another thread.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Sends one message.
    pub(crate) fn send(&self, message: &[u8]) -> io::Result<()> {
        send(self.0.as_raw_fd(), message, MsgFlags::MSG_NOSIGNAL)?;
        Ok(())
    }

    /// Sends one message and passes a descriptor along.
    pub(crate) fn send_with(&self, message: &[u8], descriptor: BorrowedFd<'_>) -> io::Result<()> {
        let (pieces, rights) = ([IoSlice::new(message)], [descriptor.as_raw_fd()]);
        let rights = [ControlMessage::ScmRights(&rights)];
        sendmsg::<()>(self.0.as_raw_fd(), &pieces, &rights, MsgFlags::MSG_NOSIGNAL, None)?;
        Ok(())
    }

    /// Waits for one message; `None` when the other end is gone or has hung up.
    pub(crate) fn receive(&self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; MESSAGE_BYTES];
        match recv(self.0.as_raw_fd(), &mut bytes, MsgFlags::empty()) {
            Ok(0) | Err(nix::errno::Errno::ECONNRESET) => Ok(None),
            Ok(length) => {
                bytes.truncate(length);
                Ok(Some(bytes))
            }
            Err(errno) => Err(errno.into()),
        }
    }

    /// The message that waits to be received, which stays there; `None` if there is none.
    pub(crate) fn peek(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; MESSAGE_BYTES];
        let length = recv(self.0.as_raw_fd(), &mut bytes, MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT).ok()?;
        bytes.truncate(length);
        (length > 0).then_some(bytes)
    }

    /// Like [`Self::receive`], with its sender and with what was passed along.
    pub(crate) fn receive_whole(&self) -> io::Result<Option<Received>> {
        let mut bytes = vec![0; MESSAGE_BYTES];
        let mut pieces = [IoSliceMut::new(&mut bytes)];
        let mut ancillary = nix::cmsg_space!(UnixCredentials, RawFd);
        let received = recvmsg::<()>(self.0.as_raw_fd(), &mut pieces, Some(&mut ancillary), MsgFlags::MSG_CMSG_CLOEXEC);
        let (length, sender, descriptor) = match received {
            Ok(message) => {
                let came_along: Vec<_> = message.cmsgs()?.collect();
                (message.bytes, came_along.iter().find_map(sender_of), came_along.iter().find_map(descriptor_of))
            }
            Err(nix::errno::Errno::ECONNRESET) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        bytes.truncate(length);
        Ok((length > 0).then_some(Received { bytes, sender, descriptor }))
    }

    /// Tells the other end that nothing more will come, which asks a Stage to end the workload.
    pub(crate) fn hang_up(&self) {
        // The only failure is that the other end is gone, which is what is asked for.
        shutdown(self.0.as_raw_fd(), Shutdown::Write).ok();
    }
}

fn sender_of(message: &ControlMessageOwned) -> Option<Pid> {
    match message {
        ControlMessageOwned::ScmCredentials(credentials) => Some(Pid::from_raw(credentials.pid())),
        _ => None,
    }
}

/// There is room for one descriptor: the kernel closes what would be more.
fn descriptor_of(message: &ControlMessageOwned) -> Option<OwnedFd> {
    match message {
        ControlMessageOwned::ScmRights(descriptors) => {
            // SAFETY: the kernel made this descriptor for the receiver of the message, which is here.
            descriptors.first().map(|&descriptor| unsafe { OwnedFd::from_raw_fd(descriptor) })
        }
        _ => None,
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_descriptor_is_passed_along_with_its_message() {
        let (ours, theirs) = Channel::pair().expect("sockets can be made");
        let (mut reader, writer) = io::pipe().expect("a pipe can be made");
        let theirs = Channel::of(theirs);
        theirs.send_with(b"one", writer.as_fd()).expect("it is sent");
        theirs.send(b"two").expect("it is sent");
        drop(writer);
        let first = ours.receive_whole().expect("it is received").expect("it is a message");
        assert_eq!((first.bytes, first.sender), (b"one".to_vec(), Some(Pid::this())));
        drop(first.descriptor.expect("it came along"));
        assert_eq!(reader.read(&mut [0]).expect("every writer is closed"), 0);
        let second = ours.receive_whole().expect("it is received").expect("it is a message");
        assert_eq!((second.bytes, second.descriptor.is_none()), (b"two".to_vec(), true));
    }
}
