//! Merging into a repository in which somebody works.

use super::fixture::{ChangeSet, Fixture, write};
use isobox_domain::change::Mode;
use isobox_domain::git_oid::GitOid;
use isobox_domain::promotion::OnConflict;
use isobox_ports::{ApplyError, MergeRequest, TrustedRepository};

/// The conflicts of merging a Change Set into HEAD, which was its base.
fn conflicts(fixture: &Fixture, set: &ChangeSet) -> Vec<String> {
    let (base, _) = fixture.repository().head().expect("a commit");
    conflicts_since(fixture, base, set)
}

/// The same with another base.
fn conflicts_since(fixture: &Fixture, base: GitOid, set: &ChangeSet) -> Vec<String> {
    let repository = fixture.repository();
    let request = MergeRequest { base: &base, on_conflict: OnConflict::Refuse, label: "task" };
    let mut promotion = repository.begin_promotion().expect("the lock");
    match promotion.merge(set.lines(), set, &request).map(drop) {
        Ok(()) => vec![],
        Err(ApplyError::Conflicts { first, .. }) => first,
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn what_an_unfinished_merge_of_the_user_has_in_conflict_is_not_touched() {
    let fixture = Fixture::new(&[
        (b"both", Mode::File, b"first\n"),
        (b"gone-here", Mode::File, b"first\n"),
        (b"calm", Mode::File, b"first\n"),
    ]);
    fixture.git(&["tag", "first"]);
    for (branch, content) in [("other", "theirs\n"), ("main", "ours\n")] {
        fixture.git(&["checkout", "-q", "-B", branch, "first"]);
        write(&fixture.root().join("both"), Mode::File, content.as_bytes());
        match branch {
            "main" => drop(fixture.git(&["rm", "-q", "gone-here"])),
            _ => write(&fixture.root().join("gone-here"), Mode::File, b"theirs\n"),
        }
        fixture.git(&["commit", "-q", "-a", "-m", branch]);
    }
    let mut set = ChangeSet::default();
    set.delete(b"both", Mode::File, b"ours\n").add(b"both", Mode::File, b"of the task\n");
    set.delete(b"calm", Mode::File, b"first\n").add(b"calm", Mode::File, b"of the task\n");
    set.add(b"gone-here", Mode::File, b"of the task\n");
    assert_eq!(conflicts(&fixture, &set), [""; 0], "nothing is being merged yet");
    fixture.git(&["read-tree", "-m", "first", "main", "other"]);
    let why = "an unfinished merge in the repository has it in conflict";
    assert_eq!(conflicts(&fixture, &set), [format!("both: {why}"), format!("gone-here: {why}")]);
}

/// Commits another content of a file; what HEAD was before.
fn meanwhile(fixture: &Fixture, path: &str, mode: Mode, content: &[u8]) -> GitOid {
    let (base, _) = fixture.repository().head().expect("a commit");
    write(&fixture.root().join(path), mode, content);
    fixture.git(&["commit", "-q", "-a", "-m", "meanwhile"]);
    base
}

#[test]
fn a_long_file_of_which_the_task_changed_the_mode_alone_is_not_read_into_memory() {
    for (length, expected) in [(1 << 20, 0), (5 << 20, 1)] {
        let fixture = Fixture::new(&[(b"script", Mode::File, b"first\n")]);
        let base = meanwhile(&fixture, "script", Mode::File, &vec![b'x'; length]);
        let mut set = ChangeSet::default();
        set.delete(b"script", Mode::File, b"first\n").add(b"script", Mode::Executable, b"first\n");
        let found = conflicts_since(&fixture, base, &set);
        assert_eq!(found.len(), expected, "{found:?}");
        assert!(found.iter().all(|why| why.ends_with("longer than 4 MiB")), "{found:?}");
    }
}

#[test]
fn the_driver_that_the_configuration_names_for_all_files_is_heard() {
    let fixture =
        Fixture::new(&[(b"plain", Mode::File, b"first\n"), (b".gitattributes", Mode::File, b"marked merge\n")]);
    let base = meanwhile(&fixture, "plain", Mode::File, b"first\nours\n");
    let mut set = ChangeSet::default();
    set.delete(b"plain", Mode::File, b"first\n").add(b"plain", Mode::File, b"first\ntheirs\n");
    assert_eq!(conflicts_since(&fixture, base, &set), ["plain: both changed the same lines"]);
    fixture.git(&["config", "merge.default", "union"]);
    assert_eq!(conflicts_since(&fixture, base, &set), [""; 0]);
    fixture.git(&["config", "merge.default", "binary"]);
    assert_eq!(
        conflicts_since(&fixture, base, &set),
        ["plain: both changed it, and its attributes say not to merge it"]
    );
}
