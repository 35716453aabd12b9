//! Every order of the steps of two that work on one store at once. The code under test is the real one, with its real
//! locks: a thread is held up at each step until it is its turn.

mod support;

use isobox_domain::compaction::Scope;
use isobox_domain::content::ContentId;
use isobox_domain::listing::Direction;
use isobox_domain::measurement::ContentKind;
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_domain::verification::Thoroughness;
use isobox_ports::contract::sample::{draft, noise, pruned, record};
use isobox_ports::{
    Attempts, Collector, Compactor, Content, Listings, Measurer, MendMode, Mender, ObjectStore, RecordLog, Role,
    Verifier,
};
use isobox_store::{FsTaskStore, hook_steps};
use isobox_store_format::object::reference_to;
use std::io::{Cursor, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

type Actor = fn(&FsTaskStore);

/// What an actor tells the one who says whose turn it is.
enum Told {
    Step(usize, &'static str),
    Over(usize),
}

/// The step of one who waits for a lock.
const WAITS: &str = "waits";

/// Where an actor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Step,
    /// It waits for a lock, and nobody else has gone on since.
    Waiting,
    Over,
}

/// One run of both actors: at the n-th decision, the n-th of `choices` says which of those that can go on does; the first
/// one after that. How many there were at each decision.
fn run(records: &Path, is_held: fn(&str) -> bool, actors: [Actor; 2], choices: &[usize]) -> Vec<(usize, usize)> {
    let (told, hear) = channel();
    let mut turns = Vec::new();
    thread::scope(|scope| {
        for (number, actor) in actors.into_iter().enumerate() {
            let (turn, my_turn) = channel();
            turns.push(turn);
            let told = told.clone();
            scope.spawn(move || {
                let store = FsTaskStore::create(records).unwrap();
                hold_up(number, is_held, told.clone(), my_turn);
                actor(&store);
                told.send(Told::Over(number)).unwrap();
            });
        }
        drop(told);
        direct(&hear, &turns, choices)
    })
}

fn hold_up(number: usize, is_held: fn(&str) -> bool, told: Sender<Told>, my_turn: Receiver<()>) {
    hook_steps(move |step| {
        if step != WAITS && !is_held(step) {
            return;
        }
        told.send(Told::Step(number, step)).unwrap();
        my_turn.recv().unwrap();
    });
}

fn direct(hear: &Receiver<Told>, turns: &[Sender<()>], choices: &[usize]) -> Vec<(usize, usize)> {
    let (mut at, mut decisions) = ([None, None], Vec::new());
    loop {
        while at.contains(&None) {
            match hear.recv().expect("an actor tells where it is") {
                Told::Step(number, WAITS) => at[number] = Some(At::Waiting),
                Told::Step(number, _) => at[number] = Some(At::Step),
                Told::Over(number) => at[number] = Some(At::Over),
            }
        }
        if at == [Some(At::Over); 2] {
            return decisions;
        }
        let able: Vec<usize> = (0..2).filter(|number| at[*number] == Some(At::Step)).collect();
        // Who waits tries again once the other has gone on; if both wait, that is a deadlock.
        assert!(!able.is_empty(), "nobody can go on: {at:?}");
        let choice = choices.get(decisions.len()).copied().unwrap_or(0);
        let next = able[choice];
        decisions.push((choice, able.len()));
        at[next] = None;
        turns[next].send(()).unwrap();
        let other = 1 - next;
        if at[other] == Some(At::Waiting) {
            at[other] = Some(At::Step);
        }
    }
}

/// Runs both actors in every order of the steps that are held; how many there were.
fn in_every_order(
    prepare: fn(&FsTaskStore, &Path),
    is_held: fn(&str) -> bool,
    actors: [Actor; 2],
    check: fn(&FsTaskStore),
) -> usize {
    let (mut choices, mut orders) = (Vec::new(), 0);
    loop {
        let records = tempfile::tempdir().unwrap();
        prepare(&FsTaskStore::create(records.path()).unwrap(), records.path());
        let decisions = run(records.path(), is_held, actors, &choices);
        orders += 1;
        let fresh = FsTaskStore::create(records.path()).unwrap();
        check(&fresh);
        let found = fresh.verify(Thoroughness::Deep, &|_| {}).unwrap();
        assert_eq!(found.defects, [], "after {decisions:?}");
        // The next order: another choice at the last decision where there is one left.
        let Some(last) = decisions.iter().rposition(|(choice, able)| choice + 1 < *able) else { return orders };
        choices = decisions[..last].iter().map(|(choice, _)| *choice).chain([decisions[last].0 + 1]).collect();
    }
}

const SHARED: u64 = 7;

fn publish(store: &FsTaskStore, n: u64) -> ContentId {
    let attempt = store.begin(&draft(n)).unwrap();
    let mut writer = attempt.stage(Role::Stdout).unwrap();
    writer.write_all(&noise(SHARED, 5000)).unwrap();
    let artifacts = TaskArtifacts { stdout: Some(writer.finish().unwrap()), ..TaskArtifacts::default() };
    store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap()
}

fn assert_whole(store: &FsTaskStore, expected: &[u64]) {
    let mut found = Vec::new();
    for entry in store.list().unwrap() {
        let record = store.load(&entry.unwrap().record).unwrap().expect("it is listed");
        let mut stdout = Vec::new();
        let content = store.open(&record.artifacts.stdout.unwrap().id).unwrap().expect("it is referred to");
        { content }.read_to_end(&mut stdout).unwrap();
        assert!(stdout == noise(SHARED, 5000));
        found.push(u64::from_be_bytes(*record.task.as_bytes()));
    }
    found.sort_unstable();
    assert_eq!(found, expected);
}

fn one_that_is_pruned(store: &FsTaskStore, _: &Path) {
    let id = publish(store, 1);
    // What is stored in a sealed pack counts as stored for every lane.
    store.compact(Scope::All, &|_| {}).unwrap();
    store.append(&pruned(1, id, None)).unwrap();
}

fn two_in_packs(store: &FsTaskStore, _: &Path) {
    for n in 1..=2 {
        publish(store, n);
        store.compact(Scope::All, &|_| {}).unwrap();
    }
}

/// What readers do is tried beside compactions; it would make too many orders here.
fn is_of_writers(step: &str) -> bool {
    !["listed the packs", "knows where to read", "knows better where to read"].contains(&step)
}

#[test]
fn a_record_that_needs_again_what_is_swept_is_whole_in_whichever_order_that_happens() {
    let put: Actor = |store| assert_ne!(publish(store, 2), ContentId::new([0; 32]));
    let sweep: Actor = |store| drop(store.sweep(&|_| {}).unwrap());
    let orders = in_every_order(one_that_is_pruned, is_of_writers, [put, sweep], |store| assert_whole(store, &[2]));
    assert!(orders > 50, "{orders} orders");
}

#[test]
fn a_record_that_is_put_beside_a_compaction_is_whole_in_whichever_order_that_happens() {
    let put: Actor = |store| assert_ne!(publish(store, 3), ContentId::new([0; 32]));
    let compact: Actor = |store| drop(store.compact(Scope::All, &|_| {}).unwrap());
    let orders = in_every_order(two_in_packs, |_| true, [put, compact], |store| assert_whole(store, &[1, 2, 3]));
    assert!(orders > 5, "{orders} orders");
}

#[test]
fn a_reader_beside_a_compaction_reads_everything_in_whichever_order_that_happens() {
    let read: Actor = |store| assert_whole(store, &[1, 2]);
    let compact: Actor = |store| drop(store.compact(Scope::All, &|_| {}).unwrap());
    let orders = in_every_order(two_in_packs, |_| true, [read, compact], |store| assert_whole(store, &[1, 2]));
    assert!(orders > 5, "{orders} orders");
}

#[test]
fn a_listing_beside_a_compaction_has_everything_once_in_whichever_order_that_happens() {
    let list: Actor = |store| {
        let listing = store.begin_listing().unwrap();
        for direction in [Direction::Ascending, Direction::Descending] {
            let tasks = listing.entries(direction).map(|entry| {
                let entry = entry.unwrap();
                assert!(listing.load(&entry).unwrap().is_some());
                u64::from_be_bytes(*entry.task.as_bytes())
            });
            let mut tasks: Vec<u64> = tasks.collect();
            tasks.sort_unstable();
            assert_eq!(tasks, [1, 2]);
        }
    };
    let compact: Actor = |store| drop(store.compact(Scope::All, &|_| {}).unwrap());
    let orders = in_every_order(two_in_packs, |_| true, [list, compact], |store| assert_whole(store, &[1, 2]));
    assert!(orders > 5, "{orders} orders");
}

#[test]
fn a_measurement_beside_a_compaction_counts_every_record_in_whichever_order_that_happens() {
    let measure: Actor = |store| {
        let found = store.measure(&|_| {}).unwrap();
        let copies = found.unreferenced.duplicates.count;
        // Both the packs that go and the one that comes are there for a moment.
        assert!(found.of(ContentKind::Record).count == 2 || copies >= 2, "{found:#?}");
        assert_eq!(found.referred.count % 2, 0);
    };
    let compact: Actor = |store| drop(store.compact(Scope::All, &|_| {}).unwrap());
    let orders = in_every_order(two_in_packs, |_| true, [measure, compact], |store| assert_whole(store, &[1, 2]));
    assert!(orders > 5, "{orders} orders");
}

fn one_that_is_damaged(store: &FsTaskStore, records: &Path) {
    publish(store, 1);
    support::damage(records, &reference_to(&noise(SHARED, 5000)).id);
}

fn mend(store: &FsTaskStore) {
    let find = |_: &ContentId| Some(Box::new(Cursor::new(noise(SHARED, 5000))) as Content);
    let mended = store.mend(&find, MendMode::Mend).unwrap();
    assert!(mended.iter().any(|file| !file.restored.is_empty()), "{mended:?}");
}

#[test]
fn a_record_that_is_put_beside_a_repair_is_whole_in_whichever_order_that_happens() {
    let put: Actor = |store| assert_ne!(publish(store, 2), ContentId::new([0; 32]));
    let orders = in_every_order(one_that_is_damaged, is_of_writers, [put, mend], |store| assert_whole(store, &[1, 2]));
    assert!(orders > 10, "{orders} orders");
}

#[test]
fn a_start_beside_a_repair_disturbs_none_of_the_two_in_whichever_order_that_happens() {
    let start: Actor = |store| {
        // Its steps come first, so that the recovery behind them meets the repair at each of its own.
        assert_ne!(publish(store, 2), ContentId::new([0; 32]));
        assert_eq!(store.abandoned().unwrap().len(), 0);
    };
    let orders =
        in_every_order(one_that_is_damaged, is_of_writers, [start, mend], |store| assert_whole(store, &[1, 2]));
    assert!(orders > 10, "{orders} orders");
}
