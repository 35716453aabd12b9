//! What isobox and its own processes tell each other: plans in files, and messages over a socket.

mod channel;
mod enclosure;
mod encoding;
mod mounting;

pub(crate) use channel::{Channel, Received};
pub(crate) use enclosure::{Enclosure, Inside, OwnNetwork, Privileges, Rule, Use};
pub(crate) use mounting::Mounting;

use crate::limits::Rlimit;
use encoding::{put_all, put_option, take, take_all, take_number, take_option};
use isobox_domain::outcome::Exit;
use isobox_domain::terminal::TerminalSize;
use isobox_ports::{EndCause, StderrPlace, TerminalRequest};
use std::os::fd::RawFd;

/// The name by which a program knows that it is to be the Stage.
pub(crate) const STAGE_NAME: &str = "isobox-stage";

/// The name by which a program knows that it is to mount an overlay and then to become another program.
pub(crate) const MOUNTER_NAME: &str = "isobox-mounter";

/// The name by which a program knows that it is to hold what was written in memory.
pub(crate) const HOLDER_NAME: &str = "isobox-holder";

/// Where the Stage finds its end of the socket, and a mounter before it, or a holder.
pub(crate) const CONTROL_FD: RawFd = 3;

/// Where the Stage finds its plan.
pub(crate) const PLAN_FD: RawFd = 4;

/// Longest reason in a message, in bytes.
const REASON_BYTES: usize = 4 * 1024;

/// Which processes belong to the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All of the Stage's PID namespace.
    Namespace,
    /// All descendants of the Stage.
    Tree,
}

/// What the Stage is to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Which processes end with it.
    pub(crate) reach: Reach,
    /// Absolute path of the directory to start in, as the Sandbox sees it.
    pub(crate) directory: Vec<u8>,
    /// The command; empty for a Sandbox that is only tried.
    pub(crate) arguments: Vec<Vec<u8>>,
    /// Every variable as `NAME=value`.
    pub(crate) environment: Vec<Vec<u8>>,
    /// The walls that the Stage makes itself; `None` if it is started inside of some, or has none.
    pub(crate) enclosure: Option<Enclosure>,
    /// The terminal that it gets.
    pub(crate) terminal: Option<TerminalRequest>,
    /// Limits of each process of the workload. Whoever starts a Sandbox adds them.
    pub(crate) rlimits: Vec<Rlimit>,
}

impl Plan {
    /// The plan as bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![match self.reach {
            Reach::Namespace => b'n',
            Reach::Tree => b't',
        }];
        put_all(&mut bytes, std::slice::from_ref(&self.directory));
        put_all(&mut bytes, &self.arguments);
        put_all(&mut bytes, &self.environment);
        put_option(&mut bytes, self.enclosure.as_ref(), Enclosure::put);
        put_terminal(&mut bytes, self.terminal);
        put_all(&mut bytes, &self.rlimits.iter().map(Rlimit::encode).collect::<Vec<_>>());
        bytes
    }

    /// The plan of some bytes; `None` if they are none.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let reach = match take(&mut bytes, 1)?[0] {
            b'n' => Reach::Namespace,
            b't' => Reach::Tree,
            _ => return None,
        };
        let directory = take_all(&mut bytes)?.pop()?;
        let (arguments, environment) = (take_all(&mut bytes)?, take_all(&mut bytes)?);
        let (enclosure, terminal) = (take_option(&mut bytes, Enclosure::take)?, take_terminal(&mut bytes)?);
        let rlimits = take_all(&mut bytes)?.iter().map(|rlimit| Rlimit::decode(rlimit)).collect::<Option<_>>()?;
        bytes.is_empty().then_some(Self { reach, directory, arguments, environment, enclosure, terminal, rlimits })
    }
}

// A terminal is a letter, then its columns and rows, 2 bytes each, little endian.
fn put_terminal(bytes: &mut Vec<u8>, terminal: Option<TerminalRequest>) {
    let letter = match terminal.map(|terminal| terminal.stderr) {
        None => b'-',
        Some(StderrPlace::Terminal) => b't',
        Some(StderrPlace::Apart) => b'a',
    };
    let size = terminal.map_or(TerminalSize { columns: 0, rows: 0 }, |terminal| terminal.size);
    bytes.push(letter);
    bytes.extend([size.columns.to_le_bytes(), size.rows.to_le_bytes()].concat());
}

fn take_terminal(bytes: &mut &[u8]) -> Option<Option<TerminalRequest>> {
    let stderr = match take(bytes, 1)?[0] {
        b'-' => None,
        b't' => Some(StderrPlace::Terminal),
        b'a' => Some(StderrPlace::Apart),
        _ => return None,
    };
    let mut number = || Some(u16::from_le_bytes(take(bytes, 2)?.try_into().ok()?));
    let size = TerminalSize { columns: number()?, rows: number()? };
    Some(stderr.map(|stderr| TerminalRequest { size, stderr }))
}

/// How the Stage saw the workload end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    /// Why.
    pub(crate) cause: EndCause,
    /// CPU time in user mode of all processes that were waited for, in microseconds.
    pub(crate) user_cpu_us: u64,
    /// The same in the kernel.
    pub(crate) system_cpu_us: u64,
    /// Peak resident memory of the largest process, in bytes.
    pub(crate) peak_memory_bytes: u64,
    /// Processes that were killed because they outlived the command's own.
    pub(crate) killed_processes: u64,
}

/// What the Stage says, and a mounter before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// The overlay is mounted, and what is written lies in the directory that is passed along.
    Mounted,
    /// The Sandbox is up, nothing of the workload was executed yet.
    Ready,
    /// The workload gets a terminal, whose other side is passed along; nothing was executed yet.
    Terminal,
    /// The Sandbox is not what it has to be, in words; nothing of the workload was executed.
    Failed(String),
    /// Every process of the workload is dead.
    Ended(Report),
}

impl Message {
    /// The message as bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            Self::Mounted => vec![b'M'],
            Self::Ready => vec![b'R'],
            Self::Terminal => vec![b'T'],
            Self::Failed(reason) => [b"F", shortened(reason)].concat(),
            Self::Ended(report) => encode_report(report),
        }
    }

    /// Whether it is the last one: after it the workload does nothing more.
    pub(crate) const fn is_last(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Ended(_))
    }

    /// The message of some bytes; `None` if they are none.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        match bytes.split_first()? {
            (b'M', []) => Some(Self::Mounted),
            (b'R', []) => Some(Self::Ready),
            (b'T', []) => Some(Self::Terminal),
            (b'F', reason) => Some(Self::Failed(String::from_utf8_lossy(reason).into_owned())),
            (b'E', report) => decode_report(report).map(Self::Ended),
            _ => None,
        }
    }
}

fn shortened(reason: &str) -> &[u8] {
    &reason.as_bytes()[..reason.len().min(REASON_BYTES)]
}

fn encode_report(report: &Report) -> Vec<u8> {
    let mut bytes = vec![b'E'];
    for number in [report.user_cpu_us, report.system_cpu_us, report.peak_memory_bytes, report.killed_processes] {
        bytes.extend(number.to_le_bytes());
    }
    match &report.cause {
        EndCause::Exited(Exit::Code(code)) => bytes.extend([b'c', *code]),
        EndCause::Exited(Exit::Signal(signal)) => bytes.extend([b's', *signal]),
        EndCause::Interrupted { signal } => bytes.extend([b'i', *signal]),
        EndCause::NotExecutable(reason) => bytes.extend([b"x", shortened(reason)].concat()),
        EndCause::NotFound(reason) => bytes.extend([b"m", shortened(reason)].concat()),
    }
    bytes
}

fn decode_report(mut bytes: &[u8]) -> Option<Report> {
    let mut number = || take_number(&mut bytes);
    let (user_cpu_us, system_cpu_us, peak_memory_bytes, killed_processes) =
        (number()?, number()?, number()?, number()?);
    let text = |reason: &[u8]| String::from_utf8_lossy(reason).into_owned();
    let cause = match bytes.split_first()? {
        (b'c', [code]) => EndCause::Exited(Exit::Code(*code)),
        (b's', [signal]) => EndCause::Exited(Exit::Signal(*signal)),
        (b'i', [signal]) => EndCause::Interrupted { signal: *signal },
        (b'x', reason) => EndCause::NotExecutable(text(reason)),
        (b'm', reason) => EndCause::NotFound(text(reason)),
        _ => return None,
    };
    Some(Report { cause, user_cpu_us, system_cpu_us, peak_memory_bytes, killed_processes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_survives_its_way_through_a_file() {
        let plan = Plan {
            reach: Reach::Tree,
            directory: b"/workspace/\xff".to_vec(),
            arguments: vec![b"sh".to_vec(), Vec::new(), b"\n\xfe".to_vec()],
            environment: vec![b"A=b=c".to_vec()],
            enclosure: None,
            terminal: Some(TerminalRequest {
                size: TerminalSize { columns: 80, rows: 300 },
                stderr: StderrPlace::Apart,
            }),
            rlimits: Rlimit::decode(&[7; 24]).into_iter().collect(),
        };
        assert_eq!(Plan::decode(&plan.encode()), Some(plan.clone()));
        let encoded = plan.encode();
        for length in 0..encoded.len() {
            assert_eq!(Plan::decode(&encoded[..length]), None, "{length}");
        }
    }

    #[test]
    fn a_length_beyond_the_end_is_no_plan() {
        let mut bytes = vec![b'n'];
        bytes.extend(u64::MAX.to_le_bytes());
        assert_eq!(Plan::decode(&bytes), None);
    }

    #[test]
    fn every_message_survives_its_way_over_the_socket() {
        let causes = [
            EndCause::Exited(Exit::Code(137)),
            EndCause::Exited(Exit::Signal(9)),
            EndCause::Interrupted { signal: 15 },
            EndCause::NotExecutable("permission denied".to_owned()),
            EndCause::NotFound("no such file".to_owned()),
        ];
        let report = |cause| Report {
            cause,
            user_cpu_us: 1,
            system_cpu_us: u64::MAX,
            peak_memory_bytes: 3,
            killed_processes: 4,
        };
        let ends = causes.into_iter().map(|cause| Message::Ended(report(cause)));
        for message in
            ends.chain([Message::Mounted, Message::Ready, Message::Terminal, Message::Failed("why".to_owned())])
        {
            assert_eq!(Message::decode(&message.encode()), Some(message));
        }
    }
}
