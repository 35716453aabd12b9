//! Everything at once for a while: tasks are written, pruned, compacted, logged, read and verified, and nothing is lost.
//!
//! Five minutes with the program that `scripts/setup` built, and ten more to read every task back:
//! `ISOBOX_BIN=PROGRAM ISOBOX_SOAK_SECONDS=300 cargo nextest run -p isobox-tests --test soak --no-capture`.

use isobox_tests::{Outcome, Project, User};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const SECONDS: &str = "ISOBOX_SOAK_SECONDS";
/// Seconds of the run that is part of every test run.
const FEW: u64 = 5;
const WRITERS: u64 = 8;
const READERS: u64 = 2;
/// Records without changes that a prune leaves.
const KEPT: &str = "40";
/// The task store is locked, and says so.
const LOCKED: i32 = 6;

/// Tasks that were acknowledged, and what each said.
type Tasks = Mutex<BTreeMap<String, String>>;

struct Soak<'a> {
    project: &'a Project,
    end: Instant,
    /// Those that changed something, which nobody decides about: they stay.
    changed: Tasks,
    /// Those that only said something: they go once there are newer ones.
    said: Tasks,
    /// Those that a prune says it removed.
    pruned: Mutex<BTreeSet<String>>,
    /// Those that it was at when the store was locked for too long: it had said so of some already.
    half_pruned: Mutex<BTreeSet<String>>,
    /// How often everything else was done.
    done: BTreeMap<&'static str, AtomicU64>,
}

const DONE: [&str; 5] = ["prunes", "compactions", "checkpoints", "looks", "verifications"];

impl Soak<'_> {
    fn goes_on(&self) -> bool {
        Instant::now() < self.end
    }

    fn isobox(&self, arguments: &[&str]) -> Outcome {
        self.project.isobox(arguments)
    }

    fn count(&self, what: &str) {
        self.done[what].fetch_add(1, Ordering::Relaxed);
    }

    fn write(&self, writer: u64) {
        for n in 0.. {
            if !self.goes_on() {
                return;
            }
            let (word, has_changes) = (format!("writer {writer} task {n}"), writer.is_multiple_of(2));
            let change = if has_changes { format!("; echo {word} > written") } else { String::new() };
            let ran = self.isobox(&["run", "--backend", "host", "--", "sh", "-c", &format!("echo {word}{change}")]);
            assert_eq!(ran.code, 0, "{ran:?}");
            let tasks = if has_changes { &self.changed } else { &self.said };
            tasks.lock().expect("tasks").insert(task_of(&ran), word);
        }
    }

    fn prune(&self) {
        while self.goes_on() {
            let pruned = self.isobox(&["store", "prune", "--keep-last", KEPT, "--apply"]);
            assert!([0, LOCKED].contains(&pruned.code), "{pruned:?}");
            let words = pruned.stdout.lines().filter_map(|line| line.split_whitespace().next());
            let gone = words.filter(|word| word.starts_with("task-")).map(str::to_owned);
            let tasks = if pruned.code == 0 { &self.pruned } else { &self.half_pruned };
            tasks.lock().expect("tasks").extend(gone);
            self.count("prunes");
        }
    }

    fn compact(&self) {
        self.over_and_over("compactions", &["store", "compact"]);
    }

    fn log(&self) {
        self.over_and_over("checkpoints", &["audit", "checkpoint"]);
    }

    fn over_and_over(&self, what: &str, arguments: &[&str]) {
        while self.goes_on() {
            let done = self.isobox(arguments);
            assert!([0, LOCKED].contains(&done.code), "{done:?}");
            if done.code == 0 {
                self.count(what);
            }
        }
    }

    fn verify(&self) {
        while self.goes_on() {
            let found = self.isobox(&["verify", "--json"]);
            assert_eq!((found.code, &document(&found)["defects"]), (0, &Value::Array(Vec::new())), "{found:?}");
            self.count("verifications");
        }
    }

    fn read(&self, reader: u64) {
        for n in reader.. {
            if !self.goes_on() {
                return;
            }
            let listed = self.isobox(&["list", "--json"]);
            assert_eq!(listed.code, 0, "{listed:?}");
            let some = self
                .changed
                .lock()
                .expect("tasks")
                .iter()
                .nth(n as usize * 7 % 50)
                .map(|(id, word)| (id.clone(), word.clone()));
            if let Some((task, word)) = some {
                self.assert_reads(&task, &word, true);
            }
            self.count("looks");
        }
    }

    fn assert_reads(&self, task: &str, word: &str, has_changes: bool) {
        let said = self.isobox(&["logs", task]);
        assert_eq!((said.code, said.stdout.trim_end()), (0, word), "{said:?}");
        if has_changes {
            let written = self.isobox(&["cat", &format!("{task}:written")]);
            assert_eq!((written.code, written.stdout.trim_end()), (0, word), "{written:?}");
        }
    }

    /// Everything that was acknowledged is there, or a prune said that it removed it.
    fn assert_kept(&self) {
        let listed: BTreeSet<String> =
            document(&self.isobox(&["list", "--json"]))["tasks"].as_array().expect("tasks").iter().map(id_of).collect();
        let (pruned, half) = (self.pruned.lock().expect("tasks"), self.half_pruned.lock().expect("tasks"));
        for (task, word) in &*self.changed.lock().expect("tasks") {
            assert!(listed.contains(task) && !pruned.contains(task) && !half.contains(task), "{task} is lost");
            self.assert_reads(task, word, true);
        }
        for (task, word) in &*self.said.lock().expect("tasks") {
            let is_right =
                listed.contains(task) != pruned.contains(task) || (half.contains(task) && !listed.contains(task));
            assert!(is_right, "{task} is neither there nor pruned, or both");
            if listed.contains(task) {
                self.assert_reads(task, word, false);
            }
        }
    }
}

fn document(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

fn id_of(task: &Value) -> String {
    task["id"].as_str().expect("an id").to_owned()
}

fn task_of(ran: &Outcome) -> String {
    let line = ran.stderr.lines().find(|line| line.contains(": completed outcome="));
    let task = line.and_then(|line| line.split([' ', ':']).find(|word| word.starts_with("task-")));
    task.unwrap_or_else(|| panic!("no completion in {ran:?}")).to_owned()
}

#[test]
#[allow(clippy::print_stdout, reason = "the harness shows what a test prints")]
fn writers_prunes_compactions_updates_of_the_log_readers_and_verifications_at_once_lose_nothing() {
    let seconds = std::env::var(SECONDS).map_or(FEW, |seconds| seconds.parse().expect("a number"));
    let project = Project::initialised(User::Current);
    assert_eq!(project.isobox(&["run", "--backend", "host", "--", "true"]).code, 0);
    assert_eq!(project.isobox(&["audit", "init-key"]).code, 0);
    let first = project.isobox(&["audit", "checkpoint"]).stdout;
    let older = project.scratch().join("older");
    std::fs::write(&older, first).expect("write");
    let soak = Soak {
        project: &project,
        end: Instant::now() + Duration::from_secs(seconds),
        changed: Tasks::default(),
        said: Tasks::default(),
        pruned: Mutex::default(),
        half_pruned: Mutex::default(),
        done: DONE.map(|what| (what, AtomicU64::new(0))).into(),
    };
    thread::scope(|scope| {
        let soak = &soak;
        (0..WRITERS).for_each(|writer| drop(scope.spawn(move || soak.write(writer))));
        (0..READERS).for_each(|reader| drop(scope.spawn(move || soak.read(reader))));
        scope.spawn(|| soak.prune());
        scope.spawn(|| soak.compact());
        scope.spawn(|| soak.log());
        scope.spawn(|| soak.verify());
    });
    let found = project.isobox(&["verify", "--deep", "--since", &older.display().to_string(), "--json"]);
    assert_eq!((found.code, &document(&found)["defects"]), (0, &Value::Array(Vec::new())), "{found:?}");
    soak.assert_kept();
    let count = |tasks: &Tasks| tasks.lock().expect("tasks").len();
    let pruned = soak.pruned.lock().expect("tasks").len();
    println!(
        "{seconds} s: {} tasks that stay, {} others, {pruned} pruned, {:?}",
        count(&soak.changed),
        count(&soak.said),
        soak.done
    );
    assert!(soak.done.values().all(|count| count.load(Ordering::Relaxed) > 0), "{:?}", soak.done);
}
