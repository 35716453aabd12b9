//! Promise: no inode is shared writable between a Workspace and a trusted asset.

use isobox_tests::Case;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

isobox_tests::promises! {
    every: [
        a_workspace_shares_no_inode_with_the_trusted_repository,
        objects_rewritten_in_place_stay_whole_in_the_trusted_repository,
    ],
}

fn a_workspace_shares_no_inode_with_the_trusted_repository(case: &Case) {
    let arguments = ["run", "--backend", case.backend.name(), "--retain-workspace", "--", "true"];
    let run = case.project.isobox(&arguments);
    assert_eq!(run.code, 0, "{run:?}");
    let trusted = inodes(&case.project.repository());
    let workspaces = case.project.workspaces();
    assert_eq!(workspaces.len(), 1, "{workspaces:?}");
    for (inode, path) in inodes(&workspaces[0]) {
        assert!(!trusted.contains_key(&inode), "{} is {}", path.display(), trusted[&inode].display());
    }
}

fn objects_rewritten_in_place_stay_whole_in_the_trusted_repository(case: &Case) {
    case.run(
        "find .git -type f -exec chmod u+w {} + ; for f in $(find .git/objects -type f); do echo broken > $f; done",
    );
    case.project.git(&["fsck", "--strict", "--full"]);
    assert_eq!(case.project.git(&["status", "--porcelain"]), "");
}

fn inodes(root: &Path) -> HashMap<(u64, u64), PathBuf> {
    let mut found = HashMap::new();
    let mut pending = vec![root.to_path_buf()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let metadata = fs::symlink_metadata(&path).expect("metadata");
            found.insert((metadata.dev(), metadata.ino()), path.clone());
            if metadata.is_dir() {
                pending.push(path);
            }
        }
    }
    found
}
