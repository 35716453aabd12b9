//! Processes that publish, prune, compact, sweep and log until they are stopped, and what must be there afterwards.
#![allow(dead_code, reason = "each test target uses a part of it")]

use crate::signer::TestSigner;
use isobox_domain::compaction::Scope;
use isobox_domain::content::ContentId;
use isobox_domain::log::TreeHead;
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_domain::verification::Thoroughness;
use isobox_ports::contract::sample::{draft, noise, pruned, record};
use isobox_ports::{
    Attempts, Cause, CheckpointSigner, Collector, Compactor, Gaps, LogUpdates, ObjectStore, RecordLog, Role,
    StoreError, StoreErrorKind, TransparencyLog, Verifier,
};
use isobox_store::FsTaskStore;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

const RECORDS: &str = "ISOBOX_TEST_RECORDS";
const ROLE: &str = "ISOBOX_TEST_ROLE";
const FIRST: &str = "ISOBOX_TEST_FIRST";
const NOTE: &str = "ISOBOX_TEST_NOTE";

/// What an actor does, over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// Publishes from the n-th Task on, prunes two of three, and says so once that is durable.
    Write(u64),
    /// Compacts and sweeps.
    KeepUp,
    /// Extends the log, and keeps the newest checkpoint in this file.
    Log(&'a Path),
}

/// Digests of Tasks whose record was acknowledged, and whether their prune was.
pub(crate) type Acknowledged = BTreeMap<u64, (String, bool)>;

/// A process that plays a part, and what it says meanwhile.
pub(crate) struct Actor {
    process: Child,
    told: JoinHandle<Vec<String>>,
    complained: JoinHandle<String>,
}

impl Actor {
    /// Starts one. The test program has to call [`act`] in its test `child`, or before its tests.
    pub(crate) fn start(records: &Path, part: Part<'_>) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child", "--nocapture"]).env(RECORDS, records);
        match part {
            Part::Write(first) => command.env(ROLE, "write").env(FIRST, first.to_string()),
            Part::KeepUp => command.env(ROLE, "keep up"),
            Part::Log(note) => command.env(ROLE, "log").env(NOTE, note),
        };
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdout, mut stderr) = (process.stdout.take().unwrap(), process.stderr.take().unwrap());
        let complained = thread::spawn(move || {
            let mut text = Vec::new();
            stderr.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        });
        Self { process, told: thread::spawn(|| read(stdout)), complained }
    }

    /// Fails if one has come to an end by itself.
    pub(crate) fn assert_all_act(actors: &mut Vec<Self>) {
        if let Some(at) = actors.iter_mut().position(|actor| actor.process.try_wait().unwrap().is_some()) {
            panic!("nobody disturbed it yet: {}", actors.swap_remove(at).complained.join().unwrap());
        }
    }

    /// Kills it, now.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
    }

    /// What it acknowledged before this moment, or until it was gone.
    pub(crate) fn end(mut self, moment: Option<Moment>) -> Acknowledged {
        self.kill();
        self.process.wait().unwrap();
        let mut all = Acknowledged::new();
        for line in self.told.join().unwrap() {
            let words: Vec<&str> = line.split(' ').collect();
            let said: Moment = words[0].parse().unwrap();
            if moment.is_some_and(|moment| said >= moment) {
                break;
            }
            match words[1..] {
                ["published", n, digest] => drop(all.insert(n.parse().unwrap(), (digest.to_owned(), false))),
                ["pruned", n] => all.get_mut(&n.parse().unwrap()).unwrap().1 = true,
                _ => panic!("{line}"),
            }
        }
        all
    }
}

/// Nanoseconds since 1970, by the clock of this machine.
pub(crate) type Moment = u128;

fn read(stdout: ChildStdout) -> Vec<String> {
    let lines = BufReader::new(stdout).lines().map_while(Result::ok);
    lines.filter_map(|line| line.rsplit_once("told ").map(|(_, words)| words.to_owned())).collect()
}

/// Plays the part that this process was started for, until it is killed; returns at once if there is none.
pub(crate) fn act() {
    let Ok(records) = std::env::var(RECORDS) else { return };
    let store = FsTaskStore::create(Path::new(&records)).unwrap();
    match std::env::var(ROLE).unwrap().as_str() {
        "write" => write(&store, std::env::var(FIRST).unwrap().parse().unwrap()),
        "log" => log(&store, &KeptSigner::new(std::env::var(NOTE).unwrap().into())),
        _ => keep_up(&store),
    }
}

fn write(store: &FsTaskStore, first: u64) {
    for n in first.. {
        let id = publish(store, n);
        say(&format!("published {n} {}", id.to_hex()));
        if is_pruned(n) {
            store.append(&pruned(n, id, None)).unwrap();
            say(&format!("pruned {n}"));
        }
    }
}

fn is_pruned(n: u64) -> bool {
    !n.is_multiple_of(3)
}

fn say(line: &str) {
    let moment: Moment = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "told {moment} {line}").unwrap();
    stdout.flush().unwrap();
}

fn keep_up(store: &FsTaskStore) {
    loop {
        unless_locked(store.compact(Scope::All, &|_| {}));
        unless_locked(store.sweep(&|_| {}));
    }
}

fn log(store: &FsTaskStore, signer: &KeptSigner) {
    loop {
        match store.extend(signer, Gaps::Stop) {
            // Nothing is there yet that could be logged.
            Err(error) if error.kind == StoreErrorKind::Missing => thread::yield_now(),
            extended => unless_locked(extended),
        }
    }
}

fn unless_locked<T>(upkeep: Result<T, StoreError>) {
    match upkeep {
        // Another one is at it, or the one before was killed and holds the lock until it is gone.
        Err(error) if error.kind == StoreErrorKind::Locked => thread::yield_now(),
        done => drop(done.unwrap()),
    }
}

/// Mostly one of few outputs, so that what one pruned is what the next one needs; now and then a large one.
fn output(n: u64) -> Vec<u8> {
    let seed = if n.is_multiple_of(4) { n } else { n % 7 };
    noise(seed, if n.is_multiple_of(10) { 1 << 20 } else { 6000 })
}

fn publish(store: &FsTaskStore, n: u64) -> ContentId {
    let attempt = store.begin(&draft(n)).unwrap();
    let mut writer = attempt.stage(Role::Stdout).unwrap();
    writer.write_all(&output(n)).unwrap();
    let artifacts = TaskArtifacts { stdout: Some(writer.finish().unwrap()), ..TaskArtifacts::default() };
    store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap()
}

/// Fails unless the store is sound and has everything that was acknowledged, as it was.
pub(crate) fn assert_kept(records: &Path, acknowledged: &Acknowledged) {
    let store = FsTaskStore::create(records).unwrap();
    for attempt in store.abandoned().unwrap() {
        attempt.discard().unwrap();
    }
    let found = store.verify(Thoroughness::Full, &|_| {}).unwrap();
    assert_eq!((found.defects.as_slice(), found.untold), (&[][..], 0));
    let listed: BTreeSet<String> = store.list().unwrap().map(|entry| entry.unwrap().record.to_hex()).collect();
    for (n, (digest, is_told_pruned)) in acknowledged {
        if *is_told_pruned {
            assert!(!listed.contains(digest), "task {n} was pruned");
        } else if listed.contains(digest) {
            let id: ContentId = format!("b3:{digest}").parse().unwrap();
            let stdout = store.load(&id).unwrap().expect("it is listed").artifacts.stdout.unwrap();
            let mut bytes = Vec::new();
            store.open(&stdout.id).unwrap().expect("it is referred to").read_to_end(&mut bytes).unwrap();
            assert!(bytes == output(*n), "task {n} reads otherwise");
        } else {
            // The prune may be durable without having been told.
            assert!(is_pruned(*n), "task {n} was acknowledged and is lost");
        }
    }
}

/// Fails unless the log is whole up to the newest checkpoint that was signed, and can be gone on with.
pub(crate) fn assert_logged(records: &Path, note: &Path) {
    let signer = KeptSigner::new(note.to_owned());
    let store = FsTaskStore::create(records).unwrap();
    if let Some(head) = signer.newest().unwrap().and_then(|note| signer.head_of(&note)) {
        let compared = store.compare(&head, &|_| {}).unwrap();
        assert!(compared.is_whole && compared.defects.is_empty(), "{compared:?}");
    }
    if store.commits().unwrap() == 0 {
        return;
    }
    let extended = store.extend(&signer, Gaps::Stop).unwrap();
    assert_eq!((extended.gaps, extended.head.size), (Vec::new(), store.commits().unwrap()));
}

/// Signs as [`TestSigner`] does, and keeps the newest checkpoint in a file that outlives the process.
struct KeptSigner {
    signer: TestSigner,
    note: PathBuf,
}

impl KeptSigner {
    fn new(note: PathBuf) -> Self {
        Self { signer: TestSigner::new(1), note }
    }
}

impl CheckpointSigner for KeptSigner {
    fn head_of(&self, note: &[u8]) -> Option<TreeHead> {
        self.signer.head_of(note)
    }

    fn newest(&self) -> Result<Option<Vec<u8>>, Cause> {
        match fs::read(&self.note) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            read => Ok(Some(read?)),
        }
    }

    fn sign(&self, head: &TreeHead) -> Result<Vec<u8>, Cause> {
        let note = self.signer.sign(head)?;
        let new = self.note.with_extension("new");
        fs::write(&new, &note)?;
        fs::rename(new, &self.note)?;
        Ok(note)
    }
}
