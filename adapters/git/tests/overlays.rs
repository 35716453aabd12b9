//! An overlay gives exactly what a copy does, whatever was done in it. `ISOBOX_OVERLAY_CASES` asks for more cases than the
//! default.

mod support;

use isobox_ports::OverlayKind;
use libtest_mimic::{Arguments, Trial};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError, TestRunner};
use std::process::ExitCode;
use support::edits::{Edit, Site, edit, fill, path};
use support::overlay::{Laid, kinds};
use support::{Scene, write};

fn messy_edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        24 => edit(),
        1 => path().prop_map(Edit::Fifo),
        3 => (path(), path()).prop_map(|(from, to)| Edit::HardLink(from, to)),
        1 => (path(), prop::sample::select(vec![0, 3, 100_000])).prop_map(|(path, length)| Edit::Hole(path, length)),
        2 => (path(), path()).prop_map(|(one, other)| Edit::Exchange(one, other)),
        3 => path().prop_map(Edit::Remake),
        1 => path().prop_map(Edit::Nest),
        1 => Just(Edit::Commit),
        1 => Just(Edit::Branch),
    ]
}

/// Edits after which others may not be possible, or not in the same way.
fn last_edit() -> impl Strategy<Value = Edit> {
    let mode = prop::sample::select(vec![0, 0o100, 0o400, 0o600, 0o500, 0o711, 0o1777]);
    prop_oneof![
        3 => (path(), mode).prop_map(|(path, mode)| Edit::DirectoryMode(path, mode)),
        3 => (path(), prop::sample::select(vec![0, 0o4755, 0o2644, 0o200])).prop_map(|(p, m)| Edit::Chmod(p, m)),
        1 => Just(Edit::LoseGit),
    ]
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let (first, last) = (prop::collection::vec(messy_edit(), 1..30), prop::collection::vec(last_edit(), 0..4));
    (first, last).prop_map(|(first, last)| [first, last].concat())
}

/// What stands where a path of an archive does, for whoever reads why a test failed.
fn names(archive: &[u8]) -> Vec<String> {
    let headers = archive.chunks(512).filter(|block| block.get(257..262) == Some(b"ustar"));
    headers.map(|block| block[..136].escape_ascii().to_string().replace("\\x00", "")).collect()
}

fn agree(scene: &Scene, kind: OverlayKind, edits: &[Edit]) -> Result<(), TestCaseError> {
    let copy = scene.another();
    Site::of(copy.mount.host_path()).perform_all(edits);
    let mut expected = support::Kept::default();
    scene.capture_mount(&copy, &copy.mount, &mut expected).expect("the copy is captured");
    let lower = scene.first();
    let laid = Laid::on(scene, lower, kind);
    laid.edit(edits);
    let found = laid.capture();
    scene.dispose(&copy);
    prop_assert_eq!(&found.lines, &expected.lines);
    prop_assert_eq!(&found.contents, &expected.contents);
    prop_assert_eq!(found.patch.escape_ascii().to_string(), expected.patch.escape_ascii().to_string());
    prop_assert!(
        found.workspace_git == expected.workspace_git,
        "the archive has {:#?} and not {:#?}",
        names(&found.workspace_git),
        names(&expected.workspace_git)
    );
    Ok(())
}

fn main() -> ExitCode {
    let kinds = kinds();
    let why = if kinds.is_empty() { " (no overlay can be mounted here)" } else { "" };
    let name = format!("an_overlay_is_captured_as_a_copy_with_the_same_edits_is{why}");
    let is_ignored = kinds.is_empty();
    let trial = Trial::test(name, move || {
        same_as_copy(kinds);
        Ok(())
    });
    libtest_mimic::run(&Arguments::from_args(), vec![trial.with_ignored_flag(is_ignored)]).exit_code()
}

fn same_as_copy(kinds: Vec<OverlayKind>) {
    let cases = std::env::var("ISOBOX_OVERLAY_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(256);
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x0150_b0c5),
        ..ProptestConfig::default()
    };
    let scene = Scene::new(|root| {
        fill(root, "*.win text eol=crlf\n*.id ident\n");
        // So many that an entry of the commit is searched, and not read one after the other.
        let directories = ["", "a/", "a/b/", "build/", "c/", "x/"];
        let names = directories.iter().flat_map(|directory| (0..25).map(move |number| format!("{directory}n{number}")));
        names.for_each(|name| write(root, name.as_bytes(), "one\n"));
    });
    let case = (prop::sample::select(kinds), edits());
    TestRunner::new(config)
        .run(&case, |(kind, edits)| agree(&scene, kind, &edits))
        .unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(scene.capture().recorded, Default::default(), "what lay below the overlays was changed");
}
