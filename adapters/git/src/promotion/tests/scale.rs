//! Memory does not grow with the number of changes.

use super::fixture::{Fixture, RECEIPT};
use isobox_domain::change::{After, Change, ChangeLine, ChangeSetRef, Mode};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{Applied, ChangeLines, Content, Landing, ObjectStore, Route, StoreError, TrustedRepository};

/// So many added files of one content, none of them held in memory.
struct Many(u64);

const CONTENT: &[u8] = b"the same everywhere\n";

impl ObjectStore for Many {
    fn open(&self, _: &ContentId) -> Result<Option<Content>, StoreError> {
        Ok(Some(Box::new(CONTENT)))
    }

    fn changes(&self, _: &ChangeSetRef) -> Result<ChangeLines<'_>, StoreError> {
        Ok(self.lines())
    }
}

impl Many {
    fn lines(&self) -> ChangeLines<'_> {
        let content =
            ContentRef { id: ContentId::new(*blake3::hash(CONTENT).as_bytes()), length: CONTENT.len() as u64 };
        Box::new((0..self.0).map(move |n| {
            let path = RepoPath::parse(format!("d{:04}/file-{n:08}", n / 256).into_bytes())?;
            let after = Some(After { mode: Mode::File, content, binary: false });
            Ok(ChangeLine::Change(Change { path, before: None, after, renamed_from: None, submodule: None }))
        }))
    }
}

/// Peak resident memory of this process in KiB since it was last reset.
fn peak_memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the status is read");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn peak_of(changes: u64) -> u64 {
    let fixture = Fixture::new(&[]);
    let many = Many(changes);
    let repository = fixture.repository();
    let mut promotion = repository.begin_promotion().expect("the lock");
    std::fs::write("/proc/self/clear_refs", "5").expect("the peak is reset");
    let started = std::time::Instant::now();
    let applied =
        promotion.apply(many.lines(), &many, Landing::without_commit(&Route::Files), RECEIPT).expect("it is applied");
    promotion.finish().expect("it is finished");
    assert_eq!(applied, Applied { paths: changes });
    let peak = peak_memory_kib();
    println!("{changes} changes: {peak} KiB, {:?}", started.elapsed());
    peak
}

#[test]
#[ignore = "writes 100,000 files; memory is measured of the whole process, so it runs alone"]
fn memory_does_not_grow_with_the_number_of_changes() {
    let (few, many) = (peak_of(1_000), peak_of(100_000));
    assert!(many < few + 8 * 1024, "{few} KiB for 1,000 changes, {many} KiB for 100,000");
    assert!(many < 64 * 1024, "{many} KiB");
}
