//! Somebody works in the repository while it is promoted into: nothing of theirs is lost.

use super::fixture::{ChangeSet, RECEIPT, everything};
use isobox_domain::change::ChangeSetRef;
use isobox_domain::content::ContentId;
use isobox_ports::{ApplyError, ChangeLines, Content, Landing, ObjectStore, Route, StoreError, TrustedRepository};
use std::fs;
use std::path::Path;

/// A store that does something when the content of the last path, `typed`, is opened: all paths before were looked at
/// by then.
struct Meddling<'a> {
    set: &'a ChangeSet,
    meddle: &'a (dyn Fn() + Send + Sync),
}

impl ObjectStore for Meddling<'_> {
    fn open(&self, id: &ContentId) -> Result<Option<Content>, StoreError> {
        if *id == ContentId::new(*blake3::hash(b"/etc/passwd").as_bytes()) {
            (self.meddle)();
        }
        self.set.open(id)
    }

    fn changes(&self, change_set: &ChangeSetRef) -> Result<ChangeLines<'_>, StoreError> {
        self.set.changes(change_set)
    }
}

/// What a Promotion says when `meddle` happens in the middle; the tree is then as `meddle` left it.
fn conflict_after(meddle: impl Fn(&Path) + Send + Sync) -> String {
    let (fixture, set) = everything();
    let root = fixture.root();
    let expected = fixture.copy();
    meddle(&expected.root());
    let repository = fixture.repository();
    let mut promotion = repository.begin_promotion().expect("the lock");
    let objects = Meddling { set: &set, meddle: &|| meddle(&root) };
    let error = promotion
        .apply(set.lines(), &objects, Landing::without_commit(&Route::Index), RECEIPT)
        .expect_err("somebody meddled");
    assert_eq!(fixture.tree(), expected.tree());
    assert_eq!(fixture.index(), expected.index());
    assert!(!repository.has_unfinished_promotion());
    match error {
        ApplyError::Conflicts { first, count: 1 } => first.into_iter().next().expect("a conflict"),
        other => panic!("{other:?}"),
    }
}

fn write(path: &Path, name: &str) {
    let path = path.join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("the parent is made");
    fs::write(path, b"theirs").expect("it is written");
}

#[test]
fn an_edit_in_the_middle_is_kept() {
    assert_eq!(
        conflict_after(|root| write(root, "gone/deep/file")),
        "gone/deep/file: it was changed while the promotion was in progress"
    );
}

#[test]
fn a_file_that_appears_in_the_middle_is_kept() {
    assert_eq!(
        conflict_after(|root| write(root, "added/deep/c")),
        "added/deep/c: something appeared in its place while the promotion was in progress"
    );
}

#[test]
fn a_file_that_appears_in_a_directory_that_is_replaced_is_kept() {
    assert_eq!(
        conflict_after(|root| write(root, "directory/sub/theirs")),
        "directory: it was changed while the promotion was in progress"
    );
}

#[test]
fn a_removal_in_the_middle_stays_one() {
    assert_eq!(
        conflict_after(|root| fs::remove_file(root.join("modified")).expect("it is removed")),
        "modified: it is not there any more"
    );
}

#[test]
fn an_index_that_is_in_use_is_left_alone() {
    assert_eq!(
        conflict_after(|root| fs::write(root.join(".git/index.lock"), b"theirs").expect("it is written")),
        "index.lock: another git process seems to be using the index"
    );
}
