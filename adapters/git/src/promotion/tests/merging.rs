//! Merging into a repository in which somebody works.

use super::fixture::{ChangeSet, Fixture, write};
use isobox_domain::change::Mode;
use isobox_domain::promotion::OnConflict;
use isobox_ports::{ApplyError, MergeRequest, TrustedRepository};

/// The conflicts of merging a Change Set into HEAD, which was its base.
fn conflicts(fixture: &Fixture, set: &ChangeSet) -> Vec<String> {
    let repository = fixture.repository();
    let (base, _) = repository.head().expect("a commit");
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
