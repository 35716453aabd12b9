//! What every implementation of [`Mender`] keeps.

use super::sample::{draft, noise, record};
use super::store::{read, staged};
use super::verifier::VerifierFixture;
use crate::{Content, MendMode, MendedFile, Mender, Role};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::record::{RecordEntry, TaskArtifacts, TaskRecord};
use isobox_domain::verification::Thoroughness;
use libtest_mimic::{Failed, Trial};
use std::collections::HashMap;
use std::io::Cursor;

/// An empty Task Store, and what mends it.
pub trait MenderFixture: VerifierFixture {
    /// The implementation under test.
    fn mender(&self) -> &dyn Mender;
}

type Case = fn(&dyn MenderFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("damaged_content_is_again_what_it_was", content_is_restored),
    ("a_look_changes_nothing", a_look_changes_nothing),
    ("what_is_whole_nowhere_is_lost_and_told", lost_is_told),
    ("another_content_is_never_taken_for_it", no_other_content),
    ("tables_that_are_made_anew_say_the_same", tables_say_the_same),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: MenderFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial =
        |&(case, check): &(&str, Case)| Trial::test(format!("{name}::mender::{case}"), move || check(&fixture()));
    CASES.iter().map(trial).collect()
}

/// Content by its hash.
type Copies = HashMap<ContentId, Vec<u8>>;

/// Records with a short output, a longer one that compresses, and a large one; each output with its bytes.
fn publish(fixture: &dyn MenderFixture) -> Result<Vec<(ContentRef, Vec<u8>)>, Failed> {
    let contents = [noise(1, 50), b"again and again ".repeat(500), noise(2, (2 << 20) + 5)];
    let mut published = Vec::new();
    for (n, bytes) in (0..).zip(contents) {
        let attempt = fixture.attempts().begin(&draft(n))?;
        let stdout = staged(&*attempt, Role::Stdout, &bytes)?;
        let artifacts = TaskArtifacts { stdout: Some(stdout), ..TaskArtifacts::default() };
        fixture.records().publish(attempt, &TaskRecord { artifacts, ..record(n) })?;
        published.push((stdout, bytes));
    }
    Ok(published)
}

fn mend(fixture: &dyn MenderFixture, copies: &Copies, mode: MendMode) -> Result<Vec<MendedFile>, Failed> {
    let find = |id: &ContentId| copies.get(id).map(|bytes| Box::new(Cursor::new(bytes.clone())) as Content);
    Ok(fixture.mender().mend(&find, mode)?)
}

fn restored(mended: &[MendedFile]) -> Vec<ContentId> {
    let mut ids: Vec<_> = mended.iter().flat_map(|file| file.restored.clone()).collect();
    ids.sort();
    ids
}

fn is_sound(fixture: &dyn MenderFixture) -> Result<bool, Failed> {
    Ok(fixture.verifier().verify(Thoroughness::Deep, &|_| {})?.is_sound())
}

fn list(fixture: &dyn MenderFixture) -> Result<Vec<RecordEntry>, Failed> {
    Ok(fixture.records().list()?.collect::<Result<_, _>>()?)
}

fn content_is_restored(fixture: &dyn MenderFixture) -> Result<(), Failed> {
    let published = publish(fixture)?;
    let before = list(fixture)?;
    published.iter().for_each(|(content, _)| fixture.damage(&content.id));
    assert!(!is_sound(fixture)?);
    let copies = published.iter().map(|(content, bytes)| (content.id, bytes.clone())).collect();
    let mut expected: Vec<_> = published.iter().map(|(content, _)| content.id).collect();
    expected.sort();
    assert_eq!(restored(&mend(fixture, &copies, MendMode::Mend)?), expected);
    assert!(is_sound(fixture)?);
    assert_eq!(list(fixture)?, before);
    for (content, bytes) in published {
        assert!(read(fixture, &content)? == Some(bytes));
    }
    assert_eq!(mend(fixture, &copies, MendMode::Mend)?, []);
    Ok(())
}

fn a_look_changes_nothing(fixture: &dyn MenderFixture) -> Result<(), Failed> {
    let published = publish(fixture)?;
    published.iter().for_each(|(content, _)| fixture.damage(&content.id));
    let copies = published.iter().map(|(content, bytes)| (content.id, bytes.clone())).collect();
    let looked = mend(fixture, &copies, MendMode::Look)?;
    assert_eq!(restored(&looked).len(), 3);
    assert!(looked.iter().all(|file| file.quarantined.is_none()));
    assert!(published.iter().all(|(content, _)| fixture.objects().open(&content.id).is_err()));
    Ok(())
}

fn lost_is_told(fixture: &dyn MenderFixture) -> Result<(), Failed> {
    let published = publish(fixture)?;
    published.iter().for_each(|(content, _)| fixture.damage(&content.id));
    let mended = mend(fixture, &Copies::new(), MendMode::Mend)?;
    assert_eq!(mended.iter().map(|file| file.lost.len()).sum::<usize>(), 3);
    assert!(mended.iter().all(|file| file.quarantined.is_none()));
    Ok(())
}

fn no_other_content(fixture: &dyn MenderFixture) -> Result<(), Failed> {
    let published = publish(fixture)?;
    published.iter().for_each(|(content, _)| fixture.damage(&content.id));
    let wrong = |bytes: &[u8]| bytes.iter().map(|byte| byte ^ 1).chain([0]).collect();
    let copies = published.iter().map(|(content, bytes)| (content.id, wrong(bytes))).collect();
    assert_eq!(restored(&mend(fixture, &copies, MendMode::Mend)?), []);
    assert!(published.iter().all(|(content, _)| fixture.objects().open(&content.id).is_err()));
    Ok(())
}

fn tables_say_the_same(fixture: &dyn MenderFixture) -> Result<(), Failed> {
    let published = publish(fixture)?;
    let before = list(fixture)?;
    assert!(fixture.mender().rebuild_tables()? > 0);
    assert_eq!(list(fixture)?, before);
    for (content, bytes) in published {
        assert!(read(fixture, &content)? == Some(bytes));
    }
    Ok(())
}
