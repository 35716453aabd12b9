//! Reading many objects of a repository in little memory.
//!
//! gix maps a pack as a whole, and every page of it that was ever read counts as this process's memory for as long as the
//! map is there. So the maps are let go from time to time.

use gix::odb::Store;
use gix::odb::store::init::Options;
use std::io;
use std::sync::Arc;

/// Reads after which maps are let go. Each may touch 16 pages, for the kernel maps those around one that is read, too.
const READS_OF_ONE_MAP: u32 = 128;

/// A repository that many objects are read from. A pack that is removed between two looks at it stays readable. For one
/// thread; a clone serves another.
#[derive(Clone)]
pub(crate) struct ObjectReader {
    repository: gix::Repository,
    reads: u32,
}

impl ObjectReader {
    /// One that reads from `repository`.
    pub(crate) fn new(mut repository: gix::Repository) -> Self {
        repository.objects.prevent_pack_unload();
        Self { repository, reads: 0 }
    }

    /// The repository, to read one more object from.
    pub(crate) fn next(&mut self) -> io::Result<&gix::Repository> {
        self.reads += 1;
        if self.reads.is_multiple_of(READS_OF_ONE_MAP) {
            self.let_go()?;
        }
        Ok(&self.repository)
    }

    /// The repository, to look at what is no object.
    pub(crate) fn repository(&self) -> &gix::Repository {
        &self.repository
    }

    /// Opens the same objects once more, and drops what is mapped of them here.
    fn let_go(&mut self) -> io::Result<()> {
        let old = self.repository.objects.store_ref();
        let (path, hash) = (old.path().to_owned(), old.object_hash());
        let options = Options { use_multi_pack_index: old.use_multi_pack_index(), ..Options::default() };
        // Nothing is replaced: see git_config.rs.
        let objects = Store::at_opts(path, hash, &mut std::iter::empty(), options)?;
        let mut repository = self.repository.clone().into_sync();
        repository.objects = Arc::new(objects);
        self.repository = repository.to_thread_local();
        self.repository.objects.prevent_pack_unload();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gix::ObjectId;
    use std::fs::{self, File};
    use std::path::Path;
    use std::process::{Command, Stdio};

    const BLOBS: usize = 4_000;
    const BYTES_OF_ONE: usize = 8 << 10;

    fn resident_bytes(directory: &Path) -> u64 {
        let maps = fs::read_to_string("/proc/self/smaps").expect("the kernel tells what is mapped");
        let mut maps =
            maps.lines().skip_while(|line| !line.contains(&*directory.to_string_lossy()) || !line.ends_with(".pack"));
        let line = maps.find(|line| line.starts_with("Rss:")).expect("a pack is mapped");
        line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a number") << 10
    }

    /// A repository with one pack of blobs that nothing makes smaller.
    fn packed(directory: &Path) -> Vec<ObjectId> {
        let git = |arguments: &[&str], input: Stdio| {
            let status = Command::new("git").args(arguments).stdin(input).current_dir(directory).status();
            assert!(status.expect("git starts").success(), "{arguments:?}");
        };
        let (mut state, mut stream) = (1_u64, Vec::new());
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        for mark in 1..=BLOBS {
            stream.extend(format!("blob\nmark :{mark}\ndata {BYTES_OF_ONE}\n").into_bytes());
            stream.extend(std::iter::repeat_with(&mut noise).take(BYTES_OF_ONE));
        }
        fs::write(directory.join("stream"), stream).expect("it is written");
        let stream = File::open(directory.join("stream")).expect("it opens");
        git(&["init", "-q"], Stdio::null());
        git(&["fast-import", "--quiet", "--export-marks=marks"], stream.into());
        let marks = fs::read_to_string(directory.join("marks")).expect("they are read");
        let oids = marks.lines().filter_map(|line| line.split_once(' '));
        oids.map(|(_, oid)| ObjectId::from_hex(oid.as_bytes()).expect("an oid")).collect()
    }

    #[test]
    fn what_was_read_of_a_pack_does_not_stay_in_memory() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let blobs = packed(directory.path());
        let mut reader = ObjectReader::new(gix::open(directory.path()).expect("it opens"));
        for oid in &blobs {
            let blob = reader.next().expect("it opens").find_blob(*oid).expect("it is read").detach();
            assert_eq!(blob.data.len(), BYTES_OF_ONE);
        }
        let resident = resident_bytes(directory.path());
        assert!(resident < (blobs.len() * BYTES_OF_ONE) as u64 / 3, "{resident} bytes are resident");
    }
}
