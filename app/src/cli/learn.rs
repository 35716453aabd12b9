//! The commands that help with isobox itself.

use clap::{Args, Subcommand, ValueEnum};

/// The commands that help a person or a shell with isobox itself.
#[derive(Debug, Subcommand)]
pub(crate) enum LearnCommand {
    /// Print a script that makes a shell complete isobox's commands, flags and task ids
    #[command(after_help = "Examples:\n  \
        echo 'source <(isobox completions bash)' >> ~/.bashrc\n  \
        echo 'source <(isobox completions zsh)' >> ~/.zshrc\n  \
        isobox completions fish > ~/.config/fish/completions/isobox.fish")]
    Completions(CompletionsArguments),
    /// Print a manual page
    #[command(after_help = "Examples:\n  \
        isobox man promote | man -l -\n  \
        isobox man policy check | man -l -\n  \
        isobox man > /usr/local/share/man/man1/isobox.1")]
    Man(ManArguments),
}

/// `isobox completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: ShellName,
}

/// A shell that can be completed for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ShellName {
    /// GNU Bash, 4.4 or newer
    Bash,
    /// The Z shell
    Zsh,
    /// The friendly interactive shell
    Fish,
}

impl ShellName {
    /// The name of its program.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
        }
    }
}

/// `isobox man`.
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// The command, with what follows it: policy check [default: isobox itself]
    #[arg(value_name = "COMMAND")]
    pub(crate) page: Vec<String>,
}
