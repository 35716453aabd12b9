//! Git as an oracle: a capture of random messy edits is the tree that `git add -A` makes of the same edits elsewhere, and
//! its patch makes that tree of the base. An overlay gives what a copy does. `ISOBOX_ORACLE_CASES` asks for more cases than
//! the default.

mod support;

use isobox_domain::change::{Change, Mode};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError};
use std::fs;
use std::path::Path;
use support::edits::{Edit, Site, edit, fill};
use support::overlay::{Laid, kinds};
use support::{Kept, Scene, at, chmod, git, git_line, git_with_input, link, write};

/// The tree of a directory's files, with everything forced in.
fn tree(directory: &Path) -> String {
    git_line(directory, &["add", "-A", "-f"]);
    git_line(directory, &["write-tree"])
}

/// Replays a capture onto a clone of its base.
fn replay(kept: &Kept, root: &Path) {
    for change in kept.changes().filter(|change| change.before.is_some()) {
        fs::remove_file(at(root, change.path.as_bytes())).expect("what was changed was there");
        remove_empty_parents(root, change);
    }
    for change in kept.changes() {
        let Some(after) = &change.after else { continue };
        let bytes = kept.bytes(change.path.as_bytes()).expect("its content was staged");
        match after.mode {
            Mode::Symlink => {
                fs::create_dir_all(at(root, change.path.as_bytes()).parent().expect("a parent")).expect("parents");
                link(root, change.path.as_bytes(), bytes);
            }
            mode => {
                write(root, change.path.as_bytes(), bytes);
                chmod(root, change.path.as_bytes(), if mode == Mode::Executable { 0o755 } else { 0o644 });
            }
        }
    }
}

fn remove_empty_parents(root: &Path, change: &Change) {
    let path = at(root, change.path.as_bytes());
    for parent in path.ancestors().skip(1).take_while(|parent| *parent != root) {
        if fs::remove_dir(parent).is_err() {
            break;
        }
    }
}

fn agrees_with_git(edits: &[Edit], attributes: &str) -> Result<(), TestCaseError> {
    let scene = Scene::new(|root| fill(root, attributes));
    let oracle = scene.clone("oracle");
    let lower = scene.another();
    for root in [scene.root(), &oracle] {
        Site::of(root).perform_all(edits);
    }
    let kept = scene.capture();
    for kind in kinds() {
        let laid = Laid::on(&scene, &lower, kind);
        laid.edit(edits);
        prop_assert_eq!(&laid.capture().recorded, &kept.recorded, "as an overlay, {:?}", kind);
    }
    let added = git(&oracle, &["add", "-A"]);
    prop_assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    let expected = git_line(&oracle, &["write-tree"]);
    let replayed = scene.clone("replayed");
    replay(&kept, &replayed);
    prop_assert_eq!(tree(&replayed), expected.clone(), "the captured tree; lines: {:#?}", kept.lines);
    if attributes.is_empty() {
        let patched = scene.clone("patched");
        let applied = git_with_input(&patched, &["apply", "--binary", "--allow-empty", "-"], &kept.patch);
        let why = String::from_utf8_lossy(&applied.stderr).into_owned();
        prop_assert!(applied.status.success(), "{}\n{}", why, String::from_utf8_lossy(&kept.patch));
        prop_assert_eq!(tree(&patched), expected, "the patched tree; {}", String::from_utf8_lossy(&kept.patch));
    }
    Ok(())
}

fn config() -> ProptestConfig {
    let cases = std::env::var("ISOBOX_ORACLE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(24);
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x0150_b0c5),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_captured_tree_and_its_patch_are_what_git_makes_of_the_same_edits(
        edits in prop::collection::vec(edit(), 1..25),
    ) {
        agrees_with_git(&edits, "")?;
    }

    #[test]
    fn a_captured_tree_is_what_git_makes_of_the_same_edits_where_attributes_convert(
        edits in prop::collection::vec(edit(), 1..25),
    ) {
        agrees_with_git(&edits, "*.win text eol=crlf\n*.id ident\n")?;
    }
}
