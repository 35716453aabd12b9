//! Whichever file of a store is cut off or changed, and wherever: it is told with every record that it touches, nothing
//! else is lost, and what is handed out is as it was.

#[path = "support/signer.rs"]
mod signer;
#[path = "support/specimen.rs"]
mod specimen;
mod support;

use isobox_domain::compaction::Scope;
use isobox_ports::contract::sample::pruned;
use isobox_ports::{Collector, Compactor, RecordLog, StoreError, StoreErrorKind};
use isobox_store::FsTaskStore;
use specimen::{Class, Specimen};
use std::collections::BTreeSet;
use std::ops::Range;

/// Cuts altogether, spread over the classes of files.
const CUTS: usize = 400;
/// Flips in each class of files.
const FLIPS: usize = 60;
/// Spoilt files of each class in which it goes on.
const ROUNDS: usize = 16;

/// `count` places in the files of a class: near every edge of a structure, and spread over the rest.
fn places(specimen: &Specimen, class: Class, count: usize) -> Vec<(String, usize)> {
    let files = specimen.files_of(class);
    assert!(!files.is_empty(), "{class:?}");
    let mut all = BTreeSet::new();
    for (name, bytes) in &files {
        let edges = support::entries(bytes).into_iter().flat_map(|(at, header)| {
            let payload = at + isobox_store_format::entry::HEADER_LEN;
            [at, at + 5, at + 41, at + 61, payload, payload + 2, at + header.entry_length() as usize - 3]
        });
        let fields = (0..64).step_by(7).chain(edges);
        all.extend(fields.filter(|at| *at < bytes.len()).map(|at| ((*name).to_owned(), at)));
    }
    let each = count.div_ceil(files.len());
    let spread = files
        .iter()
        .flat_map(|(name, bytes)| (0..each).map(move |n| ((*name).to_owned(), (n * 2 + 1) * bytes.len() / (each * 2))));
    // As many of the edges as there is room for, the others in between.
    let edges: Vec<_> = all.into_iter().collect();
    let step = edges.len().div_ceil(count / 2).max(1);
    let mut chosen: BTreeSet<_> = edges.into_iter().step_by(step).collect();
    for place in spread {
        if chosen.len() < count {
            chosen.insert(place);
        }
    }
    chosen.into_iter().collect()
}

/// What is wrong with what is said and left of a store in which `file` was spoilt in a range; empty if nothing is.
fn faults(specimen: &Specimen, (class, file): (Class, &str), spoilt: Range<usize>) -> Vec<String> {
    let look = match specimen.look() {
        Ok(look) => look,
        Err(refused) => return vec![format!("it cannot be looked at: {refused}")],
    };
    let touched = specimen.touched(file, &spoilt);
    let beyond: Vec<_> = look.lost.difference(&touched).collect();
    let untold: Vec<_> = look.lost.difference(&look.named).collect();
    let is_told = look.defects.is_empty() == (class == Class::Table);
    let found = [
        (beyond.is_empty(), format!("it costs more than it holds: {beyond:?}")),
        (untold.is_empty(), format!("{untold:?} are lost and not named: {:?}", look.defects)),
        (is_told, format!("a table is no loss, and anything else is one: {:?}", look.defects)),
    ];
    found.into_iter().filter(|(is_right, _)| !is_right).map(|(_, fault)| fault).collect()
}

#[test]
fn what_is_cut_off_is_told_with_every_record_that_it_touches_and_costs_no_other() {
    let specimen = Specimen::make();
    let (mut cuts, mut found) = (0, Vec::new());
    for class in Class::ALL {
        let count = CUTS.div_ceil(Class::ALL.len());
        for (number, (name, length)) in places(&specimen, class, count).into_iter().enumerate() {
            let whole = specimen.file(&name);
            specimen.spoil(&name, &whole[..length], number % 2 == 0);
            cuts += 1;
            if class == Class::Format {
                let refused = FsTaskStore::open(specimen.records()).err().map(|error| error.kind);
                assert_eq!(refused, Some(StoreErrorKind::Damaged), "cut off at {length}");
            } else {
                let faults = faults(&specimen, (class, &name), length..whole.len());
                found.extend(faults.into_iter().map(|fault| format!("{name} cut off at {length}: {fault}")));
            }
            specimen.mend(&name);
        }
    }
    assert!(found.is_empty(), "{} faults:\n{}", found.len(), found.join("\n"));
    assert!(cuts >= CUTS, "{cuts}");
    let look = specimen.look().unwrap();
    assert_eq!((look.defects, look.lost), (vec![], BTreeSet::new()), "all is as it was");
}

#[test]
fn a_flipped_bit_is_told_with_every_record_that_it_touches_and_costs_the_entry_or_the_block_that_it_hits() {
    let specimen = Specimen::make();
    let mut found = Vec::new();
    for class in Class::ALL {
        for (number, (name, at)) in places(&specimen, class, FLIPS).into_iter().enumerate() {
            let mut bytes = specimen.file(&name).to_vec();
            bytes[at] ^= 1 << (number % 8);
            specimen.spoil(&name, &bytes, number % 2 == 0);
            let faults = faults(&specimen, (class, &name), at..at + 1);
            found.extend(faults.into_iter().map(|fault| format!("bit {} of byte {at} of {name}: {fault}", number % 8)));
            specimen.mend(&name);
        }
    }
    assert!(found.is_empty(), "{} faults:\n{}", found.len(), found.join("\n"));
}

#[test]
fn what_goes_on_in_a_spoilt_store_loses_nothing_more() {
    let specimen = Specimen::make();
    let pruned_one = specimen.record_of(7);
    for class in [Class::Lane, Class::Plain, Class::Compacted, Class::Large, Class::Log] {
        for (number, (name, at)) in places(&specimen, class, ROUNDS).into_iter().enumerate() {
            let mut bytes = specimen.file(&name).to_vec();
            if number % 2 == 0 {
                bytes.truncate(at);
            } else {
                bytes[at] ^= 1 << (number % 8);
            }
            let copy = specimen.spoilt_copy(&name, &bytes);
            let before = specimen.look_at(copy.path(), &[]).unwrap().lost;
            let store = FsTaskStore::create(copy.path()).unwrap();
            let added = support::publish_stdout(&store, 100, b"went on");
            let upkeep = [
                // What is damaged may not be known to be pruned.
                store.append(&pruned(7, pruned_one, None)).map(drop).map_err(|error| error.to_string()),
                store.sweep(&|_| {}).map(drop).map_err(damaged),
                store.compact(Scope::All, &|_| {}).map(drop).map_err(damaged),
                store.sweep(&|_| {}).map(drop).map_err(damaged),
            ];
            let shown = format!("place {at} of {name}, {upkeep:?}");
            let again = support::publish_stdout(&FsTaskStore::create(copy.path()).unwrap(), 101, b"and on");
            let after = specimen.look_at(copy.path(), &[added, again]).unwrap().lost;
            let more: Vec<_> = after.difference(&before).filter(|id| **id != pruned_one).collect();
            assert!(more.is_empty(), "{shown}: {more:?}");
            let store = FsTaskStore::open(copy.path()).unwrap().unwrap();
            assert!([added, again].iter().all(|id| store.load(id).unwrap().is_some()), "{shown}");
        }
    }
}

/// An upkeep that finds damage stops, and says so.
fn damaged(error: StoreError) -> String {
    assert_eq!(error.kind, StoreErrorKind::Damaged, "{error}");
    error.to_string()
}
