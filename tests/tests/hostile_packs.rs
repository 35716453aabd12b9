//! Packs that no isobox wrote take no more memory than any other, whichever command comes across them.

use isobox_store_format::entry::{EntryHeader, EntryKind};
use isobox_tests::{Project, User};
use nix::sys::resource::{UsageWho, getrusage};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

/// 64 MiB in KiB, the peak that every process of isobox stays under.
const MOST_KIB: i64 = 64 * 1024;
/// As many headers as fit into a pack.
const HEADERS: u64 = (64 << 20) / 64;

/// So many of them are read of a pack, and so many packs have more together than memory has room for.
const LONGEST: u64 = 1 << 18;
const PACKS: u64 = 6;

/// A sound header of nothing, of its own id.
fn empty(n: u64) -> [u8; 64] {
    let id = isobox_domain::content::ContentId::new(*blake3::hash(&n.to_le_bytes()).as_bytes());
    EntryHeader { id, ..EntryHeader::raw(EntryKind::Artifact, b"") }.encode()
}

/// Puts a pack of these pieces into the store, under its right name.
fn place(packs: &Path, pieces: impl Iterator<Item = Vec<u8>>) {
    let unnamed = packs.join("unnamed");
    let (mut file, mut hasher) = (BufWriter::new(File::create(&unnamed).expect("a pack")), blake3::Hasher::new());
    for piece in pieces {
        hasher.update(&piece);
        file.write_all(&piece).expect("write a pack");
    }
    file.flush().expect("write a pack");
    fs::rename(&unnamed, packs.join(format!("{}.pack", hasher.finalize().to_hex()))).expect("name a pack");
}

/// Runs every command that goes through packs. None takes too much, and what was put before is still listed.
fn look_at(project: &Project, records: &str) {
    let (mut looks, mut peaks) = (Vec::new(), Vec::new());
    for arguments in [
        &["list", "--json"][..],
        &["verify", "--quick"],
        &["verify"],
        &["store", "stat"],
        &["store", "prune", "--keep-last", "9"],
        &["store", "repair"],
        &["store", "compact"],
        &["list", "--json"],
    ] {
        let looked = project.isobox(&[arguments, &["--records", records]].concat());
        let peak = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the usage of programs that ended").max_rss();
        peaks.push((arguments, looked.code, peak));
        looks.push(looked);
    }
    assert!(peaks.iter().all(|(.., peak)| *peak < MOST_KIB), "{peaks:?}");
    for list in [&looks[0], &looks[looks.len() - 1]] {
        assert!(list.stdout.contains("\"true\""), "{list:?}");
    }
    assert_eq!((looks[1].code, looks[2].code), (1, 1), "{:?}", &looks[1..3]);
}

fn with_pack(pieces: impl Iterator<Item = Vec<u8>>) {
    let project = Project::initialised(User::Current);
    let records = project.scratch().join("records");
    let shown = records.display().to_string();
    let ran = project.isobox(&["run", "-q", "--backend=host", "--records", &shown, "--", "true"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    place(&records.join("store/packs"), pieces);
    look_at(&project, &shown);
}

#[test]
fn many_packs_without_tables_take_no_more_memory_together_than_one_where_none_can_be_written() {
    let project = Project::initialised(User::Current);
    let ran = project.isobox(&["run", "-q", "--backend=host", "--", "true"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let records = project.repository().join(".git/isobox");
    let other = project.scratch().join("other");
    assert!(Command::new("cp").arg("-a").args([&records, &other]).status().expect("run cp").success());
    for pack in 0..PACKS {
        place(&other.join("store/packs"), (0..LONGEST).map(|n| empty(pack * LONGEST + n).to_vec()));
    }
    let imported = project.isobox(&["import".as_ref(), other.as_os_str()]);
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the usage of programs that ended").max_rss();
    assert!(peak < MOST_KIB, "{peak} KiB: {imported:?}");
    assert!(imported.stdout.contains("1 imported before"), "{imported:?}");
    let tables = fs::read_dir(other.join("store/packs")).expect("packs").filter_map(Result::ok);
    assert_eq!(tables.filter(|file| file.path().extension().is_some_and(|end| end == "idx")).count(), 0);
}

#[test]
fn a_pack_of_a_million_empty_entries_takes_no_more_memory_than_another() {
    with_pack((0..HEADERS).map(|n| empty(n).to_vec()));
}

#[test]
fn a_pack_of_as_much_damage_as_entries_takes_no_more_memory_than_another() {
    with_pack((0..HEADERS / 2).map(|n| [&[0; 64][..], &empty(n)].concat()));
}
