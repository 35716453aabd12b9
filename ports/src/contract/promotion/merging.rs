//! What a merge keeps.

use super::{Case, Changes, PromotionFixture, changed, every_kind, land};
use crate::{ApplyError, Landing, MergeRequest, MergeTally, Route};
use isobox_domain::change::Mode;
use isobox_domain::git_oid::GitOid;
use isobox_domain::promotion::OnConflict;
use libtest_mimic::Failed;

pub(super) const CASES: &[(&str, Case)] = &[
    ("a_merge_takes_what_nobody_else_changed", takes),
    ("a_merge_leaves_out_what_is_there_already", leaves_out),
    ("a_merge_of_what_cannot_be_merged_is_a_conflict_and_nothing_is_changed", conflicts),
];

const fn request(base: &GitOid) -> MergeRequest<'_> {
    MergeRequest { base, on_conflict: OnConflict::Refuse, label: "task" }
}

fn takes(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    let base = fixture.repository().source()?.commit;
    let changes = every_kind();
    let mut promotion = fixture.repository().begin_promotion()?;
    let merged = promotion.merge(changes.lines(), &changes, &request(&base))?;
    assert_eq!(merged.tally(), &MergeTally { untouched: 9, ..MergeTally::default() });
    promotion.apply(merged.lines(), &*merged, Landing::without_commit(&Route::Files), b"receipt")?;
    assert_eq!(fixture.files(), changed(&changes));
    Ok(())
}

fn leaves_out(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    let base = fixture.repository().source()?.commit;
    land(fixture, &Route::Commit)?;
    let changes = every_kind();
    let mut promotion = fixture.repository().begin_promotion()?;
    let merged = promotion.merge(changes.lines(), &changes, &request(&base))?;
    assert_eq!(merged.tally(), &MergeTally { present: 9, ..MergeTally::default() });
    assert_eq!(merged.lines().count(), 0);
    Ok(())
}

fn conflicts(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    let base = fixture.repository().source()?.commit;
    land(fixture, &Route::Commit)?;
    let before = fixture.files();
    let changes = Changes::default().with(b"modified", Some((Mode::File, b"one\n")), Some((Mode::File, b"\0binary")));
    let mut promotion = fixture.repository().begin_promotion()?;
    match promotion.merge(changes.lines(), &changes, &request(&base)).map(drop) {
        Err(ApplyError::Conflicts { first, count: 1 }) => assert!(first[0].starts_with("modified: "), "{first:?}"),
        other => return Err(format!("expected a conflict, found {other:?}").into()),
    }
    assert_eq!(fixture.files(), before);
    Ok(())
}
