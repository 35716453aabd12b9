//! Derived tables of a store into which none can be written: in a file without a name, which goes with the process.

use super::paged::PagedFile;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

/// The tables of one process, one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Aside(Mutex<Option<Tables>>);

#[derive(Debug)]
struct Tables {
    file: Arc<File>,
    end: u64,
}

impl Aside {
    /// Adds the table that `write` writes. Errs where the temporary directory takes none.
    pub(super) fn add(&self, write: impl FnOnce(BufWriter<&File>) -> io::Result<()>) -> io::Result<PagedFile> {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let tables = match &mut *tables {
            Some(tables) => tables,
            none => none.insert(Tables { file: Arc::new(tempfile::tempfile()?), end: 0 }),
        };
        let (mut file, start) = (&*tables.file, tables.end);
        // Behind the last whole one: what another left that could not be written is written over.
        file.seek(SeekFrom::Start(start))?;
        write(BufWriter::new(file))?;
        tables.end = file.stream_position()?;
        Ok(PagedFile::Kept { file: Arc::clone(&tables.file), start })
    }
}
