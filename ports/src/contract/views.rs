//! What every implementation of [`Views`] keeps.

use super::sample::noise;
use crate::{ObjectStore, View, Views};
use isobox_domain::content::ContentRef;
use isobox_domain::policy::ViewLimit;
use isobox_domain::task_id::TaskId;
use libtest_mimic::{Failed, Trial};
use std::collections::BTreeMap;

/// An empty directory of Views, and a store with some content.
pub trait ViewsFixture {
    /// The implementation under test.
    fn views(&self) -> &dyn Views;

    /// The store.
    fn objects(&self) -> &dyn ObjectStore;

    /// Stores `bytes`.
    fn store(&self, bytes: &[u8]) -> ContentRef;

    /// Every file by its path below the directory of Views.
    fn files(&self) -> BTreeMap<String, Vec<u8>>;
}

type Case = fn(&dyn ViewsFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("a_view_shows_its_record_and_its_artifacts", view_is_whole),
    ("writing_a_view_again_replaces_it", view_is_replaced),
    ("artifacts_over_1_mib_are_left_out", large_is_left_out),
    ("all_but_the_newest_are_removed", older_are_removed),
    ("room_is_made_for_one_more_and_nothing_else_is_removed", room_is_made),
    ("record_directories_of_version_1_stay", old_directories_stay),
    ("a_limit_of_none_writes_none", none_is_written),
    ("without_a_limit_all_stay", all_stay),
    ("a_view_that_is_removed_is_gone_and_others_stay", removed),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: ViewsFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial = |(case, run): &(&str, Case)| {
        let run = *run;
        Trial::test(format!("{name}::views::{case}"), move || run(&fixture()))
    };
    CASES.iter().map(trial).collect()
}

fn task(n: u8) -> TaskId {
    TaskId::new([n; 8])
}

fn write(fixture: &dyn ViewsFixture, n: u8, json: &[u8], limit: ViewLimit) -> Result<(), Failed> {
    let view = View { task: task(n), record_json: json, artifacts: &[] };
    Ok(fixture.views().write(&view, fixture.objects(), limit)?)
}

fn removed(fixture: &dyn ViewsFixture) -> Result<(), Failed> {
    fixture.views().remove(task(1))?;
    for n in 1..=2 {
        write(fixture, n, b"{}", ViewLimit::All)?;
    }
    fixture.views().remove(task(1))?;
    fixture.views().remove(task(3))?;
    assert_eq!(fixture.files().into_keys().collect::<Vec<_>>(), [format!("{}/record.json", task(2))]);
    Ok(())
}

fn view_is_whole(fixture: &dyn ViewsFixture) -> Result<(), Failed> {
    let artifacts = [("stdout.txt", fixture.store(b"said")), ("diff.patch", fixture.store(b"diff"))];
    let view = View { task: task(1), record_json: b"{}", artifacts: &artifacts };
    fixture.views().write(&view, fixture.objects(), ViewLimit::All)?;
    let file = |name: &str, bytes: &[u8]| (format!("{}/{name}", task(1)), bytes.to_vec());
    let expected =
        [file("record.json", b"{}"), file("artifacts/stdout.txt", b"said"), file("artifacts/diff.patch", b"diff")];
    assert_eq!(fixture.files(), BTreeMap::from(expected));
    Ok(())
}

fn view_is_replaced(fixture: &dyn ViewsFixture) -> Result<(), Failed> {
    let artifacts = [("stdout.txt", fixture.store(b"said"))];
    let view = View { task: task(1), record_json: b"{}", artifacts: &artifacts };
    fixture.views().write(&view, fixture.objects(), ViewLimit::All)?;
    write(fixture, 1, b"{\"outcome\": 1}", ViewLimit::All)?;
    let expected = BTreeMap::from([(format!("{}/record.json", task(1)), b"{\"outcome\": 1}".to_vec())]);
    assert_eq!(fixture.files(), expected);
    Ok(())
}

fn large_is_left_out(fixture: &dyn ViewsFixture) -> Result<(), Failed> {
    let fits = noise(1, 1 << 20);
    let artifacts = [("stdout.txt", fixture.store(&fits)), ("stderr.txt", fixture.store(&noise(2, (1 << 20) + 1)))];
    let view = View { task: task(1), record_json: b"{}", artifacts: &artifacts };
    fixture.views().write(&view, fixture.objects(), ViewLimit::All)?;
    let names: Vec<_> = fixture.files().into_keys().collect();
    assert_eq!(names, [format!("{}/artifacts/stdout.txt", task(1)), format!("{}/record.json", task(1))]);
    Ok(())
}

fn older_are_removed(fixture: &dyn ViewsFixture) -> Result<(), Failed> {
    for n in [5, 4, 3, 2] {
        write(fixture, n, b"{}", ViewLimit::Newest(2))?;
    }
    let names: Vec<_> = fixture.files().into_keys().collect();
    assert_eq!(names, [format!("{}/record.json", task(2)), format!("{}/record.json", task(3))]);
    Ok(())
}

fn room_is_made(fixture: &dyn ViewsFixture) -> Result<(), Failed> {
    fixture.views().make_room(ViewLimit::Newest(2))?;
    for n in [5, 4, 3] {
        write(fixture, n, b"{}", ViewLimit::All)?;
    }
    for limit in [ViewLimit::All, ViewLimit::Newest(0), ViewLimit::Newest(4)] {
        fixture.views().make_room(limit)?;
        assert_eq!(fixture.files().len(), 3, "{limit:?}");
    }
    fixture.views().make_room(ViewLimit::Newest(2))?;
    let names: Vec<_> = fixture.files().into_keys().collect();
    assert_eq!(names, [format!("{}/record.json", task(3))]);
    Ok(())
}

// Written as Views, they are what version 1 leaves.
fn old_directories_stay(fixture: &dyn ViewsFixture) -> Result<(), Failed> {
    let old = b"{\n  \"schema_version\": \"v1\",\n  \"id\": \"x\"\n}";
    for (n, json) in [(1, &old[..]), (2, old), (3, b"{}"), (1, b"{}"), (4, b"{}")] {
        write(fixture, n, json, ViewLimit::Newest(1))?;
    }
    let file = |n, json: &[u8]| (format!("{}/record.json", task(n)), json.to_vec());
    assert_eq!(fixture.files(), BTreeMap::from([file(1, old), file(2, old), file(4, b"{}")]));
    Ok(())
}

fn none_is_written(fixture: &dyn ViewsFixture) -> Result<(), Failed> {
    write(fixture, 1, b"{}", ViewLimit::All)?;
    write(fixture, 2, b"{}", ViewLimit::Newest(0))?;
    assert_eq!(fixture.files(), BTreeMap::new());
    Ok(())
}

fn all_stay(fixture: &dyn ViewsFixture) -> Result<(), Failed> {
    (1..=70).try_for_each(|n| write(fixture, n, b"{}", ViewLimit::All))?;
    assert_eq!(fixture.files().len(), 70);
    Ok(())
}
