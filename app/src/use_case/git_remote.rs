//! Git's side of a Task Result that is fetched: the conversation of gitremote-helpers(7), of which nothing can be pushed.

use crate::failure::{Failure, FailureKind};
use crate::use_case::result_commit::{self, Ports};
use crate::use_case::select::Selected;
use isobox_domain::escape::Escaped;
use isobox_domain::git_oid::GitOid;
use std::io::{self, BufRead, Read, Write};

/// Longest line that Git is listened to, in bytes: a reference may have 4096, and an option a path.
const MAX_LINE_BYTES: u64 = 64 * 1024;

/// Answers what Git asks until it has no more questions. Each answer is flushed before the next question is read.
pub(crate) fn serve(
    ports: &Ports<'_>,
    selected: &Selected,
    input: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut remote = Remote { ports, selected, listed: None, format: ObjectFormat::Untold };
    while let Some(line) = read_line(input)? {
        if line.is_empty() {
            return Ok(());
        }
        let answer = match line.as_slice() {
            // Pushing is offered so that Git comes to ask for it, and is told why it cannot.
            b"capabilities" => "fetch\noption\npush\nobject-format\n\n".to_owned(),
            b"list" => remote.list()?,
            b"list for-push" => return Err(read_only(selected)),
            line => match line.split(|byte| *byte == b' ').next() {
                Some(b"option") => remote.option(line),
                Some(b"fetch") => remote.fetch(line, input)?,
                Some(b"push") => return Err(read_only(selected)),
                _ => return Err(unknown(line)),
            },
        };
        out.write_all(answer.as_bytes()).and_then(|()| out.flush()).map_err(unanswered)?;
    }
    Ok(())
}

/// Whether Git wants to be told by which hash objects are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ObjectFormat {
    Untold,
    Told,
}

struct Remote<'a> {
    ports: &'a Ports<'a>,
    selected: &'a Selected,
    /// The commit that Git was told of.
    listed: Option<GitOid>,
    format: ObjectFormat,
}

impl Remote<'_> {
    /// One branch, which bears the name of the Task, and HEAD. The repository is as it was.
    fn list(&mut self) -> Result<String, Failure> {
        let id = result_commit::make_aside(self.ports, self.selected)?.id();
        self.listed = Some(id);
        let task = self.selected.record.task;
        let format = match (self.format, id) {
            (ObjectFormat::Untold, _) => "",
            (ObjectFormat::Told, GitOid::Sha1(_)) => ":object-format sha1\n",
            (ObjectFormat::Told, GitOid::Sha256(_)) => ":object-format sha256\n",
        };
        Ok(format!("{format}@refs/heads/{task} HEAD\n{id} refs/heads/{task}\n\n"))
    }

    fn option(&mut self, line: &[u8]) -> String {
        match line {
            b"option object-format true" => {
                self.format = ObjectFormat::Told;
                "ok\n".to_owned()
            }
            _ if line.starts_with(b"option verbosity ") || line.starts_with(b"option progress ") => "ok\n".to_owned(),
            _ => "unsupported\n".to_owned(),
        }
    }

    /// Puts the commit into the repository, once for all lines of a batch, which an empty one ends.
    fn fetch(&mut self, first: &[u8], input: &mut dyn BufRead) -> Result<String, Failure> {
        self.check_wanted(first)?;
        loop {
            match read_line(input)? {
                None => return Err(unknown(b"")),
                Some(line) if line.is_empty() => break,
                Some(line) => self.check_wanted(&line)?,
            }
        }
        let made = result_commit::make(self.ports, self.selected)?;
        if Some(made) != self.listed {
            let message = "who commits here is not who it was a moment ago, so the commit is another one";
            return Err(Failure::new(FailureKind::General, message).with_hint("fetch again"));
        }
        Ok("\n".to_owned())
    }

    fn check_wanted(&self, line: &[u8]) -> Result<(), Failure> {
        let mut words = line.split(|byte| *byte == b' ');
        let wanted = (words.next(), words.next().and_then(|oid| GitOid::from_hex(std::str::from_utf8(oid).ok()?)));
        match (wanted, self.listed) {
            ((Some(b"fetch"), Some(wanted)), Some(listed)) if wanted == listed => Ok(()),
            _ => Err(unknown(line)),
        }
    }
}

/// A line without its end; `None` where Git went away.
fn read_line(input: &mut dyn BufRead) -> Result<Option<Vec<u8>>, Failure> {
    let mut line = Vec::new();
    let read = input.take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
    let unread = |error: io::Error| Failure::new(FailureKind::General, "read what Git asks").because(error);
    match (read.map_err(unread)?, line.pop()) {
        (_, None) => Ok(None),
        (_, Some(b'\n')) => Ok(Some(line)),
        (length, Some(_)) if length as u64 >= MAX_LINE_BYTES => {
            Err(Failure::new(FailureKind::General, format!("Git asks in a line of more than {MAX_LINE_BYTES} bytes")))
        }
        // Half a line asks nothing.
        _ => Ok(None),
    }
}

fn read_only(selected: &Selected) -> Failure {
    let task = selected.record.task;
    let message = format!("the result of {task} is read-only: it can be fetched, and nothing can be pushed to it");
    Failure::new(FailureKind::General, message)
}

fn unknown(line: &[u8]) -> Failure {
    let shown = Escaped(&line[..line.len().min(200)]);
    Failure::new(FailureKind::General, format!("Git asks `{shown}`, which is no question for a task's result"))
}

fn unanswered(error: io::Error) -> Failure {
    Failure::new(FailureKind::General, "answer Git").because(error)
}
