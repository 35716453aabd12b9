//! What every implementation of [`ObjectStore`](crate::ObjectStore) keeps.

use super::sample::{draft, noise, record};
use super::store::{Case, StoreFixture, cases_of, publish, read, staged};
use crate::{CapturedRefs, Role, StoreErrorKind};
use isobox_domain::change::{After, Change, ChangeLine, ChangeSummary, Mode, NotCaptured, NotCapturedReason};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_domain::repo_path::RepoPath;
use libtest_mimic::{Failed, Trial};

const CASES: &[(&str, Case)] = &[
    ("published_content_of_any_length_reads_back_byte_for_byte", content_reads_back),
    ("equal_content_of_two_records_reads_back_for_both", equal_content_reads_back),
    ("what_was_never_published_is_none", unknown_is_none),
    ("not_one_byte_of_damaged_content_is_handed_out", damaged_is_refused),
    ("equal_content_is_stored_again_where_the_first_copy_is_damaged", damaged_is_replaced),
    ("a_change_set_reads_back_line_by_line_with_its_files", change_set_reads_back),
    ("a_capture_without_anything_refers_to_nothing", empty_capture),
    ("a_change_set_of_many_lines_reads_back_in_order", many_lines),
];

const LENGTHS: [usize; 6] = [0, 1, 70_000, (1 << 20) - 1, 1 << 20, (3 << 20) + 7];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: StoreFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    cases_of(name, "object_store", CASES, fixture)
}

fn with_stdout(n: u64, stdout: ContentRef) -> TaskRecord {
    TaskRecord { artifacts: TaskArtifacts { stdout: Some(stdout), ..TaskArtifacts::default() }, ..record(n) }
}

fn publish_output(fixture: &dyn StoreFixture, n: u64, bytes: &[u8]) -> Result<ContentRef, Failed> {
    let attempt = fixture.attempts().begin(&draft(n))?;
    let stdout = staged(&*attempt, Role::Stdout, bytes)?;
    fixture.records().publish(attempt, &with_stdout(n, stdout))?;
    Ok(stdout)
}

fn content_reads_back(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    for (n, length) in (0..).zip(LENGTHS) {
        for bytes in [noise(n, length), vec![b'a'; length]] {
            let content = publish_output(fixture, n, &bytes)?;
            assert!(read(fixture, &content)? == Some(bytes), "{length} bytes");
        }
    }
    Ok(())
}

fn equal_content_reads_back(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    for bytes in [noise(1, 5000), noise(2, 2 << 20)] {
        let (first, second) = (publish_output(fixture, 1, &bytes)?, publish_output(fixture, 2, &bytes)?);
        assert_eq!(first, second);
        assert!(read(fixture, &second)? == Some(bytes));
    }
    Ok(())
}

fn unknown_is_none(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let unknown = ContentId::new([7; 32]);
    assert!(fixture.objects().open(&unknown)?.is_none());
    publish(fixture, &record(1))?;
    assert!(fixture.objects().open(&unknown)?.is_none());
    Ok(())
}

fn damaged_is_refused(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    for (n, length) in (1..).zip([10, 5000, 3 << 20]) {
        let content = publish_output(fixture, n, &noise(n, length))?;
        fixture.damage(&content.id);
        let refused = fixture.objects().open(&content.id).err().map(|error| error.kind);
        assert_eq!(refused, Some(StoreErrorKind::Damaged), "{length} bytes");
    }
    Ok(())
}

fn damaged_is_replaced(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    for (n, length) in (1..).zip([5000, 2 << 20]) {
        let bytes = noise(n, length);
        let content = publish_output(fixture, n, &bytes)?;
        fixture.damage(&content.id);
        publish_output(fixture, n + 10, &bytes)?;
        assert!(read(fixture, &content)? == Some(bytes), "{length} bytes");
    }
    Ok(())
}

fn added(path: &[u8], content: ContentRef) -> Result<ChangeLine, Failed> {
    let after = Some(After { mode: Mode::File, content, binary: false });
    let (before, renamed_from, submodule) = (None, None, None);
    Ok(ChangeLine::Change(Change { path: RepoPath::parse(path)?, before, after, renamed_from, submodule }))
}

fn publish_captured(
    fixture: &dyn StoreFixture,
    attempt: Box<dyn crate::Attempt>,
    captured: CapturedRefs,
) -> Result<(), Failed> {
    let CapturedRefs { change_set, patch, workspace_git } = captured;
    let artifacts = TaskArtifacts { change_set, patch, workspace_git, ..TaskArtifacts::default() };
    fixture.records().publish(attempt, &TaskRecord { artifacts, ..record(1) })?;
    Ok(())
}

fn change_set_reads_back(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let attempt = fixture.attempts().begin(&draft(1))?;
    let mut sink = attempt.capture_sink()?;
    let contents = [b"small".to_vec(), noise(1, 1 << 20), noise(2, (2 << 20) + 1), Vec::new()];
    let mut lines = Vec::new();
    let mut refs = Vec::new();
    for (name, bytes) in (b'a'..).zip(&contents) {
        refs.push(sink.content(&mut bytes.as_slice())?);
        lines.push(added(&[name], refs[refs.len() - 1])?);
    }
    let reason = NotCapturedReason::Fifo;
    lines.push(ChangeLine::NotCaptured(NotCaptured { workspace_path: b"\xff".to_vec(), reason }));
    lines.iter().try_for_each(|line| sink.line(line.clone()))?;
    sink.patch().write_all(b"diff --git a/a b/a\n")?;
    sink.workspace_git().write_all(&noise(3, 2 << 20))?;
    let captured = sink.finish()?;
    publish_captured(fixture, attempt, captured)?;
    let change_set = captured.change_set.ok_or("no change set")?;
    assert_eq!(change_set.summary, ChangeSummary { added: 4, not_captured: 1, ..ChangeSummary::default() });
    let found = fixture.objects().changes(&change_set)?.collect::<Result<Vec<_>, _>>()?;
    assert_eq!(found, lines);
    for (content, bytes) in refs.iter().zip(contents) {
        assert!(read(fixture, content)? == Some(bytes));
    }
    assert_eq!(read(fixture, &captured.patch.ok_or("no patch")?)?, Some(b"diff --git a/a b/a\n".to_vec()));
    assert!(read(fixture, &captured.workspace_git.ok_or("no archive")?)? == Some(noise(3, 2 << 20)));
    Ok(())
}

fn empty_capture(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let attempt = fixture.attempts().begin(&draft(1))?;
    assert_eq!(attempt.capture_sink()?.finish()?, CapturedRefs::default());
    Ok(())
}

fn many_lines(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let attempt = fixture.attempts().begin(&draft(1))?;
    let mut sink = attempt.capture_sink()?;
    let content = sink.content(&mut b"the same".as_slice())?;
    let line = |n: u32| added(format!("{n:06}-{}", "x".repeat(200)).as_bytes(), content);
    for n in 0..6000 {
        sink.line(line(n)?)?;
    }
    let captured = sink.finish()?;
    publish_captured(fixture, attempt, captured)?;
    let mut count = 0;
    for found in fixture.objects().changes(&captured.change_set.ok_or("no change set")?)? {
        assert_eq!(found?, line(count)?);
        count += 1;
    }
    assert_eq!(count, 6000);
    Ok(())
}
