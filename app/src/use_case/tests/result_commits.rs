//! Results as commits: the same each time, and nothing but a branch that was asked for names one.

use super::attempts::tried;
use crate::failure::FailureKind;
use crate::use_case::fixture::{World, edit};
use crate::use_case::result_commit::{Ports, make, make_aside, make_branch};
use crate::use_case::select::Selected;
use isobox_ports::fake::{Performance, Scene};

pub(super) fn attempted(play: fn(&Scene) -> Performance) -> (World, Selected) {
    let world = World::new(play);
    tried(&world).expect("an attempt");
    let selected = Selected { digest: world.newest(), record: world.records()[0].clone() };
    (world, selected)
}

pub(super) const fn ports(world: &World) -> Ports<'_> {
    Ports { commits: &world.repository, objects: &world.store.inner, flags: "" }
}

#[test]
fn a_result_is_the_same_commit_each_time_and_a_branch_names_it_once() {
    let (world, selected) = attempted(edit);
    let before = (world.repository.files(), world.repository.committed());
    let made = make(&ports(&world), &selected).expect("a commit");
    assert_eq!(make_aside(&ports(&world), &selected).expect("a commit").id(), made);
    assert_eq!(make_branch(&ports(&world), &selected, b"refs/heads/x").expect("a branch"), made);
    let refused = make_branch(&ports(&world), &selected, b"refs/heads/x").expect_err("it is there");
    assert_eq!(refused.kind, FailureKind::General);
    assert_eq!((world.repository.files(), world.repository.committed()), before);
    assert_eq!(world.repository.branch(b"refs/heads/x").map(|(commit, _)| commit), Some(made));
}

#[test]
fn a_result_without_changes_is_no_commit() {
    let (world, selected) = attempted(|_| Performance::exiting(0));
    let refused = make(&ports(&world), &selected).expect_err("nothing changed");
    assert_eq!(refused.message, format!("cannot make a commit of the result of {}", selected.record.task));
    assert_eq!(refused.kind, FailureKind::General);
}
