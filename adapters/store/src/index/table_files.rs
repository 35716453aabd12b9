//! Where derived tables lie: of a sealed pack beside it, of a lane in the cache.

use super::paged::PagedFile;
use super::source::Keep;
use super::table::Table;
use super::{Pack, lane_name, readable};
use crate::dir::{Access, Dir};
use crate::lane_tail::commit_ending_at;
use crate::layout::Layout;
use crate::random::random_name;
use std::fs::File;
use std::io::{self, BufWriter};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

/// So many bytes of a table are written at once.
const WRITTEN_AT_ONCE: usize = 1 << 16;

/// The table of a lane or pack, if it has a sound one that is of `file`.
pub(super) fn find_table(
    layout: &Layout,
    pack: Pack,
    file: &File,
    length: u64,
    keep: Keep,
) -> io::Result<Option<Table>> {
    let Some(table) = open_table(layout, pack, keep)? else { return Ok(None) };
    let is_of_this_file = match pack {
        // One that was cut off since does not have what its table says.
        Pack::Sealed(id) => table.belongs_to == id && table.covered == readable(length),
        Pack::Lane(_) if table.covered > length => false,
        Pack::Lane(_) => {
            let last = commit_ending_at(file, layout.format.store, table.covered)?;
            last.is_some_and(|last| last.id == table.belongs_to)
        }
    };
    Ok(is_of_this_file.then_some(table))
}

/// The table of a lane or pack, if there is a sound one: a missing or damaged one is no loss.
pub(super) fn open_table(layout: &Layout, pack: Pack, keep: Keep) -> io::Result<Option<Table>> {
    let found = match pack {
        Pack::Sealed(id) => find_paged(&layout.packs, format!("{}.idx", id.to_hex()), keep)?,
        Pack::Lane(lane) => match layout.root.find_dir("cache").unwrap_or(None) {
            Some(cache) => find_paged(&Arc::new(cache), lane_table_name(lane), Keep::Open)?,
            None => None,
        },
    };
    match found.map(|file| Table::open(file, pack)).transpose() {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(None),
        table => table,
    }
}

fn find_paged(dir: &Arc<Dir>, name: String, keep: Keep) -> io::Result<Option<PagedFile>> {
    let Some(file) = dir.find_file(&name)? else { return Ok(None) };
    Ok(Some(match keep {
        Keep::Open => PagedFile::whole(file),
        Keep::Closed => PagedFile::Named { dir: Arc::clone(dir), name, inode: file.metadata()?.ino() },
    }))
}

/// Puts the table that `write` writes in its place, whole.
pub(super) fn write_table(
    layout: &Layout,
    pack: Pack,
    write: impl FnOnce(BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    layout.root.make_dir("cache")?;
    let cache = layout.root.dir("cache")?;
    let name = format!("new-{}", random_name()?);
    let written =
        cache.file(&name, Access::CreateNew).and_then(|file| write(BufWriter::with_capacity(WRITTEN_AT_ONCE, file)));
    let placed = written.and_then(|()| match pack {
        Pack::Sealed(id) => cache.rename(&name, &layout.packs, &format!("{}.idx", id.to_hex())),
        Pack::Lane(lane) => cache.rename(&name, &cache, &lane_table_name(lane)),
    });
    if placed.is_err() {
        cache.remove_file(&name)?;
    }
    placed
}

/// Removes the table of a lane that was sealed. It is no loss, and of no use.
pub(crate) fn remove_lane_table(layout: &Layout, lane: u8) -> io::Result<()> {
    let cache = layout.root.find_dir("cache")?;
    cache.map_or(Ok(()), |cache| cache.remove_file(&lane_table_name(lane)))
}

fn lane_table_name(lane: u8) -> String {
    lane_name(lane).replace(".pack", ".idx")
}
