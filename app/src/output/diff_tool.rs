//! A program of the user's that shows differences, in place of isobox.
//!
//! It gets text that is escaped as a terminal has to be protected, and names without anything but letters, digits and a few signs:
//! what it passes on to the terminal drives none. Nothing goes through a shell.

use crate::failure::{Failure, FailureKind};
use crate::output::terminal::escaped;
use crate::output::waiting::Waiting;
use crate::use_case::sides::Sides;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use tempfile::TempDir;

/// A program that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DiffTool {
    /// delta, which colours a patch
    Delta,
    /// difftastic, which compares code by its syntax
    #[value(alias = "difftastic")]
    Difft,
    /// The difftool that Git is configured to use, for each file
    #[value(alias = "difftool")]
    Git,
}

impl DiffTool {
    const fn program(self) -> &'static str {
        match self {
            Self::Delta => "delta",
            Self::Difft => "difft",
            Self::Git => "git",
        }
    }

    fn command(self) -> Command {
        let mut command = Command::new(self.program());
        if self == Self::Git {
            command.args(["difftool", "--no-index", "--no-prompt", "--"]);
        }
        command
    }

    fn not_started(self, error: io::Error) -> Failure {
        let name = self.program();
        let hint = match error.kind() {
            io::ErrorKind::NotFound => format!("install {name}, or leave --tool out"),
            _ => "leave --tool out".to_owned(),
        };
        Failure::new(FailureKind::General, format!("start {name}")).because(error).with_hint(hint)
    }

    /// Programs that compare say 1 where there is a difference.
    fn ended(self, status: ExitStatus) -> Result<(), Failure> {
        match status.code() {
            Some(0 | 1) => Ok(()),
            _ => Err(Failure::new(FailureKind::General, format!("{} ended with {status}", self.program()))),
        }
    }
}

/// A program that reads a patch.
pub(crate) struct PatchReadingTool {
    tool: DiffTool,
    child: Child,
    stdin: Option<ChildStdin>,
}

impl PatchReadingTool {
    pub(crate) fn start(tool: DiffTool) -> Result<Self, Failure> {
        let started = tool.command().stdin(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| tool.not_started(error))?;
        let stdin = child.stdin.take();
        Ok(Self { tool, child, stdin })
    }

    /// Waits for it after everything was written.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.stdin = None;
        let failed =
            |error| Failure::new(FailureKind::General, format!("wait for {}", self.tool.program())).because(error);
        self.tool.ended(self.child.wait().map_err(failed)?)
    }
}

impl Write for PatchReadingTool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.stdin.as_mut().map_or(Ok(bytes.len()), |stdin| stdin.write(bytes)) {
            // It reads no more: how it ended says whether that is as it should be.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.stdin = None;
                Ok(bytes.len())
            }
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdin.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// A program that compares two files, and a private directory for them, which goes with this.
pub(crate) struct FileComparingTool {
    tool: DiffTool,
    directory: TempDir,
    /// After the directory, so that this is gone before isobox is ended.
    waiting: Waiting,
}

impl FileComparingTool {
    pub(crate) fn new(tool: DiffTool) -> Result<Self, Failure> {
        let failed = |error| Failure::new(FailureKind::General, "make a directory for files to compare").because(error);
        let waiting = Waiting::begin().map_err(failed)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix("isobox-diff-").permissions(fs::Permissions::from_mode(0o700));
        Ok(Self { tool, directory: builder.tempdir().map_err(failed)?, waiting })
    }

    /// Shows both sides of the file at `path`, and waits until they were looked at.
    pub(crate) fn show(&mut self, path: &[u8], sides: &Sides) -> Result<(), Failure> {
        let failed = |error| Failure::new(FailureKind::General, "write a file to compare").because(error);
        let place = |name: &str, text: &Option<Vec<u8>>| self.write(name, path, text.as_deref());
        let before = place("before", &sides.before).map_err(failed)?;
        let after = place("after", &sides.after).map_err(failed)?;
        let mut command = self.tool.command();
        command.args([&before, &after]).current_dir(self.directory.path());
        self.tool.ended(self.waiting.run(&mut command).map_err(|error| self.tool.not_started(error))?)?;
        for name in ["before", "after"] {
            let removed = fs::remove_dir_all(self.directory.path().join(name));
            removed
                .or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(failed(error)) })?;
        }
        Ok(())
    }

    /// Writes a side below `name`; its path from the directory. What is not there is empty for every program.
    fn write(&self, name: &str, path: &[u8], text: Option<&[u8]>) -> io::Result<PathBuf> {
        let Some(text) = text else { return Ok("/dev/null".into()) };
        let place = Path::new(name).join(plain(path));
        let host_path = self.directory.path().join(&place);
        host_path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(host_path, escaped(text))?;
        Ok(place)
    }
}

/// A path that says nothing to a program or a terminal, below the directory that it is joined to.
fn plain(path: &[u8]) -> PathBuf {
    const LONGEST_NAME: usize = 100;
    let plain = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => char::from(*byte),
        _ => '_',
    };
    let names = path.split(|&byte| byte == b'/').map(|name| {
        let name: String = name[name.len().saturating_sub(LONGEST_NAME)..].iter().map(plain).collect();
        // The rules of Git's paths leave no such name in one.
        if name.bytes().all(|byte| byte == b'.') { "_".to_owned() } else { name }
    });
    // A path as long as one can be fits below the directory no more.
    let names: Vec<String> = names.collect();
    names[names.len().saturating_sub(16)..].iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_only_data_to_whoever_gets_it() {
        assert_eq!(plain(b"src/main.rs"), Path::new("src/main.rs"));
        assert_eq!(plain(b"../--x/\x1b[2J;$(y).rs"), Path::new("_/--x/__2J___y_.rs"));
        let long = [&b"d/".repeat(40)[..], &b"x".repeat(300), b".rs"].concat();
        let shown = plain(&long);
        assert!(shown.is_relative() && shown.as_os_str().len() <= 132 && shown.extension().is_some(), "{shown:?}");
    }
}
