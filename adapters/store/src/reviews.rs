//! The marks of reviews: lines that are appended to one file of the store, the newest of a subject being the one that holds.

use crate::dir::{Access, Dir};
use crate::error::failed;
use crate::locks::{Sharing, lock};
use crate::random::random_name;
use crate::store::FsTaskStore;
use isobox_domain::review::{Mark, Marks, Subject};
use isobox_ports::{Reviews, StoreError};
use isobox_store_format::mark::{LONGEST_MARK_LINE, decode, encode};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

const FOLDER: &str = "reviews";
const MARKS: &str = "marks";
/// Held while marks are kept.
const LOCK: &str = "reviews";

/// From how many bytes on the file is made anew.
const LONGEST: u64 = 4 << 20;
/// How many bytes of marks are taken along then, the newest ones.
const TAKEN_ALONG: usize = 2 << 20;

impl Reviews for FsTaskStore {
    fn load(&self) -> Result<Marks, StoreError> {
        let root = &self.shared.layout.root;
        let mut marks = Marks::default();
        let read = read(root).map_err(failed("read the marks of reviews in", &root.shown(FOLDER)))?;
        read.into_iter().for_each(|(subject, mark)| marks.put(subject, mark));
        Ok(marks)
    }

    fn keep(&self, marks: &[(Subject, Mark)]) -> Result<(), StoreError> {
        let layout = &self.shared.layout;
        layout.require_writable()?;
        let _lock = lock(layout.locks()?, LOCK, Sharing::Exclusive)?;
        let lines: String = marks.iter().map(|(subject, mark)| encode(subject, mark)).collect();
        append(&layout.root, &lines).map_err(failed("keep a mark in", &layout.root.shown(FOLDER)))
    }
}

/// Every mark, the oldest first.
fn read(root: &Dir) -> io::Result<Vec<(Subject, Mark)>> {
    let Some(folder) = root.find_dir(FOLDER)? else { return Ok(Vec::new()) };
    folder.find_file(MARKS)?.map_or(Ok(Vec::new()), marks_of)
}

/// The marks of a file; of one that something else made too long, those at its end.
fn marks_of(mut file: File) -> io::Result<Vec<(Subject, Mark)>> {
    let surplus = file.metadata()?.len().saturating_sub(2 * LONGEST);
    file.seek(SeekFrom::Start(surplus))?;
    let (mut lines, mut line, mut marks) = (BufReader::new(file), Vec::new(), Vec::new());
    loop {
        line.clear();
        if (&mut lines).take(LONGEST_MARK_LINE as u64).read_until(b'\n', &mut line)? == 0 {
            return Ok(marks);
        }
        // Damage is left out; the end of a line that was torn is none.
        marks.extend(line.strip_suffix(b"\n").and_then(decode));
    }
}

fn append(root: &Dir, lines: &str) -> io::Result<()> {
    let is_new = root.make_dir(FOLDER)?;
    let folder = root.dir(FOLDER)?;
    let is_first = folder.find_file(MARKS)?.is_none();
    let mut file = folder.file(MARKS, Access::Create)?;
    let end = file.seek(SeekFrom::End(0))?;
    let lines = if is_torn(&file, end)? { format!("\n{lines}") } else { lines.to_owned() };
    if let Err(error) = file.write_all(lines.as_bytes()).and_then(|()| file.sync_data()) {
        // What was written of it is no mark of anybody.
        file.set_len(end)?;
        return Err(error);
    }
    if is_first {
        folder.sync()?;
    }
    if is_new {
        root.sync()?;
    }
    if end > LONGEST { replace(&folder, file) } else { Ok(()) }
}

fn is_torn(file: &File, end: u64) -> io::Result<bool> {
    let mut last = *b"\n";
    if end > 0 {
        file.read_exact_at(&mut last, end - 1)?;
    }
    Ok(last != *b"\n")
}

/// Makes the file anew, with the newest marks alone.
fn replace(folder: &Dir, file: File) -> io::Result<()> {
    let (mut known, mut newest, mut length) = (HashSet::new(), Vec::new(), 0);
    for (subject, mark) in marks_of(file)?.into_iter().rev().filter(|(subject, _)| known.insert(*subject)) {
        let line = encode(&subject, &mark);
        length += line.len();
        if length > TAKEN_ALONG {
            break;
        }
        newest.push(line);
    }
    newest.reverse();
    let name = random_name()?;
    let mut file = folder.file(&name, Access::CreateNew)?;
    let written = file.write_all(newest.concat().as_bytes()).and_then(|()| file.sync_data());
    if let Err(error) = written.and_then(|()| folder.rename(&name, folder, MARKS)) {
        folder.remove_file(&name)?;
        return Err(error);
    }
    folder.sync()
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::content::ContentId;
    use isobox_domain::review::Verdict;
    use std::fs;
    use std::path::PathBuf;

    fn subject(number: u32) -> Subject {
        let mut id = [0; 32];
        id[..4].copy_from_slice(&number.to_be_bytes());
        Subject::File(ContentId::new(id))
    }

    fn mark(note: &str) -> Mark {
        Mark { verdict: Verdict::Rejected, is_reviewed: true, note: note.to_owned() }
    }

    fn store() -> (tempfile::TempDir, FsTaskStore, PathBuf) {
        let records = tempfile::tempdir().unwrap();
        let store = FsTaskStore::create(records.path()).unwrap();
        let file = records.path().join("store/reviews/marks");
        (records, store, file)
    }

    fn noted(store: &FsTaskStore, number: u32) -> String {
        store.load().unwrap().of(&subject(number)).note
    }

    #[test]
    fn what_was_kept_is_loaded_by_later_processes_and_the_newest_holds() {
        let (records, store, _) = store();
        assert!(store.load().unwrap().is_empty());
        store.keep(&[(subject(1), mark("a")), (subject(2), mark("b"))]).unwrap();
        store.keep(&[(subject(1), mark("c"))]).unwrap();
        let later = FsTaskStore::open(records.path()).unwrap().unwrap();
        assert_eq!((noted(&later, 1), noted(&later, 2)), ("c".to_owned(), "b".to_owned()));
    }

    #[test]
    fn of_marks_that_are_kept_at_once_none_is_lost() {
        let (records, store, _) = store();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let store = FsTaskStore::open(records.path()).unwrap().unwrap();
                scope.spawn(move || (0..8).for_each(|n| store.keep(&[(subject(number * 8 + n), mark("x"))]).unwrap()));
            }
        });
        assert_eq!(store.load().unwrap().len(), 64);
    }

    #[test]
    fn damage_costs_the_marks_that_it_hits() {
        let (_records, store, file) = store();
        (0..3).for_each(|number| store.keep(&[(subject(number), mark("x"))]).unwrap());
        let mut bytes = fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        bytes.truncate(bytes.len() - 1);
        fs::write(&file, bytes).unwrap();
        assert_eq!([0, 1, 2].map(|number| noted(&store, number)), ["x", "", ""], "a torn line is no mark");
        store.keep(&[(subject(4), mark("y"))]).unwrap();
        assert_eq!([0, 4].map(|number| noted(&store, number)), ["x", "y"]);
    }

    #[test]
    fn a_link_in_the_place_of_the_marks_is_not_followed() {
        let (records, store, file) = store();
        store.keep(&[(subject(1), mark("x"))]).unwrap();
        let other = records.path().join("other");
        fs::rename(&file, &other).unwrap();
        std::os::unix::fs::symlink(&other, &file).unwrap();
        assert!(store.load().is_err() && store.keep(&[(subject(2), mark("y"))]).is_err());
        assert!(!fs::read_to_string(other).unwrap().contains(" y"));
    }

    #[test]
    fn a_mark_for_which_there_is_no_room_costs_none_that_was_kept() {
        use nix::sys::resource::{Resource, getrlimit, setrlimit};
        let (_records, store, file) = store();
        store.keep(&[(subject(1), mark("a"))]).unwrap();
        let length = fs::metadata(&file).unwrap().len();
        // A write over the limit fails, as one to a full disk does; see setrlimit(2). A part of the mark still fits.
        nix::sys::signal::SigSet::from(nix::sys::signal::Signal::SIGXFSZ).thread_block().unwrap();
        let (soft, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
        setrlimit(Resource::RLIMIT_FSIZE, length + 20, hard).unwrap();
        let kept = store.keep(&[(subject(2), mark("b"))]);
        setrlimit(Resource::RLIMIT_FSIZE, soft, hard).unwrap();
        let refused = kept.unwrap_err();
        assert_eq!(refused.kind, isobox_ports::StoreErrorKind::Full);
        assert_eq!((fs::metadata(&file).unwrap().len(), noted(&store, 1)), (length, "a".to_owned()));
    }

    #[test]
    fn a_file_that_grew_long_keeps_the_newest_marks() {
        let (_records, store, file) = store();
        let note = "n".repeat(1900);
        let marks: Vec<_> =
            (1..1500).flat_map(|number| [number, 0].map(|number| (subject(number), mark(&note)))).collect();
        store.keep(&marks).unwrap();
        store.keep(&[(subject(1500), mark("last"))]).unwrap();
        assert!(fs::metadata(&file).unwrap().len() <= TAKEN_ALONG as u64);
        assert_eq!(noted(&store, 1500), "last");
        assert_eq!([0, 1499, 1].map(|number| noted(&store, number)), [note.clone(), note, String::new()]);
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing else is left");
    }
}
