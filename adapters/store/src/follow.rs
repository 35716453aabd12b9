//! Reading the outputs of an attempt while another process writes them.

use crate::dir::Dir;
use crate::large_reader::frame_at;
use crate::output::{NUMBER_LEN, piece_name, role_name};
use isobox_ports::{Flow, Role};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

/// Bytes of a piece that are handed over at once.
const CHUNK: usize = 64 << 10;

/// Hands over what is in the outputs, and what comes, until the lock of `journal` is free.
pub(crate) fn follow(dir: &Dir, journal: &File, receive: &mut dyn FnMut(Role, &[u8]) -> Flow) -> io::Result<()> {
    let changes = File::from(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?);
    let watched = format!("/proc/self/fd/{}", dir.as_fd().as_raw_fd());
    inotify::add_watch(&changes, watched.as_str(), WatchFlags::CREATE | WatchFlags::MODIFY)?;
    let ended = end_of(journal)?;
    let files = Files { dir, journal };
    let mut outputs = [Follower::new(Role::Stdout), Follower::new(Role::Stderr)];
    let mut timeline = Follower::new(Role::Timeline);
    loop {
        // Looked at first: what was written until then is read below.
        let is_over = is_readable(&ended)?;
        for output in &mut outputs {
            if output.hand_over(files, Some(&mut timeline), receive)? == Flow::Closed {
                return Ok(());
            }
        }
        if is_over {
            return journal.unlock();
        }
        wait(&changes, &ended)?;
    }
}

/// A pipe whose end comes when the lock of `journal` is free. The lock is then shared through `journal` until it is unlocked.
fn end_of(journal: &File) -> io::Result<io::PipeReader> {
    let (reader, writer) = io::pipe()?;
    let journal = journal.try_clone()?;
    // Not waited for: a follower that was let go leaves it behind, and it ends with the attempt or this process.
    std::thread::Builder::new().name("end-of-attempt".to_owned()).spawn(move || {
        // A lock that cannot be waited for ends the following at once, which is all that can be done.
        journal.lock_shared().ok();
        drop(writer);
    })?;
    Ok(reader)
}

fn is_readable(pipe: &io::PipeReader) -> io::Result<bool> {
    Ok(poll(&mut [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO)? > 0)
}

fn wait(mut changes: &File, ended: &io::PipeReader) -> io::Result<()> {
    let wanted = |fd| PollFd::new(fd, PollFlags::POLLIN);
    poll(&mut [wanted(changes.as_fd()), wanted(ended.as_fd())], PollTimeout::NONE)?;
    // Which files changed does not matter: both outputs are looked at.
    let mut events = [0; 4096];
    loop {
        match changes.read(&mut events) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Whether the attempt of this journal has ended and is being cleared up.
pub(crate) fn is_gone(journal: &File) -> io::Result<bool> {
    Ok(journal.metadata()?.nlink() == 0)
}

/// The files of one attempt.
#[derive(Clone, Copy)]
struct Files<'a> {
    dir: &'a Dir,
    journal: &'a File,
}

impl Files<'_> {
    /// The file `name`, which is nobody else's while it is open. Another attempt gets the directory, and empty files in it,
    /// when this one is gone: they count for nothing then.
    fn find(self, name: &str) -> io::Result<Option<File>> {
        let Some(file) = self.dir.find_file(name)? else { return Ok(None) };
        match file.try_lock_shared() {
            Ok(()) => Ok(if is_gone(self.journal)? { None } else { Some(file) }),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// How far an output was handed over.
struct Follower {
    role: Role,
    piece: Option<File>,
    frames: Option<Arc<File>>,
    /// The piece that is next, and how much of it was handed over.
    number: u64,
    offset: u64,
    /// Where the frame of that piece will start.
    frame_offset: u64,
}

impl Follower {
    fn new(role: Role) -> Self {
        Self { role, piece: None, frames: None, number: 0, offset: 0, frame_offset: 0 }
    }

    /// Hands over everything that is there, and what is there of `before` first: it was written before.
    fn hand_over(
        &mut self,
        files: Files<'_>,
        mut before: Option<&mut Self>,
        receive: &mut dyn FnMut(Role, &[u8]) -> Flow,
    ) -> io::Result<Flow> {
        if self.piece.is_none() {
            self.piece = files.find(&piece_name(role_name(self.role)))?;
        }
        while let Some(bytes) = self.next(files)? {
            if bytes.is_empty() {
                continue;
            }
            let first = before.as_mut().map(|before| before.hand_over(files, None, receive)).transpose()?;
            if first == Some(Flow::Closed) || receive(self.role, &bytes) == Flow::Closed {
                return Ok(Flow::Closed);
            }
        }
        Ok(Flow::Continue)
    }

    /// The next bytes; `None` if there are none yet.
    fn next(&mut self, files: Files<'_>) -> io::Result<Option<Vec<u8>>> {
        let Some(piece) = &self.piece else { return Ok(None) };
        match read_number(piece)? {
            Some(number) if number == self.number => self.next_of_piece(),
            // The piece that is next has become a frame.
            Some(number) if number > self.number => self.rest_of_frame(files),
            // Its file was emptied for the next one, and gets its number now.
            _ => Ok(None),
        }
    }

    fn next_of_piece(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(piece) = &self.piece else { return Ok(None) };
        let mut bytes = vec![0; CHUNK];
        let length = piece.read_at(&mut bytes, NUMBER_LEN + self.offset)?;
        bytes.truncate(length);
        // The writer may have gone on to the next piece in between; then these bytes may be of that one.
        match read_number(piece)? {
            Some(number) if number == self.number && length > 0 => {
                self.offset += length as u64;
                Ok(Some(bytes))
            }
            Some(number) if number > self.number => Ok(Some(Vec::new())),
            _ => Ok(None),
        }
    }

    fn rest_of_frame(&mut self, files: Files<'_>) -> io::Result<Option<Vec<u8>>> {
        if self.frames.is_none() {
            self.frames = files.find(role_name(self.role))?.map(Arc::new);
        }
        let Some(frames) = &self.frames else { return Ok(None) };
        let Some((mut raw, next)) = frame_at(frames, self.frame_offset)? else { return Ok(None) };
        let rest = raw.split_off((self.offset as usize).min(raw.len()));
        (self.number, self.offset, self.frame_offset) = (self.number + 1, 0, next);
        Ok(Some(rest))
    }
}

fn read_number(piece: &File) -> io::Result<Option<u64>> {
    let mut number = [0; NUMBER_LEN as usize];
    Ok((piece.read_at(&mut number, 0)? == number.len()).then(|| u64::from_le_bytes(number)))
}
