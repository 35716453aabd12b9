//! The Task Store as its specification says it is: `tests/reader`, written in Python from `docs/store-format.md` alone,
//! reads what isobox writes, and finds every damaged bit.
//!
//! Needs python3 with venv and pip (Debian: `python3-venv`), and PyPI the first time; the packages then stay in the
//! target directory.

use isobox_domain::content::ContentId;
use isobox_domain::timestamp::Timestamp;
use isobox_store_format::commit::Commit;
use isobox_store_format::entry::{EntryHeader, EntryKind, HEADER_LEN};
use isobox_store_format::format_file::StoreId;
use isobox_store_format::scan::{Found, Scanner};
use isobox_tests::{Project, User, checkout, ignored};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn golden() -> PathBuf {
    checkout().join("adapters/store/tests/golden/store")
}

/// A Python that has what the reader needs, or why there is none.
fn python() -> Result<PathBuf, String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let python = directory.join("reader/bin/python");
    let requirements = checkout().join("tests/reader/requirements.txt");
    // One that is there serves users too who could not make it.
    if has_requirements(&python, &requirements) {
        return Ok(python);
    }
    fs::create_dir_all(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    // Tests that run at once in processes of their own make one environment.
    let lock = File::create(directory.join("reader.lock")).map_err(|e| format!("{}: {e}", directory.display()))?;
    lock.lock().map_err(|e| e.to_string())?;
    if !has_requirements(&python, &requirements) {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(directory.join("reader")))?;
        run(Command::new(&python).args(["-m", "pip", "install", "-q", "--no-input", "-r"]).arg(&requirements))?;
    }
    Ok(python)
}

fn has_requirements(python: &Path, requirements: &Path) -> bool {
    let frozen = run(Command::new(python).args(["-m", "pip", "freeze"])).unwrap_or_default();
    let wanted = fs::read_to_string(requirements).expect("read the requirements");
    wanted.lines().all(|line| frozen.lines().any(|found| found == line))
}

fn run(command: &mut Command) -> Result<String, String> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("{shown}: {e}"))?;
    let error = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{shown}: {}", error.lines().last().unwrap_or("it says nothing")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs `case` with a Python, or says that it is ignored.
fn with_python(case: &str, test: impl FnOnce(&Path)) {
    match python() {
        Ok(python) => test(&python),
        Err(reason) => ignored(case, &format!("no Python with the packages of tests/reader: {reason}")),
    }
}

fn read(python: &Path, store: &Path) -> Output {
    let program = checkout().join("tests/reader/read_store.py");
    Command::new(python).arg("-B").arg(program).arg(store).output().expect("run the reader")
}

#[track_caller]
fn read_whole(python: &Path, store: &Path) -> String {
    let output = read(python, store);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// The ids in `text`, in order, without repetition.
fn ids(text: &str) -> Vec<&str> {
    let mut ids: Vec<_> = text.split_whitespace().filter(|word| word.starts_with("b3:")).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[test]
fn the_golden_store_is_what_its_specification_says() {
    with_python("the_golden_store_is_what_its_specification_says", |python| {
        let text = read_whole(python, &golden());
        // What isobox itself found in it: records and events, and under a record what belongs to it.
        let found = fs::read_to_string(golden().with_extension("txt")).expect("read a golden file");
        let is_committed =
            |line: &&str| ["task-", "  rejected", "  promoted"].iter().any(|start| line.starts_with(start));
        let committed: Vec<&str> = found.lines().filter(is_committed).collect();
        assert_eq!(ids(&text), ids(&committed.join("\n")));
        assert!(text.contains("torn tails: 1\n") && text.contains("sealed packs: 1\n"), "{text}");
    });
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("make a directory");
    for entry in fs::read_dir(from).expect("list a directory") {
        let path = entry.expect("list a directory").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("copy a file");
        }
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("list a directory").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_flipped_bit_anywhere_is_found() {
    with_python("a_flipped_bit_anywhere_is_found", |python| {
        let directory = tempfile::tempdir().expect("a directory");
        copy(&golden(), directory.path());
        for file in files(directory.path()) {
            // FORMAT is there twice, and a lane may end in what a killed writer left.
            if file.ends_with("FORMAT") || file.ends_with("lane-01.pack") {
                continue;
            }
            let bytes = fs::read(&file).expect("read a file");
            for at in [bytes.len() / 3, bytes.len() - 1] {
                let mut damaged = bytes.clone();
                damaged[at] ^= 0x10;
                fs::write(&file, damaged).expect("damage a file");
                let output = read(python, directory.path());
                assert_eq!(output.status.code(), Some(1), "byte {at} of {}: {output:?}", file.display());
            }
            fs::remove_file(&file).expect("remove a file");
            let output = read(python, directory.path());
            assert_eq!(output.status.code(), Some(1), "without {}: {output:?}", file.display());
            fs::write(&file, bytes).expect("restore a file");
        }
        read_whole(python, directory.path());
    });
}

#[test]
fn blocks_that_were_never_written_are_a_torn_tail_at_the_end_of_a_lane_and_damage_elsewhere() {
    with_python("blocks_that_were_never_written_are_a_torn_tail", |python| {
        let directory = tempfile::tempdir().expect("a directory");
        copy(&golden(), directory.path());
        let lane = directory.path().join("lanes/lane-00.pack");
        let whole = fs::read(&lane).expect("read a lane");
        fs::write(&lane, [&whole[..], b"\xb1ISO\x01", &[0; 700]].concat()).expect("write a lane");
        assert!(read_whole(python, directory.path()).contains("torn tails: 2\n"));
        let unwritten = [&whole[..200], &[0; 600], &whole[800..]].concat();
        fs::write(&lane, unwritten).expect("write a lane");
        assert_eq!(read(python, directory.path()).status.code(), Some(1));
    });
}

type Entry = (EntryHeader, Vec<u8>);

fn entries(lane: &[u8]) -> Vec<Entry> {
    let mut scanner = Scanner::new(lane, 0, lane.len() as u64);
    std::iter::from_fn(|| scanner.find_next().expect("memory can be read"))
        .filter_map(|found| match found {
            Found::Entry { offset, header } => Some((offset as usize + HEADER_LEN, header)),
            _ => None,
        })
        .map(|(start, header)| (header, lane[start..start + header.stored_length as usize].to_vec()))
        .collect()
}

/// The last entry of a kind.
fn last(entries: &mut [Entry], kind: EntryKind) -> &mut Entry {
    entries.iter_mut().rfind(|(header, _)| header.kind == kind).expect("an entry of that kind")
}

/// Changes the last COMMIT, with every checksum and digest of its own right again.
fn recommit(entries: &mut [Entry], change: fn(&mut Commit)) {
    let (header, payload) = last(entries, EntryKind::Commit);
    let mut commit = Commit::decode(payload).expect("decode");
    change(&mut commit);
    *payload = commit.encode().expect("encode");
    *header = EntryHeader::raw(EntryKind::Commit, payload);
}

/// What somebody who repairs the checksums might change, and a word of what the reader says about it.
type Forgery = (&'static str, fn(&mut Vec<Entry>));

const FORGERIES: [Forgery; 11] = [
    ("another id", |entries| {
        let (header, payload) = last(entries, EntryKind::Record);
        payload[10] ^= 1;
        *header = EntryHeader { id: header.id, ..EntryHeader::raw(EntryKind::Record, payload) };
    }),
    ("wrong CRC", |entries| last(entries, EntryKind::Record).0.payload_crc ^= 1),
    ("does not follow", |entries| recommit(entries, |commit| commit.previous = Some(ContentId::new([7; 32])))),
    ("does not follow", |entries| recommit(entries, |commit| commit.time = Timestamp::nearest(0))),
    ("something is missing before", |entries| recommit(entries, |commit| commit.sequence += 1)),
    ("second COMMIT", |entries| recommit(entries, |commit| commit.sequence -= 1)),
    ("lists other children", |entries| recommit(entries, |commit| commit.children.truncate(1))),
    ("names another attempt", |entries| recommit(entries, |commit| commit.attempt += 1)),
    ("another store", |entries| recommit(entries, |commit| commit.store = StoreId([7; 16]))),
    ("starts before the pack", |entries| recommit(entries, |commit| commit.span = 1 << 40)),
    ("is missing", |entries| entries.retain(|(header, _)| header.kind != EntryKind::Large)),
];

#[test]
fn a_forgery_with_right_checksums_is_found() {
    with_python("a_forgery_with_right_checksums_is_found", |python| {
        let directory = tempfile::tempdir().expect("a directory");
        copy(&golden(), directory.path());
        let lane = directory.path().join("lanes/lane-00.pack");
        let sound = entries(&fs::read(&lane).expect("read a lane"));
        for (expected, forge) in FORGERIES {
            let mut forged = sound.clone();
            forge(&mut forged);
            let bytes = forged.iter().flat_map(|(header, payload)| [&header.encode()[..], payload].concat());
            fs::write(&lane, bytes.collect::<Vec<u8>>()).expect("write a lane");
            let output = read(python, directory.path());
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.code() == Some(1) && text.contains(expected), "{expected}: {output:?}");
        }
    });
}

#[test]
fn a_store_that_isobox_writes_now_is_what_its_specification_says() {
    with_python("a_store_that_isobox_writes_now_is_what_its_specification_says", |python| {
        let project = Project::initialised(User::Current);
        let script =
            "echo out; echo err >&2; head -c 3000000 /dev/zero > zeros; ln -s zeros link; rm README.md; exit 3";
        for arguments in [
            vec!["run", "--backend", "host", "--", "sh", "-c", script],
            vec!["run", "--backend", "host", "--", "true"],
            vec!["promote", "--yes", "@latest~1"],
            // The promoted paths are a snapshot now.
            vec!["run", "--backend", "host", "--allow-dirty", "--", "sh", "-c", "echo more > more"],
        ] {
            let outcome = project.isobox(&arguments);
            assert!(matches!(outcome.code, 0 | 3), "{outcome:?}");
        }
        for is_compacted in [false, true] {
            let text = read_whole(python, &project.repository().join(".git/isobox/store"));
            // Both records that have the large one name it.
            for count in ["records: 3\n", "events: 1\n", "large artifacts: 2\n", "lines of change sets: 7\n"] {
                assert!(text.contains(count), "{count}{text}");
            }
            assert_eq!(text.contains("members of blocks: "), is_compacted);
            assert_eq!(project.isobox(&["store", "compact"]).code, 0);
        }
    });
}

/// The program in Python that a page of the documentation shows.
fn shown_program(page: &str) -> String {
    let page = fs::read_to_string(checkout().join(page)).expect("read a page");
    let (_, rest) = page.split_once("```python\n").expect("a program");
    rest.split_once("```").expect("its end").0.to_owned()
}

#[test]
fn the_program_of_the_audit_page_accepts_an_envelope_and_none_that_was_changed() {
    with_python("the_program_of_the_audit_page_accepts_an_envelope_and_none_that_was_changed", |python| {
        let project = Project::initialised(User::Current);
        let outside = project.scratch();
        for arguments in [&["tool", "--", "true"][..], &["audit", "init-key"], &["export", "--format=dsse", "@latest"]]
        {
            let mut command = project.isobox_command(arguments);
            if arguments[0] == "export" {
                command.arg(outside.join("out"));
            }
            let output = command.output().expect("run isobox");
            assert!(output.status.success(), "{output:?}");
            if arguments[0] == "audit" {
                fs::write(outside.join("app.vkey"), output.stdout).expect("keep the key");
            }
        }
        let envelope = files(&outside.join("out")).pop().expect("an envelope");
        let verify = |envelope: &Path| {
            let mut command = Command::new(python);
            command.args(["-B", "-c", &shown_program("docs/audit.md")]).arg(envelope).current_dir(&outside);
            command.output().expect("run python").status.success()
        };
        assert!(verify(&envelope));
        let text = fs::read_to_string(&envelope).expect("an envelope");
        // The payload is a JSON document, which begins with `{"` in Base64.
        let changed = text.replacen("eyJ", "eyK", 1);
        assert_ne!(text, changed);
        fs::write(&envelope, changed).expect("change it");
        assert!(!verify(&envelope));
    });
}
