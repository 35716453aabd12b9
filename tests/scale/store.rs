//! What a store of many records costs: the time and the memory of looking into it.
//!
//! A million records, in minutes, with figures, by the program that `scripts/setup` built:
//! `ISOBOX_BIN=PROGRAM cargo test --release -p isobox-tests --test scale_store -- --ignored --nocapture`.
//! `ISOBOX_SCALE_TASKS` makes it another number, and `ISOBOX_SCALE_KEEP` names a directory for the store, which stays.

#[path = "../../adapters/store/tests/support/synthetic.rs"]
mod synthetic;

use isobox_domain::content::{ContentId, hex};
use isobox_domain::outcome::Outcome;
use isobox_domain::record::{RecordedArgument, TaskRecord};
use isobox_domain::timestamp::Timestamp;
use isobox_ports::contract::sample::{noise, promoted, record};
use isobox_tests::{Project, User, isobox_program, on_a_terminal};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};
use synthetic::{Synthesis, Task};

/// Tasks of the quick run; a debug build is slow in making them.
const FEW: u64 = if cfg!(debug_assertions) { 4_000 } else { 20_000 };
const MANY: u64 = 1_000_000;
const TASKS: &str = "ISOBOX_SCALE_TASKS";
const KEEP: &str = "ISOBOX_SCALE_KEEP";
/// Tasks of a pack: they take about 45 MiB.
const A_PACK: u64 = 20_000;
/// Lanes of synthetic packs; the first one is left to isobox.
const LANES: u64 = 31;
/// Every so many Tasks, one was promoted.
const PROMOTED: u64 = 16;
/// 64 MiB in KiB, the peak that every process of isobox stays under.
const MOST_KIB: u64 = 64 * 1024;
/// What the peak may grow by with every record, in bytes: less than a third of what a record takes. It is looked at every few
/// milliseconds, and so is not known to the byte.
const MOST_GROWTH: u64 = 1024;

/// The n-th Task: about 3 KiB of record, and 500 bytes of output.
fn task(n: u64) -> Task {
    let at = Timestamp::nearest(1_700_000_000_000 + n * 1000);
    let shown = format!("step-{n}").into_bytes();
    let record = TaskRecord {
        created_at: at,
        started_at: Some(at),
        ended_at: Timestamp::nearest(at.unix_ms() + n % 977),
        command: vec![RecordedArgument { shown, masked_digest: None }],
        outcome: if n % 10 == 9 { Outcome::WorkloadCommandExit } else { Outcome::Success },
        probes: Vec::new(),
        extensions: vec![("bench".into(), hex(&noise(n, 1300)).into_bytes())],
        ..record(n)
    };
    let event = n.is_multiple_of(PROMOTED).then(|| promoted(n, ContentId::new([0; 32]), None).kind);
    Task { record, stdout: hex(&noise(n + MANY, 250)).into_bytes(), event }
}

/// Writes sealed packs with so many Tasks into the store in `records`, on every core.
fn make(records: &Path, tasks: u64) {
    let cores = thread::available_parallelism().map_or(1, usize::from) as u64;
    let packs = tasks.div_ceil(A_PACK.min(tasks / 4));
    let a_pack = tasks.div_ceil(packs);
    thread::scope(|scope| {
        for core in 0..cores {
            scope.spawn(move || {
                let mut synthesis = Synthesis::new(records);
                // All packs of a lane are made by one thread, one after the other.
                for pack in (0..packs).filter(|pack| pack % LANES % cores == core) {
                    let tasks = pack * a_pack..((pack + 1) * a_pack).min(tasks);
                    synthesis.pack_of(1 + (pack % LANES) as u8, tasks.map(task));
                }
            });
        }
    });
}

/// A project and the records directory of its store.
struct Stand {
    project: Project,
    records: PathBuf,
}

/// What a command took.
struct Took {
    time: Duration,
    peak_kib: u64,
    stdout: String,
}

impl Stand {
    /// A store of `tasks` synthetic Tasks, and ten that isobox attempted itself after them.
    #[expect(clippy::print_stdout, reason = "how long it takes is to be seen")]
    fn new(tasks: u64) -> Self {
        let project = Project::initialised(User::Current);
        let kept = std::env::var_os(KEEP).map(PathBuf::from);
        let records = kept.unwrap_or_else(|| project.scratch().join("records"));
        let stand = Self { project, records };
        if !stand.records.exists() {
            stand.attempt();
            let start = Instant::now();
            make(&stand.records, tasks);
            println!("{tasks} tasks were made in {:.1} s", start.elapsed().as_secs_f64());
            (1..10).for_each(|_| stand.attempt());
        }
        stand
    }

    fn attempt(&self) {
        let records = format!("--records={}", self.records.display());
        let ran = self.project.isobox(&["run", "-q", "--backend=host", &records, "--", "true"]);
        assert_eq!(ran.code, 0, "{ran:?}");
    }

    /// Runs a command that looks into the store; what it took.
    #[expect(clippy::print_stdout, reason = "the figures are to be seen")]
    fn looks(&self, name: &str, arguments: &[&str]) -> Took {
        let records = format!("--records={}", self.records.display());
        let mut command = self.project.isobox_command(&[arguments, &[&records]].concat());
        let start = Instant::now();
        let mut child = command.stdout(Stdio::piped()).spawn().expect("run isobox");
        let pid = child.id();
        let mut pipe = child.stdout.take().expect("a pipe");
        let (peak_kib, (stdout, time)) = thread::scope(|scope| {
            let reader = scope.spawn(move || {
                let mut stdout = String::new();
                pipe.read_to_string(&mut stdout).expect("text");
                (stdout, start.elapsed())
            });
            let mut peak_kib = 0;
            while !reader.is_finished() {
                peak_kib = high_water_mark(pid).unwrap_or(peak_kib);
                thread::sleep(Duration::from_millis(2));
            }
            (peak_kib, reader.join().expect("it was read"))
        });
        let status = child.wait().expect("wait");
        assert!(status.success(), "{name}: {status}");
        println!("| {name:<40} | {:>9.1} ms | {:>6.1} MiB |", time.as_secs_f64() * 1e3, peak_kib as f64 / 1024.0);
        assert!(peak_kib < MOST_KIB, "{name} took {peak_kib} KiB");
        Took { time, peak_kib, stdout }
    }

    fn remove_tables(&self) {
        let packs =
            fs::read_dir(self.records.join("store/packs")).expect("packs").map(|entry| entry.expect("one").path());
        packs
            .filter(|path| path.extension().is_some_and(|e| e == "idx"))
            .for_each(|path| fs::remove_file(path).expect("it goes"));
        let cache = self.records.join("store/cache");
        fs::remove_dir_all(&cache).expect("the cache goes");
    }
}

fn high_water_mark(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Looks in every way at a store of so many Tasks.
fn look_at(stand: &Stand, tasks: u64) -> Vec<(&'static str, Took)> {
    stand.remove_tables();
    let counted = |took: &Took| took.stdout.lines().count() as u64;
    let rebuilt = stand.looks("list the newest, without any table", &["list", "--jsonl", "--limit=1"]);
    let newest = stand.looks("list the newest 50", &["list", "--limit=50"]);
    assert_eq!(counted(&newest), 51);
    let oldest = stand.looks("list the oldest 50", &["list", "--reverse", "--limit=50"]);
    assert!(oldest.stdout.lines().nth(1).is_some_and(|line| line.contains("step-0")), "{}", oldest.stdout);
    let since = stand.looks("list what is of this year", &["list", "--jsonl", "--since=2026-01-01"]);
    assert_eq!(counted(&since), 10);
    let by_id = stand.looks("list by the beginning of an id", &["list", "--jsonl", "--task=00000000000000"]);
    assert_eq!(counted(&by_id), 256);
    let none = stand.looks("list by a command that no task has", &["list", "--jsonl", "--command=no such"]);
    assert_eq!(counted(&none), 0);
    let promoted = stand.looks("list what was promoted", &["list", "--jsonl", "--promoted"]);
    assert_eq!(counted(&promoted), tasks.div_ceil(PROMOTED));
    let longest = stand.looks("list the 50 that took longest", &["list", "--jsonl", "--sort=duration", "--limit=50"]);
    assert_eq!(counted(&longest), 50);
    let all = stand.looks("list all", &["list", "--jsonl"]);
    assert_eq!(counted(&all), tasks + 10);
    let stat = stand.looks("store stat", &["store", "stat"]);
    assert!(stat.stdout.contains(&format!("{:<16} {:>10}", "records", tasks + 10)), "{}", stat.stdout);
    let quick = stand.looks("verify --quick", &["verify", "--quick"]);
    vec![("newest", newest), ("rebuild", rebuilt), ("longest", longest), ("all", all), ("quick", quick), ("stat", stat)]
}

#[test]
fn memory_does_not_grow_with_records() {
    let peak_kib = |tasks| {
        let looks = look_at(&Stand::new(tasks), tasks);
        let peak = looks.iter().map(|(_, took)| took.peak_kib).max();
        peak.filter(|peak_kib| *peak_kib > 0).expect("somebody saw how much it took")
    };
    let (fewer, more) = (peak_kib(FEW / 5), peak_kib(FEW));
    let growth = 1024 * more.saturating_sub(fewer) / (FEW - FEW / 5);
    assert!(growth < MOST_GROWTH, "{fewer} KiB became {more} KiB: {growth} bytes a record");
}

#[test]
fn a_terminal_shows_fifty_of_many_and_counts_the_rest() {
    let stand = Stand::new(1000);
    let records = format!("--records={}", stand.records.display());
    let (code, shown) = on_a_terminal(stand.project.isobox_command(&["list", &records]), 200);
    let tasks = shown.lines().filter(|line| line.starts_with("task-")).count();
    assert_eq!((code, tasks), (0, 50), "{shown}");
    assert!(shown.contains("960 more tasks not shown; --limit takes a number or `all`"), "{shown}");
}

#[test]
#[ignore = "takes minutes and 3 GB; prints figures"]
fn a_million_records() {
    let tasks = std::env::var(TASKS).map_or(MANY, |tasks| tasks.parse().expect("a number"));
    let stand = Stand::new(tasks);
    println!("{}", isobox_program().display());
    for (name, took) in look_at(&stand, tasks) {
        let most = match name {
            "newest" => Duration::from_millis(50),
            // They read every record.
            "longest" | "all" => Duration::from_secs(300),
            _ => Duration::from_secs(60),
        };
        assert!(took.time < most, "{name} took {:?}", took.time);
    }
}
