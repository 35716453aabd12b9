//! Looking at a whole pristine copy once after each start of the machine.
//!
//! A copy is not flushed to disk when it is made, which would cost more than to make it. So after a loss of power its newest
//! files may be cut off, although the seal is there. The file `boot` names the start of the machine in which all was seen.

use super::held::Held;
use super::seal::hash_of_git;
use crate::fields::{invalid, open_regular, read_regular};
use crate::oid;
use crate::random::random_name;
use crate::stat_cache::StatCache;
use crate::workspace::base::Base;
use isobox_domain::change::Mode;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// How the kernel names this start of the machine. See random(4).
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// What is noted in place of a start where a look found damage.
const CONDEMNED: &[u8] = b"damaged\n";
/// Longest id, in bytes, with its end of line.
const LONGEST: u64 = 64;

/// Notes that the copy in `directory` was made or seen in this start of the machine.
pub(super) fn note(directory: &Path) -> io::Result<()> {
    put(directory, &std::fs::read(BOOT_ID)?)
}

fn put(directory: &Path, noted: &[u8]) -> io::Result<()> {
    // Renamed into its place, so that whatever else lies there is neither followed nor waited for.
    let written = directory.join(format!("boot-{}", random_name()?));
    let put = std::fs::write(&written, noted).and_then(|()| std::fs::rename(&written, directory.join("boot")));
    // Why it was not put matters more than what could be left of it.
    put.inspect_err(|_| std::fs::remove_file(&written).unwrap_or_default())
}

/// Notes that the copy in `directory` is not as it was made, for whoever wants it next.
pub(super) fn condemn(directory: &Path) -> io::Result<()> {
    // What has no seal is damaged, too; to remove one takes no space on a disk that is full.
    put(directory, CONDEMNED).or_else(|_| gone(&directory.join("seal")))
}

/// Whether that was noted.
pub(super) fn is_condemned(directory: &Path) -> bool {
    read_regular(&directory.join("boot"), LONGEST).is_ok_and(|noted| noted == CONDEMNED)
}

/// Takes back that it was seen in this start: the next look is at all of it. What is condemned stays so.
pub(super) fn forget(directory: &Path) -> io::Result<()> {
    if is_condemned(directory) { Ok(()) } else { gone(&directory.join("boot")) }
}

fn gone(file: &Path) -> io::Result<()> {
    std::fs::remove_file(file).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
}

/// Whether the copy is whole as far as was seen in this start of the machine, after a look at all of it if none was.
pub(super) fn is_seen(held: &Held) -> io::Result<bool> {
    let id = std::fs::read(BOOT_ID)?;
    let is_noted = |held: &Held| read_regular(&held.place.join("boot"), LONGEST).is_ok_and(|noted| noted == id);
    if held.all().all(is_noted) {
        return Ok(true);
    }
    if held.all().any(|held| is_condemned(&held.place)) || see(held).is_err() {
        return Ok(false);
    }
    // Where it cannot be noted, each use looks anew.
    held.all().for_each(|held| note(&held.place).unwrap_or_default());
    Ok(true)
}

/// Looks at all of the copy, and reads its packs.
pub(super) fn verify(held: &Held) -> io::Result<()> {
    see(held)?;
    let packs = Base::load(&held.base())?.packs;
    packs.iter().try_for_each(|pack| {
        let mut file = open_regular(&pack_directory(held, pack)?.join(format!("{pack}.pack")))?;
        let hash = oid::kind(&held.seal.commit);
        let end = file.seek(SeekFrom::End(-(hash.len_in_bytes() as i64)))?;
        file.rewind()?;
        let mut hasher = gix::hash::hasher(hash);
        oid::hash_all(&mut hasher, &mut file.by_ref().take(end))?;
        let mut noted = Vec::new();
        file.read_to_end(&mut noted)?;
        let found = hasher.try_finalize().map_err(io::Error::other)?;
        if found.as_slice() == noted { Ok(()) } else { Err(invalid("a pack is damaged")) }
    })
}

fn see(held: &Held) -> io::Result<()> {
    for held in held.all() {
        if hash_of_git(&held.place)? != held.seal.git {
            return Err(invalid("a file of .git is not as it was made"));
        }
    }
    let base = Base::load(&held.base())?;
    let mut made = StatCache::open(&held.stat_cache())?.first()?;
    while let Some(entry) = made.take()? {
        let found = held.find(&entry.path)?.ok_or_else(|| invalid("a file is missing"))?;
        if entry.mode != Mode::Submodule && found.stat != entry.stat {
            return Err(invalid("a file is not as it was made"));
        }
    }
    let hash = oid::kind(&held.seal.commit);
    gix::index::File::at(held.place.join("tree/.git/index"), hash, false, Default::default())
        .map_err(io::Error::other)?;
    base.packs.iter().try_for_each(|pack| see_pack(held, pack, hash.len_in_bytes()))
}

fn pack_directory(held: &Held, pack: &str) -> io::Result<PathBuf> {
    let mut packs = held.all().map(|held| held.place.join("tree/.git/objects/pack"));
    packs.find(|packs| packs.join(format!("{pack}.pack")).exists()).ok_or_else(|| invalid("a pack is missing"))
}

/// A pack ends with its hash, by which it is named, and so does the first part of the end of its index.
fn see_pack(held: &Held, pack: &str, hash_bytes: usize) -> io::Result<()> {
    let directory = pack_directory(held, pack)?;
    for (extension, from_end) in [("pack", hash_bytes), ("idx", 2 * hash_bytes)] {
        let mut file = open_regular(&directory.join(format!("{pack}.{extension}")))?;
        file.seek(SeekFrom::End(-(from_end as i64)))?;
        let mut hash = vec![0; hash_bytes];
        file.read_exact(&mut hash)?;
        if pack.strip_prefix("pack-") != Some(&isobox_domain::content::hex(&hash)) {
            return Err(invalid("a pack is cut off"));
        }
    }
    Ok(())
}
