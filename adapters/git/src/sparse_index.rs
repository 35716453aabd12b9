//! An index that stands for whole directories with one entry each, made plain: gix compares plain ones only.

use gix::bstr::{BString, ByteSlice};
use gix::index::entry::{Flags, Stat};
use gix::index::{File, State};

/// `index` with every file of the directories that are not checked out, marked as such.
pub(crate) fn expand(repository: &gix::Repository, index: &File) -> gix::Result<File> {
    let mut plain = State::new(repository.object_hash());
    // What was written in the same moment as the index is compared by content: the moment must stay.
    plain.set_timestamp(index.timestamp());
    for entry in index.entries() {
        let path = entry.path(index);
        if !entry.mode.is_sparse() {
            plain.dangerously_push_entry(entry.stat, entry.id, entry.flags, entry.mode, path);
            continue;
        }
        let inside = State::from_tree(&entry.id, &repository.objects, Default::default())?;
        for file in inside.entries() {
            let path = BString::from([path.as_bytes(), file.path(&inside)].concat());
            plain.dangerously_push_entry(Stat::default(), file.id, Flags::SKIP_WORKTREE, file.mode, path.as_bstr());
        }
    }
    plain.sort_entries();
    Ok(File::from_state(plain, index.path()))
}
