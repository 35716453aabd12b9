//! Packs that are staged before they are put in the place of damaged ones.

use crate::dir::{Access, Dir};
use crate::lane_file::hash_file;
use crate::layout::Layout;
use crate::random::random_name;
use isobox_domain::content::ContentId;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;

/// A durable pack that has no name in the store yet. It goes with this, unless it was placed.
pub(super) struct Staged {
    tmp: Dir,
    name: String,
    pub(super) file: File,
    /// The name of its bytes.
    pub(super) id: ContentId,
}

/// The file name of a sealed pack.
pub(super) fn pack_name(id: &ContentId) -> String {
    format!("{}.pack", id.to_hex())
}

impl Staged {
    /// Stages what `write` writes. The caller [keeps it](crate::store::FsTaskStore::keep_staged) from those who start.
    pub(super) fn new(layout: &Layout, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<Self> {
        let (tmp, name) = (layout.root.dir("tmp")?, format!("mend-{}", random_name()?));
        let file = tmp.file(&name, Access::CreateNew)?;
        let mut staged = Self { tmp, name, file, id: ContentId::new([0; 32]) };
        write(&staged.file)?;
        staged.file.set_permissions(Permissions::from_mode(0o444))?;
        staged.file.sync_all()?;
        staged.id = hash_file(&staged.file)?;
        Ok(staged)
    }

    /// Gives it its name.
    pub(super) fn place(&self, packs: &Dir) -> io::Result<()> {
        self.tmp.rename(&self.name, packs, &pack_name(&self.id))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if self.tmp.remove_file(&self.name).is_err() {
            // A start finds and removes it.
        }
    }
}
