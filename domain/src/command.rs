//! The Workload Command, as it is executed.

/// The opaque command that a Sandbox executes: a program and its arguments, any bytes but NUL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadCommand {
    arguments: Vec<Vec<u8>>,
}

/// Why some arguments are no [`WorkloadCommand`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// There is no program.
    #[error("no command was given after `--`")]
    Empty,
    /// An argument holds a NUL byte, which no program can receive.
    #[error("an argument holds a NUL byte")]
    Nul,
}

impl WorkloadCommand {
    /// Takes a program and its arguments, untouched.
    pub fn parse(arguments: Vec<Vec<u8>>) -> Result<Self, CommandError> {
        if arguments.first().is_none_or(Vec::is_empty) {
            return Err(CommandError::Empty);
        }
        if arguments.iter().any(|argument| argument.contains(&0)) {
            return Err(CommandError::Nul);
        }
        Ok(Self { arguments })
    }

    /// The program, then its arguments; never empty.
    pub fn arguments(&self) -> &[Vec<u8>] {
        &self.arguments
    }

    /// The program: a name to be looked up in the Sandbox's PATH, or a path.
    pub fn program(&self) -> &[u8] {
        &self.arguments[0]
    }
}
