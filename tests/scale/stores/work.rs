//! The work that every store is given: the seeded tasks of `tests/scale/gen.py`.

use isobox_domain::content::parse_hex;
use isobox_domain::task_id::TaskId;
use isobox_tests::checkout;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

/// The work comes in so many files, one for each of the writers that write at once.
pub(crate) const PARTS: u64 = 8;
const MAGIC: &[u8; 8] = b"ISOGEN1\n";
/// The BLAKE3 of the tasks, by how many there are.
const DIGESTS: [(u64, &str); 2] = [
    (320, "f9e10634bd84d2d606f4adb208bb3061d08ae2239b913d95ba0d488b5668d2a1"),
    (10_000, "b81fc4cb54707147cd1d6a3a9207b344230d2ff075a23e427ff8096137e9f474"),
];

/// What was generated.
pub(crate) struct Work {
    /// How many tasks there are.
    pub(crate) tasks: u64,
    /// The files that they stand in, one after the other.
    pub(crate) parts: Vec<PathBuf>,
}

/// One task of the work.
pub(crate) struct GivenTask {
    /// Its name.
    pub(crate) id: TaskId,
    /// Its record, as the generator makes one: CBOR, but not of isobox.
    pub(crate) record: Vec<u8>,
    /// What it printed.
    pub(crate) stdout: Vec<u8>,
    /// What it changed.
    pub(crate) patch: Vec<u8>,
}

impl Work {
    /// Generates so many tasks, a multiple of [`PARTS`], into a directory.
    pub(crate) fn generate(directory: &Path, tasks: u64) -> Self {
        let part = |n: u64| directory.join(format!("part-{n}"));
        let cores = thread::available_parallelism().map_or(1, usize::from) as u64;
        thread::scope(|scope| {
            for core in 0..cores {
                scope.spawn(move || {
                    (0..PARTS)
                        .filter(|n| n % cores == core)
                        .for_each(|n| generate(&part(n), n * tasks / PARTS, tasks / PARTS));
                });
            }
        });
        let work = Self { tasks, parts: (0..PARTS).map(part).collect() };
        work.require_seeded();
        work
    }

    // The same work for everyone, everywhere, always: otherwise figures cannot be compared.
    fn require_seeded(&self) {
        let mut hasher = blake3::Hasher::new();
        for part in &self.parts {
            let mut file = File::open(part).expect("a part of the work");
            file.seek(SeekFrom::Start(MAGIC.len() as u64)).expect("seek");
            hasher.update_reader(file).expect("read the work");
        }
        let found = hasher.finalize().to_hex();
        if let Some((_, expected)) = DIGESTS.iter().find(|(tasks, _)| *tasks == self.tasks) {
            assert_eq!(found.as_str(), *expected, "{} tasks", self.tasks);
        }
    }

    /// Writes the tasks as plain files, a directory for each.
    pub(crate) fn as_files(&self, directory: &Path) {
        for task in self.parts.iter().flat_map(|part| tasks_in(part)) {
            let folder = directory.join(task.id.to_string());
            fs::create_dir_all(&folder).expect("a directory of a task");
            for (name, bytes) in [("record.cbor", task.record), ("stdout.txt", task.stdout), ("diff.patch", task.patch)]
            {
                fs::write(folder.join(name), bytes).expect("a file of a task");
            }
        }
    }

    /// Writes `length` bytes of the work, over and over, to one file.
    pub(crate) fn as_one_file(&self, path: &Path, length: u64) {
        let mut file = File::create(path).expect("one file of the work");
        let mut left = length;
        for part in self.parts.iter().cycle() {
            let part = File::open(part).expect("a part of the work");
            left -= io::copy(&mut part.take(left), &mut file).expect("copy the work");
            if left == 0 {
                break;
            }
        }
        file.sync_all().expect("flush");
    }
}

fn generate(path: &Path, start: u64, count: u64) {
    let mut command = Command::new("python3");
    command.arg(checkout().join("tests/scale/gen.py")).args(["--layout=stream", "--out"]).arg(path);
    command.args([format!("--start={start}"), format!("--count={count}")]);
    let output = command.output().expect("run python3");
    assert!(output.status.success(), "{output:?}");
}

/// The tasks of one file, in their order.
pub(crate) fn tasks_in(part: &Path) -> impl Iterator<Item = GivenTask> + use<> {
    let mut file = BufReader::with_capacity(1 << 18, File::open(part).expect("a part of the work"));
    let mut magic = [0; MAGIC.len()];
    file.read_exact(&mut magic).expect("the start of a part");
    assert_eq!(&magic, MAGIC);
    let length = file.get_ref().metadata().expect("its length").len();
    std::iter::from_fn(move || (file.stream_position().expect("tell") < length).then(|| next_task(&mut file)))
}

/// The task that starts at `offset` of a file.
pub(crate) fn task_at(part: &Path, offset: u64) -> GivenTask {
    let mut file = BufReader::new(File::open(part).expect("a part of the work"));
    file.seek(SeekFrom::Start(offset)).expect("seek");
    next_task(&mut file)
}

/// Where the tasks of one file start.
pub(crate) fn offsets_in(part: &Path) -> impl Iterator<Item = u64> {
    tasks_in(part).scan(MAGIC.len() as u64, |at, task| {
        let contents = [&task.record, &task.stdout, &task.patch].map(|content| 5 + content.len());
        let length = 2 + task.id.to_string().len() + 1 + contents.iter().sum::<usize>();
        Some(std::mem::replace(at, *at + length as u64))
    })
}

// u16 length of the name, name, u8 number of contents, and of each u8 kind, u32 length, bytes.
fn next_task(file: &mut impl Read) -> GivenTask {
    let length = u16::from_le_bytes(array(file));
    let name = String::from_utf8(bytes(file, u64::from(length))).expect("a name");
    let id = name.strip_prefix("task-").and_then(parse_hex).map(TaskId::new).expect("the name of a task");
    assert_eq!(array(file), [3], "contents of {name}");
    let [record, stdout, patch] = [0, 1, 2].map(|kind| {
        assert_eq!(array(file), [kind], "kind of a content of {name}");
        let length = u32::from_le_bytes(array(file));
        bytes(file, u64::from(length))
    });
    GivenTask { id, record, stdout, patch }
}

fn array<const N: usize>(file: &mut impl Read) -> [u8; N] {
    let mut array = [0; N];
    file.read_exact(&mut array).expect("a whole task");
    array
}

fn bytes(file: &mut impl Read, length: u64) -> Vec<u8> {
    // As others read: the room is not to grow on the way.
    let mut bytes = Vec::with_capacity(length as usize);
    file.take(length).read_to_end(&mut bytes).expect("read a task");
    assert_eq!(bytes.len() as u64, length, "a whole task");
    bytes
}
