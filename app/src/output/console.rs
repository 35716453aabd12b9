//! isobox's own lines, on standard error.

use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::errors;
use crate::output::pager::Paging;
use crate::output::painted::Palette;
use crate::output::working;
use std::io::{self, IsTerminal};

/// Where isobox's own lines go, and in what form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Console {
    /// Whether lines that are neither errors nor warnings are left out.
    pub(crate) verbosity: Verbosity,
    /// How errors look.
    pub(crate) errors: ErrorForm,
    /// When labels are coloured.
    pub(crate) colour: Colour,
    /// Whether long output goes through a pager.
    pub(crate) paging: Paging,
}

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// What goes on, and in detail how.
    Verbose,
    /// What goes on.
    Normal,
    /// Errors and warnings.
    Quiet,
}

/// When labels are coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR or CLICOLOR_FORCE say otherwise
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// How errors look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorForm {
    /// Lines for people.
    Text,
    /// One JSON document each.
    Json,
}

impl Console {
    /// Tells a line. It must hold nothing unescaped that came from a workload.
    pub(crate) fn line(self, line: &str) {
        if self.verbosity != Verbosity::Quiet {
            write_stderr(line);
        }
    }

    /// Tells a line that only those want who asked for detail. It must hold nothing unescaped that came from a workload.
    pub(crate) fn detail(self, line: &str) {
        if self.verbosity == Verbosity::Verbose {
            write_stderr(line);
        }
    }

    /// Tells what a flag asked for, quiet or not. It must hold nothing unescaped that came from a workload.
    pub(crate) fn asked(self, lines: &str) {
        write_stderr(lines);
    }

    /// Tells what went less than well.
    pub(crate) fn warning(self, sentence: &str) {
        let (on, off) = self.style("33");
        write_stderr(&format!("{on}warning:{off} {}", errors::indented(sentence)));
    }

    /// Tells why the command ends without success.
    pub(crate) fn failure(self, failure: &Failure, code: ExitCode) {
        write_stderr(&match self.errors {
            ErrorForm::Text => errors::text(failure, self.style("31;1"), self.style("36")),
            ErrorForm::Json => errors::json(failure, code),
        });
    }

    /// Prints a question without ending its line.
    pub(crate) fn question(self, question: &str) {
        working::write_over(question.as_bytes());
    }

    /// Whether colours are wanted.
    pub(crate) fn is_coloured(self) -> bool {
        match self.colour {
            Colour::Auto => is_colour_expected(),
            Colour::Always => true,
            Colour::Never => false,
        }
    }

    /// Escape sequences that begin and end a colour, or nothing where colours are not wanted.
    fn style(self, code: &str) -> (String, String) {
        match self.is_coloured() {
            true => (format!("\x1b[{code}m"), "\x1b[0m".to_owned()),
            false => Default::default(),
        }
    }
}

/// How a patch is shown on standard output; `None`: as it is, for a program that reads it. An environment variable alone never
/// changes the bytes that a program reads.
pub(crate) fn painting(colour: Colour) -> Option<Palette> {
    let is_terminal = io::stdout().is_terminal();
    let has_colours = match colour {
        Colour::Always => return Some(Palette::Sixteen),
        Colour::Never => false,
        Colour::Auto => {
            std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb") && !is_set("NO_COLOR")
        }
    };
    is_terminal.then_some(if has_colours { Palette::Sixteen } else { Palette::Plain })
}

fn write_stderr(line: &str) {
    working::write_over(format!("{line}\n").as_bytes());
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

fn is_colour_expected() -> bool {
    let is_forced = std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
    !is_set("NO_COLOR") && (is_forced || io::stderr().is_terminal())
}
