//! What capture finds, what it leaves out, and that it obeys nothing in the Workspace.

mod changes;
mod hostile;
mod left_out;
#[path = "../support/mod.rs"]
mod support;
mod uppers;

use isobox_domain::change::ChangeKind;
use isobox_domain::repo_path::RepoPath;
use support::{Kept, Scene, write};

fn repo_path(path: &[u8]) -> RepoPath {
    RepoPath::parse(path).expect("a valid path")
}

fn two_files() -> Scene {
    Scene::new(|root| {
        write(root, b"a.txt", "one\n");
        write(root, b"d/b.txt", "two\n");
    })
}

fn paths(kept: &Kept) -> Vec<(&[u8], ChangeKind)> {
    kept.changes().map(|change| (change.path.as_bytes(), change.kind())).collect()
}
