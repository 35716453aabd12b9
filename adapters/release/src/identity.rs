//! What a program says of itself: it is started to find out, and ended when that takes too long.

use crate::failed;
use isobox_domain::release::{Build, Identity, VERSION_SCHEMA, Version};
use isobox_ports::UpdateError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take to say what it is. It takes milliseconds; a machine may be busy.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longest answer that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 64 << 10;

/// Starts the program at `path`, in an environment without anything, and reads what it says. Errors call it `name`.
pub(crate) fn identify(path: &Path, name: &Path) -> Result<Identity, UpdateError> {
    let mut command = Command::new(path);
    command.args(["version", "--json"]).env_clear().current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let unusable = |problem: String| failed::unusable(name, problem);
    let mut child = command.spawn().map_err(|error| unusable(format!("it does not start: {error}")))?;
    let answer = answer(&mut child, Instant::now() + PATIENCE);
    if answer.is_err() {
        // It may be over already.
        child.kill().ok();
    }
    let ended = child.wait();
    let answer = answer.map_err(|error| unusable(format!("it does not say what it is: {error}")))?;
    let status = ended.map_err(|error| unusable(format!("it cannot be waited for: {error}")))?;
    match status.success() {
        true => parse(&answer).ok_or_else(|| unusable("what it says of itself is not what an isobox says".to_owned())),
        false => Err(unusable(format!("asked for its version, it ends with {status}"))),
    }
}

/// Everything that `child` prints, once it is over.
fn answer(child: &mut Child, deadline: Instant) -> io::Result<Vec<u8>> {
    let mut stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        wait(&stdout, deadline)?;
        let read = stdout.read(&mut buffer)?;
        answer.extend_from_slice(&buffer[..read]);
        match (read, answer.len()) {
            (0, _) => break,
            (_, MAX_ANSWER_BYTES..) => return Err(io::Error::other("it says too much")),
            _ => {}
        }
    }
    // It has closed its output; its end may come a moment later.
    while child.try_wait()?.is_none() {
        if Instant::now() >= deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(answer)
}

fn wait(stdout: &ChildStdout, deadline: Instant) -> io::Result<()> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(stdout, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn parse(answer: &[u8]) -> Option<Identity> {
    let document: Value = serde_json::from_slice(answer).ok()?;
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    let version: Version = text("version").filter(|_| text("schema") == Some(VERSION_SCHEMA))?.parse().ok()?;
    let build = if text("build") == Some(Build::Release.name()) { Build::Release } else { Build::Development };
    Some(Identity { version, build })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_an_isobox_says_is_understood() {
        let release = br#"{"schema":"isobox.version/v1","version":"1.2.3","build":"release"}"#;
        assert_eq!(parse(release), Some(Identity { version: Version::new(1, 2, 3), build: Build::Release }));
        let older = br#"{"schema":"isobox.version/v1","version":"1.2.3"}"#;
        assert_eq!(parse(older).map(|identity| identity.build), Some(Build::Development));
        for other in [&b""[..], b"{}", b"isobox 1.2.3", br#"{"schema":"isobox.version/v1","version":"1.2"}"#] {
            assert_eq!(parse(other), None);
        }
    }

    #[test]
    fn a_program_that_is_no_isobox_is_refused() {
        for program in ["/bin/true", "/bin/false", "/nonexistent", "/etc/passwd"] {
            assert!(
                matches!(identify(Path::new(program), Path::new(program)), Err(UpdateError::Unusable { .. })),
                "{program}"
            );
        }
    }
}
