//! The attacker: what a workload would try to get out, by one process that needs no other program.
//!
//! Every attack is harmless where it gets through: it opens, asks and connects, and takes back what it made.

mod kernel;
mod surroundings;

use isobox_domain::enforcement::Control;
use isobox_domain::probe::ProbeOutcome;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::FromRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The word after the program's name by which it knows that it is to attack.
pub(crate) const ATTACKER: &str = "isobox-attacks";

/// Instead of words on what was reached: only the host knows.
pub(crate) const EFFECT: &str = "?";

/// The attack that succeeds if a datagram arrives on the host.
pub(crate) const SEND_DATAGRAM: &str = "send a datagram to the host's loopback";

/// Things of the host that attacks aim at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    File,
    PathSocket,
    AbstractSocket,
    TcpPort,
    UdpPort,
    Process,
    ProcessStart,
    Queue,
    HostName,
    Variable,
}

impl Target {
    /// The word for it on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::PathSocket => "path-socket",
            Self::AbstractSocket => "abstract-socket",
            Self::TcpPort => "tcp-port",
            Self::UdpPort => "udp-port",
            Self::Process => "process",
            Self::ProcessStart => "process-start",
            Self::Queue => "queue",
            Self::HostName => "host-name",
            Self::Variable => "variable",
        }
    }
}

/// One attack and what came of it, as the attacker saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) control: Control,
    pub(crate) tried: String,
    pub(crate) outcome: ProbeOutcome,
}

impl Attempt {
    /// What happened when something was tried: a result that is there got through.
    fn of<T>(control: Control, tried: &str, reached: &str, result: io::Result<T>) -> Self {
        let outcome = match result {
            Ok(_) => ProbeOutcome::GotThrough(reached.to_owned()),
            Err(error) => ProbeOutcome::Held(in_words(&error)),
        };
        Self { control, tried: tried.to_owned(), outcome }
    }

    fn not_tried(control: Control, tried: &str, reason: &str) -> Self {
        Self { control, tried: tried.to_owned(), outcome: ProbeOutcome::NotTried(reason.to_owned()) }
    }

    fn line(&self) -> String {
        let Self { control, tried, outcome } = self;
        format!("{}\t{tried}\t{}\t{}\n", control.name(), outcome.name(), outcome.detail())
    }

    /// The attempt that a line of the attacker's tells of.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let (control, tried, outcome, detail) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let control = Control::ALL.into_iter().find(|one| one.name() == control)?;
        let detail = detail.to_owned();
        let outcome = match outcome {
            "held" => ProbeOutcome::Held(detail),
            "got_through" => ProbeOutcome::GotThrough(detail),
            "not_tried" => ProbeOutcome::NotTried(detail),
            _ => return None,
        };
        fields.next().is_none().then(|| Self { control, tried: tried.to_owned(), outcome })
    }
}

/// When a process was started, in a line of proc_pid_stat(5): the 20th field after the name, which may itself hold `)` and blanks.
pub(crate) fn start_in(stat: &[u8]) -> Option<u64> {
    let end_of_name = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end_of_name + 1..)?).ok()?;
    rest.split_ascii_whitespace().nth(19)?.parse().ok()
}

fn in_words(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => nix::errno::Errno::from_raw(number).desc().to_owned(),
        None => error.to_string().replace(['\t', '\n'], " "),
    }
}

/// What the attacker was told.
struct Targets(Vec<(String, Vec<u8>)>);

impl Targets {
    fn bytes(&self, target: Target) -> Option<&[u8]> {
        let found = self.0.iter().find(|(name, _)| name == target.name());
        found.map(|(_, value)| value.as_slice()).filter(|value| !value.is_empty())
    }

    fn path(&self, target: Target) -> PathBuf {
        Path::new(OsStr::from_bytes(self.bytes(target).unwrap_or_default())).to_owned()
    }

    fn number<T: std::str::FromStr>(&self, target: Target) -> Option<T> {
        std::str::from_utf8(self.bytes(target)?).ok()?.parse().ok()
    }
}

/// Whether this process was started to attack: what it is to aim at.
fn asked() -> Option<Targets> {
    let mut words = std::env::args_os().skip(1);
    if words.next()?.as_bytes() != ATTACKER.as_bytes() {
        return None;
    }
    let target = |word: std::ffi::OsString| {
        let word = word.as_bytes();
        let at = word.iter().position(|byte| *byte == b'=')?;
        Some((String::from_utf8(word[..at].to_vec()).ok()?, word[at + 1..].to_vec()))
    };
    words.map(target).collect::<Option<Vec<_>>>().map(Targets)
}

/// Attacks if this process was started for that, and then never returns.
pub(super) fn attack_if_asked() {
    let Some(targets) = asked() else { return };
    let attempts = surroundings::attempts(&targets).into_iter().chain(kernel::attempts());
    let told: String = attempts.map(|attempt| attempt.line()).collect();
    // SAFETY: descriptor 1 is standard output, and nothing else of this process writes to it.
    let mut output = std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(1) });
    // Nobody to tell it to means that nobody asks.
    let code = i32::from(output.write_all(told.as_bytes()).is_err());
    std::process::exit(code);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_from_another_one_with_its_number() {
        let own = start_in(&std::fs::read("/proc/self/stat").expect("it can be read"));
        assert!(own.is_some_and(|own| own > 0));
        assert_ne!(own, start_in(&std::fs::read("/proc/1/stat").expect("it can be read")));
        assert_eq!(start_in(b"7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"), Some(4711));
    }

    #[test]
    fn an_attempt_survives_its_way_over_a_line() {
        for outcome in [
            ProbeOutcome::Held("permission denied".to_owned()),
            ProbeOutcome::GotThrough(EFFECT.to_owned()),
            ProbeOutcome::NotTried("why".to_owned()),
        ] {
            let attempt = Attempt { control: Control::Ipc, tried: "find a queue".to_owned(), outcome };
            assert_eq!(Attempt::parse(attempt.line().trim_end()), Some(attempt));
        }
        for line in ["", "ipc\tfind", "ipc\tfind\tlost\tx", "other\tfind\theld\tx", "ipc\tfind\theld\tx\ty"] {
            assert_eq!(Attempt::parse(line), None, "{line}");
        }
    }
}
