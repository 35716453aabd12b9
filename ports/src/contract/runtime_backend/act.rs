//! What the suite makes workloads do.

use isobox_domain::command::WorkloadCommand;
use libtest_mimic::Failed;

/// What the suite makes a workload do: each is a command of the standard shell, and a fake plays it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Prints its further arguments, each followed by a NUL.
    PrintArguments,
    /// Prints its variables, each as `NAME=value` followed by a NUL.
    PrintVariables,
    /// Prints the numbers of its open descriptors, one a line, that of the directory they are read from included.
    ListDescriptors,
    /// Prints the ignored and the blocked signals of `/proc/self/status`.
    ShowSignals,
    /// Prints the numbers 1 to 200,000 on both streams, one a line.
    Count,
    /// Copies standard input to standard output.
    Copy,
    /// Exits with 137.
    Exit137,
    /// Kills itself with SIGKILL.
    DieOfKill,
    /// Leaves two processes that hold its streams, one in a session of its own, and exits with 3.
    LeaveDaemons,
    /// Writes `y` for ever.
    Yes,
    /// Writes `made` to the file `made`, and prints its working directory's last component.
    Make,
    /// Says on its controlling terminal how big that is, in rows and columns, and whether all its streams are there; on
    /// standard error it says `apart`, if that is not.
    ShowTerminal,
    /// Prints `here`, then sleeps for hours.
    Sleep,
    /// Writes what `bwrap` would write if it had failed, and exits with 1.
    SpeakLikeBwrap,
    /// Executes `./script`: a text `echo "$0 $1"` without interpreter line, with the argument `x`.
    Script,
}

impl Act {
    /// Every act.
    pub const ALL: [Self; 15] = [
        Self::PrintArguments,
        Self::PrintVariables,
        Self::ListDescriptors,
        Self::ShowSignals,
        Self::Count,
        Self::Copy,
        Self::Exit137,
        Self::DieOfKill,
        Self::LeaveDaemons,
        Self::Yes,
        Self::Make,
        Self::ShowTerminal,
        Self::Sleep,
        Self::SpeakLikeBwrap,
        Self::Script,
    ];

    /// The act that `command` stands for.
    pub fn of(command: &WorkloadCommand) -> Option<Self> {
        Self::ALL.into_iter().find(|act| command.arguments().starts_with(&act.arguments()))
    }

    fn arguments(self) -> Vec<Vec<u8>> {
        let script = match self {
            Self::Script => return vec![b"./script".to_vec(), b"x".to_vec()],
            Self::PrintArguments => r#"shift 0; for a; do printf '%s\0' "$a"; done"#,
            Self::PrintVariables => "exec env -0",
            Self::ListDescriptors => "exec ls /proc/self/fd",
            Self::ShowSignals => "exec grep -E '^Sig(Ign|Blk)' /proc/self/status",
            Self::Count => "seq 1 200000 | tee /dev/stderr",
            Self::Copy => "exec cat",
            Self::Exit137 => "exit 137",
            Self::DieOfKill => "kill -KILL $$",
            Self::LeaveDaemons => "sleep 36000 & setsid sleep 36000 & exit 3",
            Self::Yes => "exec yes",
            Self::Make => r#"echo made > made && basename "$PWD""#,
            Self::ShowTerminal => {
                "test -t 2 || echo apart >&2; test -t 0 && test -t 1 && stty size > /dev/tty && test -t 2 && echo all"
            }
            Self::Sleep => "echo here; sleep 36000 & sleep 36000",
            Self::SpeakLikeBwrap => "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1",
        };
        ["sh", "-c", script, "sh"].map(|word| word.as_bytes().to_vec()).to_vec()
    }
}

/// The command of `act`, with `further` arguments.
pub(super) fn command(act: Act, further: &[&[u8]]) -> Result<WorkloadCommand, Failed> {
    let mut arguments = act.arguments();
    arguments.extend(further.iter().map(|argument| argument.to_vec()));
    Ok(WorkloadCommand::parse(arguments)?)
}
