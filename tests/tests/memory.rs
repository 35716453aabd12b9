//! Memory does not grow with what a workload prints or leaves.

use isobox_tests::{Project, User, isobox_program};
use nix::sys::resource::{UsageWho, getrusage};
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// 64 MiB in KiB, the peak that every process of isobox stays under.
const MOST_KIB: u64 = 64 * 1024;
/// Bytes on each of the two streams.
const STREAM_BYTES: u64 = 1 << 30;

#[test]
fn a_gibibyte_of_noise_on_both_streams_is_captured_in_constant_memory() {
    let project = Project::initialised(User::Current);
    let flood = format!("head -c {STREAM_BYTES} /dev/urandom & head -c {STREAM_BYTES} /dev/urandom >&2; wait");
    let mut command = project.isobox_command(&["tool", "--", "sh", "-c", &flood]);
    let mut isobox = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start isobox");
    let done = AtomicBool::new(false);
    let (mut stdout, mut stderr) = (isobox.stdout.take().expect("a pipe"), isobox.stderr.take().expect("a pipe"));
    let (peak, passed_out, passed_err) = thread::scope(|scope| {
        let watcher = scope.spawn(|| watch_peak(&done));
        let err = scope.spawn(move || drain(&mut stderr));
        let out = drain(&mut stdout);
        let err = err.join().expect("drained");
        assert!(isobox.wait().expect("wait").success());
        done.store(true, Ordering::Relaxed);
        (watcher.join().expect("watched"), out, err)
    });
    println!("peak of the largest isobox process: {} KiB", peak);
    assert_eq!(passed_out, STREAM_BYTES);
    assert!(passed_err >= STREAM_BYTES);
    assert!((1..MOST_KIB).contains(&peak), "{peak} KiB");
    let show = project.isobox(&["show", "--json", "@latest"]);
    let record: serde_json::Value = serde_json::from_str(&show.stdout).expect("a document");
    for stream in ["stdout", "stderr"] {
        assert_eq!(record["result"]["artifacts"][stream]["length"], STREAM_BYTES, "{stream} of {record}");
    }
    moves_in_constant_memory(&project);
}

/// The same goes into an Archive and out of it.
fn moves_in_constant_memory(project: &Project) {
    let [archive, records] = ["all.isobox", "records"].map(|name| project.scratch().join(name).display().to_string());
    for arguments in [
        &["export", "--format", "archive", "@latest", &archive][..],
        &["verify", &archive],
        &["import", "--records", &records, &archive],
    ] {
        let done = AtomicBool::new(false);
        let peak = thread::scope(|scope| {
            let watcher = scope.spawn(|| watch_peak(&done));
            let moved = project.isobox(arguments);
            done.store(true, Ordering::Relaxed);
            assert_eq!(moved.code, 0, "{moved:?}");
            watcher.join().expect("watched")
        });
        assert!((1..MOST_KIB).contains(&peak), "{arguments:?}: {peak} KiB");
    }
}

fn drain(stream: &mut impl Read) -> u64 {
    io::copy(stream, &mut io::sink()).expect("read a stream")
}

/// The highest VmHWM of any process that runs the program under test, in KiB.
fn watch_peak(done: &AtomicBool) -> u64 {
    let program = fs::canonicalize(isobox_program()).expect("the program");
    let mut peak = 0;
    while !done.load(Ordering::Relaxed) {
        let processes = fs::read_dir("/proc").expect("/proc").flatten().map(|entry| entry.path());
        peak = processes.filter_map(|process| high_water_mark(&process, &program)).fold(peak, u64::max);
        thread::sleep(Duration::from_millis(20));
    }
    peak
}

fn high_water_mark(process: &Path, program: &Path) -> Option<u64> {
    (fs::read_link(process.join("exe")).ok()? == program).then_some(())?;
    let status = fs::read_to_string(process.join("status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn a_large_result_becomes_a_commit_and_a_file_for_git_in_constant_memory() {
    let project = Project::initialised(User::Current);
    let ran = project.isobox(&["tool", "--", "sh", "-c", "truncate -s 100M large; echo change >> README.md"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    // The first finds no object of it in the repository, the others do.
    for (format, destination) in
        [("git-bundle", "first"), ("commit", "-"), ("git-bundle", "b"), ("mbox", "m"), ("tar", "t")]
    {
        let written = match destination {
            "-" => "-".to_owned(),
            name => project.scratch().join(name).display().to_string(),
        };
        let exported = project.isobox(&["export", "--format", format, "@latest", &written]);
        assert_eq!(exported.code, 0, "{format}: {exported:?}");
    }
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the usage of programs that ended").max_rss();
    assert!(peak < MOST_KIB as i64, "{peak} KiB");
}

/// Files that a directory is renamed with: twice as many paths change.
const RENAMED_FILES: u32 = 25_000;

#[test]
fn a_result_of_any_size_is_looked_at_in_constant_memory() {
    let project = Project::initialised(User::Current);
    let make = format!(
        "mkdir old && i=0 && while [ $i -lt {RENAMED_FILES} ]; do i=$((i+1)); echo \"let x = $i;\" > old/f$i.rs; done"
    );
    assert!(project.command("sh").args(["-c", &make]).status().expect("run sh").success());
    project.commit_all("Many files");
    let change = "mv old new; head -c 10000000 /dev/zero | tr '\\0' '(' > new/long.js; \
        head -c 1500000 /dev/urandom | od -An -tx1 -w2 | head -90000 > new/short.rs; \
        i=0; for e in rs py js c cpp java go rb php html md sh sql scala cs; do cp new/f1.rs new/l.$e; head -300 new/short.rs >> new/l.$e; done";
    let ran = project.isobox(&["tool", "-q", "--", "sh", "-c", change]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for arguments in [
        &["diff", "--color=always", "@latest"][..],
        &["diff", "--color=always", "--no-renames", "@latest"],
        &["diff", "--stat", "@latest"],
        &["compare", "@latest", "@latest"],
    ] {
        let done = AtomicBool::new(false);
        let peak = thread::scope(|scope| {
            let watcher = scope.spawn(|| watch_peak(&done));
            let mut shown = project.isobox_command(arguments).stdout(Stdio::piped()).spawn().expect("start isobox");
            let length = drain(&mut shown.stdout.take().expect("a pipe"));
            assert!(length > u64::from(RENAMED_FILES), "{arguments:?}");
            assert!(shown.wait().expect("wait").success());
            done.store(true, Ordering::Relaxed);
            watcher.join().expect("watched")
        });
        println!("peak of {arguments:?}: {peak} KiB");
        assert!((1..MOST_KIB).contains(&peak), "{arguments:?}: {peak} KiB");
    }
}
