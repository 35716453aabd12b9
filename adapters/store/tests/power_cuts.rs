//! Power cuts of a real file system, while processes publish, prune, compact, sweep and log: nothing that was acknowledged
//! is lost.
//!
//! An ext4 on a loop device is shut down as it is, its journal not flushed (`FS_IOC_SHUTDOWN` with
//! `EXT4_GOING_FLAGS_NOLOGFLUSH`): what was not yet flushed is gone. Acknowledgements go through pipes, which survive it.
//! Needs root, `mkfs.ext4`, and python3 for the ioctl(2).
//!
//! A hundred cuts: `ISOBOX_POWER_CUTS=100 cargo nextest run --release -p isobox-store --test power_cuts --no-capture`.

#[path = "support/actors.rs"]
mod actors;
#[path = "support/signer.rs"]
mod signer;

use actors::{Acknowledged, Actor, Moment, Part, assert_kept, assert_logged};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const CUTS: &str = "ISOBOX_POWER_CUTS";
/// Cuts of the run that is part of every test run.
const FEW: u64 = 4;
/// A file system that was cut off so often gives way to a fresh one: a store is to be made under cuts, too.
const CUTS_OF_A_DISK: u64 = 10;
const WRITERS: u64 = 4;
const DISK_BYTES: u64 = 2 << 30;
/// Set where mounts are of this process alone, and go with it.
const INSIDE: &str = "ISOBOX_TEST_INSIDE";
/// `_IOR('X', 125, __u32)` with `EXT4_GOING_FLAGS_NOLOGFLUSH`.
const SHUT_DOWN: &str = "
import fcntl, os, struct, sys, time
place, flags = os.open(sys.argv[1], os.O_RDONLY), struct.pack('I', 2)
moment = time.time_ns()
fcntl.ioctl(place, 0x8004587D, flags)
print(moment)
";

/// A file system of its own.
struct Disk {
    directory: TempDir,
}

impl Disk {
    fn make() -> Result<Self, String> {
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let disk = Self { directory };
        let image = disk.directory.path().join("image");
        let made = File::create(&image).and_then(|file| file.set_len(DISK_BYTES));
        made.and_then(|()| fs::create_dir(disk.place())).map_err(|error| error.to_string())?;
        run(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(image))?;
        disk.mount()?;
        fs::create_dir(disk.records()).map_err(|error| error.to_string())?;
        run(Command::new("sync").arg("-f").arg(disk.records()))?;
        Ok(disk)
    }

    fn place(&self) -> PathBuf {
        self.directory.path().join("disk")
    }

    fn records(&self) -> PathBuf {
        self.place().join("records")
    }

    /// The newest checkpoint of the log is kept elsewhere.
    fn note(&self) -> PathBuf {
        self.directory.path().join("note")
    }

    fn mount(&self) -> Result<(), String> {
        run(Command::new("mount").args(["-o", "loop"]).arg(self.directory.path().join("image")).arg(self.place()))
            .map(drop)
    }

    /// The moment right before.
    fn cut_power(&self) -> Result<Moment, String> {
        let moment = run(Command::new("python3").args(["-c", SHUT_DOWN]).arg(self.place()))?;
        moment.trim().parse().map_err(|error| format!("{moment}: {error}"))
    }

    fn unmount(&self) -> Result<(), String> {
        run(Command::new("umount").arg(self.place())).map(drop)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.unmount().is_err() {
            // It was not mounted any more, or goes with the namespace.
        }
    }
}

fn run(command: &mut Command) -> Result<String, String> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{shown}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{shown}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// One cut, at another moment for each round. What was acknowledged until then is added to `acknowledged`.
fn cut(disk: &Disk, round: u64, acknowledged: &mut Acknowledged) -> Result<(), String> {
    let (records, note) = (disk.records(), disk.note());
    let writers = (0..WRITERS).map(|writer| Part::Write((round * WRITERS + writer) * 100_000));
    let parts = writers.chain([Part::KeepUp, Part::Log(&note)]);
    let mut actors: Vec<_> = parts.map(|part| Actor::start(&records, part)).collect();
    std::thread::sleep(Duration::from_micros(10_000 + (round * 337_919) % 900_000));
    Actor::assert_all_act(&mut actors);
    let moment = disk.cut_power()?;
    actors.iter_mut().for_each(Actor::kill);
    // Where there is no power, nobody acknowledges anything. Here, processes go on for a moment, and to some of them fdatasync(2)
    // still says that all is well: the kernel does not look again whether the journal it waited for was given up.
    actors.into_iter().for_each(|actor| acknowledged.extend(actor.end(Some(moment))));
    disk.unmount()?;
    disk.mount()
}

fn nothing_is_lost() -> Result<(), String> {
    let cuts: u64 = std::env::var(CUTS).map_or(FEW, |cuts| cuts.parse().expect("a number"));
    let (mut all, mut pruned) = (0, 0);
    for first in (0..cuts).step_by(CUTS_OF_A_DISK as usize) {
        let disk = Disk::make()?;
        let mut acknowledged = Acknowledged::new();
        for round in first..cuts.min(first + CUTS_OF_A_DISK) {
            cut(&disk, round, &mut acknowledged)?;
            assert_kept(&disk.records(), &acknowledged);
            assert_logged(&disk.records(), &disk.note());
        }
        all += acknowledged.len();
        pruned += acknowledged.values().filter(|(_, is_pruned)| *is_pruned).count();
    }
    assert!(all as u64 > cuts, "{all} were published");
    tell(&format!("{cuts} cuts: {pruned} of {all} acknowledged Tasks were pruned, and none was lost"));
    Ok(())
}

#[allow(clippy::print_stdout, reason = "the harness shows what a test prints")]
fn tell(what: &str) {
    println!("{what}");
}

/// Where mounts are of the child alone, and go with it.
fn in_own_mounts() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "--"]);
    command
}

fn run_in_child() -> Result<(), Failed> {
    let mut command = in_own_mounts();
    let status = command.arg(std::env::current_exe()?).env(INSIDE, "1").status()?;
    if status.success() { Ok(()) } else { Err("see above".into()) }
}

/// Why no power can be cut here, if so.
fn missing() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("only root may mount a file system and cut its power".into());
    }
    let program = std::env::current_exe().ok()?;
    let tried = in_own_mounts().arg(program).env(INSIDE, "try").stdin(Stdio::null()).output();
    match tried {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("run unshare: {error}")),
    }
}

/// Whether there is a disk whose power can be cut.
fn try_once() -> Result<(), String> {
    let disk = Disk::make()?;
    disk.cut_power()?;
    match File::create(disk.place().join("after")) {
        Ok(_) => Err("the file system goes on without power".into()),
        Err(_) => disk.unmount(),
    }
}

fn main() {
    actors::act();
    if let Ok(inside) = std::env::var(INSIDE) {
        let done = if inside == "try" { try_once() } else { nothing_is_lost() };
        done.expect("a disk");
        return;
    }
    let trial =
        Trial::ignorable_test("whenever_power_is_cut_nothing_that_was_acknowledged_is_lost", || match missing() {
            Some(reason) => Ok(Completion::ignored_with(reason)),
            None => run_in_child().map(|()| Completion::Completed),
        });
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit();
}
