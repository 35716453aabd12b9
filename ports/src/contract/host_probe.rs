//! What every implementation of [`HostProbe`] keeps.

use crate::HostProbe;
use isobox_domain::fact::{Exposable, Fact, StoreHealth, Trial};
use libtest_mimic::{Failed, Trial as Test};
use std::any::Any;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A probe, and the directories that it looks at.
pub struct Looked {
    /// The probe.
    pub probe: Box<dyn HostProbe>,
    /// What it could change.
    pub watched: Vec<PathBuf>,
    /// What has to stay for as long as is looked.
    pub kept: Box<dyn Any>,
}

type Case = fn(&Looked) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("looking_changes_nothing", changes_nothing),
    ("there_is_always_something_to_say", says_something),
    ("a_failure_has_its_reason", failures_have_reasons),
    ("looking_twice_finds_the_same", finds_the_same),
];

/// The suite, as tests of `name`; `make` makes a probe of something of its own.
pub fn cases(name: &str, make: fn() -> Looked) -> Vec<Test> {
    let test =
        |&(case, check): &(&str, Case)| Test::test(format!("{name}::host_probe::{case}"), move || check(&make()));
    CASES.iter().map(test).collect()
}

fn changes_nothing(looked: &Looked) -> Result<(), Failed> {
    let before: Vec<_> = looked.watched.iter().map(|path| listing(path)).collect();
    looked.probe.facts();
    let after: Vec<_> = looked.watched.iter().map(|path| listing(path)).collect();
    if before == after { Ok(()) } else { Err(format!("{before:?} became {after:?}").into()) }
}

/// Everything at and below `path`: inode, mode, size, modification and change time.
pub fn listing(path: &Path) -> BTreeMap<PathBuf, [u64; 5]> {
    let mut found = BTreeMap::new();
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if metadata.is_dir() {
            open.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
        let time = |seconds: i64, nanoseconds: i64| {
            seconds.wrapping_mul(1_000_000_000).wrapping_add(nanoseconds).cast_unsigned()
        };
        let modified = time(metadata.mtime(), metadata.mtime_nsec());
        let changed = time(metadata.ctime(), metadata.ctime_nsec());
        found.insert(path, [metadata.ino(), metadata.mode().into(), metadata.size(), modified, changed]);
    }
    found
}

fn says_something(looked: &Looked) -> Result<(), Failed> {
    if looked.probe.facts().is_empty() { Err("no fact".into()) } else { Ok(()) }
}

fn failures_have_reasons(looked: &Looked) -> Result<(), Failed> {
    let silent = |fact: &Fact| match fact {
        Fact::OwnDirectory(_, Trial::Fails(why))
        | Fact::Bubblewrap(Trial::Fails(why))
        | Fact::SandboxStarts(Trial::Fails(why))
        | Fact::Opens(_, Trial::Fails(why))
        | Fact::Landlock(Trial::Fails(why))
        | Fact::Overlay(_, Trial::Fails(why))
        | Fact::StoreWritable(Trial::Fails(why))
        | Fact::Dirt(Err(why), _)
        | Fact::Views(Err(why)) => why.trim().is_empty(),
        Fact::Repository(Err(refused)) => refused.reason.trim().is_empty(),
        Fact::Exposes(_, _, Exposable::Unreadable(why) | Exposable::Refused(why)) => why.trim().is_empty(),
        Fact::BadPolicy(mistakes) | Fact::BadUserPolicy(mistakes) => mistakes.is_empty(),
        Fact::Store(_, StoreHealth::Damaged(reasons)) => reasons.is_empty(),
        _ => false,
    };
    match looked.probe.facts().into_iter().find(silent) {
        Some(fact) => Err(format!("{fact:?} has no reason").into()),
        None => Ok(()),
    }
}

fn finds_the_same(looked: &Looked) -> Result<(), Failed> {
    // Room changes by itself.
    let settled = |fact: &Fact| !matches!(fact, Fact::StoreRoom(_));
    let look = || looked.probe.facts().into_iter().filter(settled).collect::<Vec<_>>();
    let (first, second) = (look(), look());
    if first == second { Ok(()) } else { Err(format!("{first:?} became {second:?}").into()) }
}
