//! What an Import tells: its totals, and each directory or record that it could not take over.

use crate::output::console::Console;
use crate::output::text::counted;
use crate::use_case::import::Verdict;
use isobox_domain::escape::Escaped;
use isobox_domain::record::RecordEntry;
use serde_json::json;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Counts what comes, and writes what is worth telling as it comes.
pub(crate) struct ImportWriter<W: Write> {
    out: W,
    console: Console,
    is_document: bool,
    told: u64,
    imported: u64,
    unchanged: u64,
    continued: u64,
    views: u64,
    not_importable: u64,
    refused: u64,
    damaged: u64,
}

impl<W: Write> ImportWriter<W> {
    /// Begins: a JSON document of schema `isobox.import/v1`, or lines for people.
    pub(crate) fn new(mut out: W, console: Console, is_document: bool) -> io::Result<Self> {
        if is_document {
            out.write_all(b"{\"schema\":\"isobox.import/v1\",\"directories\":[")?;
        }
        let (told, imported, unchanged, continued) = (0, 0, 0, 0);
        let (views, not_importable, refused, damaged) = (0, 0, 0, 0);
        let counts = Self {
            out,
            console,
            is_document,
            told,
            imported,
            unchanged,
            continued,
            views,
            not_importable,
            refused,
            damaged,
        };
        Ok(counts)
    }

    /// Adds a place that could not even be looked into.
    pub(crate) fn unreadable(&mut self, path: &Path, reason: &str) -> io::Result<()> {
        self.refused += 1;
        self.tell(&shown(path), "refused", &[reason])
    }

    /// Adds an Archive of which a part is damaged: what is whole is still taken over.
    pub(crate) fn damaged(&mut self, path: &Path, reason: &str) -> io::Result<()> {
        self.damaged += 1;
        self.tell(&shown(path), "damaged", &[reason])
    }

    /// Adds what came of a record of the store or Archive in `place`.
    pub(crate) fn add_record(
        &mut self,
        place: &Path,
        entry: Option<&RecordEntry>,
        verdict: &Verdict,
    ) -> io::Result<()> {
        let path = match entry {
            Some(entry) => format!("{}#{}", shown(place), entry.task),
            None => shown(place),
        };
        self.count(&path, verdict)
    }

    /// Adds what came of the directory `name` in `place`.
    pub(crate) fn add(&mut self, place: &Path, name: &[u8], verdict: &Verdict) -> io::Result<()> {
        let is_itself = place.file_name().is_some_and(|last| last.as_bytes() == name);
        let path = if is_itself { place.to_owned() } else { place.join(OsStr::from_bytes(name)) };
        self.count(&shown(&path), verdict)
    }

    fn count(&mut self, path: &str, verdict: &Verdict) -> io::Result<()> {
        let (count, word, sentences) = match verdict {
            Verdict::Imported { warnings } => {
                (&mut self.imported, "imported", warnings.iter().map(String::as_str).collect())
            }
            Verdict::Unchanged => (&mut self.unchanged, "unchanged", Vec::new()),
            Verdict::Continued { .. } => (&mut self.continued, "continued", Vec::new()),
            Verdict::Partly { reason } => (&mut self.refused, "partly", vec![reason.as_str()]),
            Verdict::View => (&mut self.views, "view", Vec::new()),
            Verdict::NotImportable { reason } => (&mut self.not_importable, "not_importable", vec![reason.as_str()]),
            Verdict::Refused { reason } => (&mut self.refused, "refused", vec![reason.as_str()]),
        };
        *count += 1;
        if sentences.is_empty() { Ok(()) } else { self.tell(path, word, &sentences) }
    }

    fn tell(&mut self, path: &str, word: &str, sentences: &[&str]) -> io::Result<()> {
        if self.is_document {
            let comma = if self.told == 0 { "" } else { "," };
            self.told += 1;
            let entry = json!({ "path": path, "result": word, "reasons": sentences });
            return write!(self.out, "{comma}\n{entry}");
        }
        let what = match word {
            "refused" => "not imported",
            "partly" => "its record is here, but not all that happened to it",
            "damaged" => "damaged",
            "not_importable" => "its record cannot be read; its artifacts were kept",
            _ => "imported",
        };
        for sentence in sentences {
            // What a hostile record says is in it, escaped where it was cited; a parser's own words are harmless.
            self.console.warning(&format!("{path}: {what}: {}", Escaped(sentence.as_bytes())));
        }
        Ok(())
    }

    /// Whether nothing at all was found, and nothing has been written yet.
    pub(crate) const fn is_empty(&self) -> bool {
        !self.is_document
            && self.imported + self.unchanged + self.continued + self.views == 0
            && self.not_importable + self.refused + self.damaged == 0
    }

    /// Ends with the totals, and with what lists the records, `place` being the flags of their store; how much was not
    /// imported whole.
    pub(crate) fn finish(mut self, place: &str) -> io::Result<u64> {
        let left_out = self.not_importable + self.refused + self.damaged;
        if self.is_document {
            let end = if self.told == 0 { "" } else { "\n" };
            writeln!(
                self.out,
                "{end}],\"imported\":{},\"unchanged\":{},\"continued\":{},\"views\":{},\"not_importable\":{},\"refused\":{},\
                 \"damaged\":{}}}",
                self.imported,
                self.unchanged,
                self.continued,
                self.views,
                self.not_importable,
                self.refused,
                self.damaged
            )?;
        } else {
            let mut parts = vec![format!("imported {}", counted(self.imported, "record"))];
            let others = [
                (self.unchanged, "imported before"),
                (self.continued, "imported before with news about them"),
                (self.views, "isobox's own views"),
                (self.not_importable, "with unreadable records, whose artifacts were kept"),
                (self.refused, "refused"),
                (self.damaged, "damaged archives, of which what is whole was imported"),
            ];
            parts
                .extend(others.iter().filter(|(count, _)| *count > 0).map(|(count, words)| format!("{count} {words}")));
            writeln!(self.out, "{}", parts.join(", "))?;
            self.out.flush()?;
            if self.imported > 0 {
                self.console.line(&format!("next: isobox list{place}"));
            }
            if self.views > 0 {
                self.console.line(
                    "a view is a copy for reading, and not imported: `isobox export --format archive` makes what can be",
                );
            }
        }
        self.out.flush()?;
        Ok(left_out)
    }
}

fn shown(path: &Path) -> String {
    Escaped(path.as_os_str().as_bytes()).to_string()
}
