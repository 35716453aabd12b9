//! Writers, compactions, sweeps and updates of the log that are killed at any moment: nothing that was acknowledged is lost.
//!
//! A thousand kills: `ISOBOX_KILLS=1000 cargo nextest run --release -p isobox-store --test upkeep_kills --no-capture`.

#[path = "support/actors.rs"]
mod actors;
#[path = "support/signer.rs"]
mod signer;

use actors::{Acknowledged, Actor, Part, assert_kept, assert_logged};
use isobox_domain::compaction::Scope;
use isobox_ports::{Collector, Compactor};
use isobox_store::FsTaskStore;
use std::time::Duration;

const KILLS: &str = "ISOBOX_KILLS";
/// Kills of the run that is part of every test run.
const FEW: u64 = 24;
/// So many times as many rounds are made, where too little is published in them.
const MOST: u64 = 8;
/// Actors of a round, each of which is killed.
const ACTORS: u64 = 3;

/// What an actor does until it is killed. No test of its own.
#[test]
fn child() {
    actors::act();
}

#[test]
fn whoever_is_killed_nothing_that_was_acknowledged_is_lost() {
    let rounds = std::env::var(KILLS).map_or(FEW, |kills| kills.parse().unwrap()).div_ceil(ACTORS);
    let directory = tempfile::tempdir().unwrap();
    let (records, note) = (directory.path().join("records"), directory.path().join("note"));
    std::fs::create_dir(&records).unwrap();
    let mut acknowledged = Acknowledged::new();
    let is_enough = |acknowledged: &Acknowledged| acknowledged.len() as u64 > rounds / 2;
    // A machine that is busy otherwise may publish nothing in a few milliseconds: then there are more rounds, and longer ones.
    let is_over = |round, acknowledged: &_| round >= rounds && (is_enough(acknowledged) || round >= MOST * rounds);
    let mut round = 0;
    while !is_over(round, &acknowledged) {
        let parts = [Part::Write(round * 10_000), Part::KeepUp, Part::Log(&note)];
        let mut actors: Vec<_> = parts.into_iter().map(|part| Actor::start(&records, part)).collect();
        // Killed at another moment each time, and another one first: between a few milliseconds and a quarter of a second.
        std::thread::sleep(Duration::from_micros(3_000 + (round * 7_919) % 250_000));
        Actor::assert_all_act(&mut actors);
        actors.rotate_left((round % ACTORS) as usize);
        for (actor, pause) in actors.into_iter().zip([1_237, 971, 0]) {
            acknowledged.extend(actor.end(None));
            std::thread::sleep(Duration::from_micros((round * pause) % 20_000));
        }
        round += 1;
        if round % 4 == 0 || is_over(round, &acknowledged) {
            assert_kept(&records, &acknowledged);
            assert_logged(&records, &note);
        }
    }
    tell(&format!(
        "{} kills: {} of {} acknowledged Tasks were pruned, and none was lost",
        round * ACTORS,
        acknowledged.values().filter(|(_, is_pruned)| *is_pruned).count(),
        acknowledged.len()
    ));
    assert!(is_enough(&acknowledged), "{} were published", acknowledged.len());
    let store = FsTaskStore::create(&records).unwrap();
    store.sweep(&|_| {}).unwrap();
    store.compact(Scope::All, &|_| {}).unwrap();
    assert_kept(&records, &acknowledged);
    let left = std::fs::read_dir(records.join("store/cache")).unwrap();
    assert_eq!(left.filter(|e| e.as_ref().unwrap().file_name().to_str().unwrap().starts_with("compact-")).count(), 0);
}

#[allow(clippy::print_stdout, reason = "the harness shows what a test prints")]
fn tell(what: &str) {
    println!("{what}");
}
