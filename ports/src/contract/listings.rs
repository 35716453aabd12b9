//! What every implementation of [`Listings`] keeps.

use super::sample::{promoted, pruned, record, rejected};
use super::store::{StoreFixture, publish};
use crate::{Listing, Listings, StoreErrorKind};
use isobox_domain::content::ContentId;
use isobox_domain::listing::Direction;
use libtest_mimic::{Failed, Trial};

/// An empty Task Store, and what lists its records.
pub trait ListingsFixture: StoreFixture {
    /// The implementation under test.
    fn listings(&self) -> &dyn Listings;
}

type Case = fn(&dyn ListingsFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("every_record_is_listed_once_in_the_order_of_its_commit", every_record_once),
    ("an_empty_store_lists_nothing", empty_lists_nothing),
    ("what_is_committed_later_is_not_in_it", later_is_not_in_it),
    ("a_pruned_record_is_not_in_it", pruned_is_not_in_it),
    ("a_listing_under_eight_writers_misses_nothing_and_repeats_nothing", stable_under_writers),
    ("a_record_is_loaded_with_its_events_in_any_order", loads_in_any_order),
    ("a_damaged_record_costs_no_other", damaged_costs_no_other),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: ListingsFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial =
        |&(case, check): &(&str, Case)| Trial::test(format!("{name}::listings::{case}"), move || check(&fixture()));
    CASES.iter().map(trial).collect()
}

fn ids(listing: &dyn Listing, direction: Direction) -> Result<Vec<ContentId>, Failed> {
    let entries = listing.entries(direction).map(|entry| entry.map(|entry| entry.record));
    Ok(entries.collect::<Result<_, _>>()?)
}

fn every_record_once(fixture: &dyn ListingsFixture) -> Result<(), Failed> {
    let mut published = (0..5).map(|n| publish(as_store(fixture), &record(n))).collect::<Result<Vec<_>, _>>()?;
    fixture.records().append(&rejected(1, published[1], None))?;
    let listing = fixture.listings().begin_listing()?;
    assert_eq!((ids(&*listing, Direction::Ascending)?, listing.count()), (published.clone(), 5));
    published.reverse();
    assert_eq!(ids(&*listing, Direction::Descending)?, published);
    assert!(listing.damage().is_empty());
    Ok(())
}

fn empty_lists_nothing(fixture: &dyn ListingsFixture) -> Result<(), Failed> {
    let listing = fixture.listings().begin_listing()?;
    assert_eq!((ids(&*listing, Direction::Descending)?, listing.count()), (Vec::new(), 0));
    Ok(())
}

fn later_is_not_in_it(fixture: &dyn ListingsFixture) -> Result<(), Failed> {
    let first = publish(as_store(fixture), &record(1))?;
    let event = fixture.records().append(&rejected(1, first, None))?;
    let listing = fixture.listings().begin_listing()?;
    publish(as_store(fixture), &record(2))?;
    fixture.records().append(&promoted(2, first, Some(event)))?;
    assert_eq!(ids(&*listing, Direction::Descending)?, [first]);
    let entry = listing.entries(Direction::Descending).next().ok_or("there is no entry")??;
    assert_eq!(listing.events(&entry)?.iter().map(|stored| stored.id).collect::<Vec<_>>(), [event]);
    Ok(())
}

fn pruned_is_not_in_it(fixture: &dyn ListingsFixture) -> Result<(), Failed> {
    let published = (0..3).map(|n| publish(as_store(fixture), &record(n))).collect::<Result<Vec<_>, _>>()?;
    fixture.records().append(&pruned(1, published[1], None))?;
    let listing = fixture.listings().begin_listing()?;
    assert_eq!((ids(&*listing, Direction::Ascending)?, listing.count()), (vec![published[0], published[2]], 2));
    assert_eq!(ids(&*listing, Direction::Descending)?, [published[2], published[0]]);
    Ok(())
}

fn stable_under_writers(fixture: &dyn ListingsFixture) -> Result<(), Failed> {
    let before = (0..20).map(|n| publish(as_store(fixture), &record(n))).collect::<Result<Vec<_>, _>>()?;
    let write =
        |thread: u64| (0..10).try_for_each(|n| publish(as_store(fixture), &record(thread * 1000 + n)).map(drop));
    std::thread::scope(|scope| {
        let writers: Vec<_> = (1..=8).map(|thread| scope.spawn(move || write(thread))).collect();
        for _ in 0..10 {
            let listing = fixture.listings().begin_listing()?;
            let mut listed = ids(&*listing, Direction::Descending)?;
            let mut again = ids(&*listing, Direction::Ascending)?;
            again.reverse();
            assert_eq!(listed, again, "it is the same from either end");
            assert!(before.iter().all(|id| listed.contains(id)), "something is missing");
            let count = listed.len();
            listed.sort();
            listed.dedup();
            assert_eq!(listed.len(), count, "something is listed twice");
        }
        writers.into_iter().try_for_each(|writer| writer.join().map_err(|_| "a writer panicked")?)
    })?;
    assert_eq!(fixture.listings().begin_listing()?.count(), 100);
    Ok(())
}

fn loads_in_any_order(fixture: &dyn ListingsFixture) -> Result<(), Failed> {
    let published = (0..3).map(|n| publish(as_store(fixture), &record(n))).collect::<Result<Vec<_>, _>>()?;
    fixture.records().append(&rejected(1, published[1], None))?;
    let listing = fixture.listings().begin_listing()?;
    let entries = listing.entries(Direction::Ascending).collect::<Result<Vec<_>, _>>()?;
    for (n, entry) in entries.iter().enumerate().rev() {
        assert_eq!(listing.load(entry)?, Some(record(n as u64)));
        assert_eq!(listing.events(entry)?.len(), usize::from(n == 1));
    }
    Ok(())
}

fn damaged_costs_no_other(fixture: &dyn ListingsFixture) -> Result<(), Failed> {
    let published = (0..3).map(|n| publish(as_store(fixture), &record(n))).collect::<Result<Vec<_>, _>>()?;
    fixture.damage(&published[1]);
    let listing = fixture.listings().begin_listing()?;
    let entries = listing.entries(Direction::Descending).collect::<Result<Vec<_>, _>>()?;
    let loaded: Vec<_> = entries.iter().map(|entry| listing.load(entry).map_err(|error| error.kind)).collect();
    assert_eq!(loaded, [Ok(Some(record(2))), Err(StoreErrorKind::Damaged), Ok(Some(record(0)))]);
    Ok(())
}

fn as_store(fixture: &dyn ListingsFixture) -> &dyn StoreFixture {
    fixture
}
