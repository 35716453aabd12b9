//! Git as an oracle: a three-way merge of a result gives the tree of `git merge-tree --write-tree` without renames where Git
//! merges, and the same paths in conflict where it does not. `ISOBOX_ORACLE_CASES` asks for more cases than the default.

mod support;

use isobox_domain::change::{After, Before, Change, ChangeLine, ChangeSetRef, Mode};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::git_oid::GitOid;
use isobox_domain::promotion::OnConflict;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::timestamp::Timestamp;
use isobox_git::GixRepository;
use isobox_ports::{
    ApplyError, ChangeLines, CommitText, Content, MergeRequest, ObjectStore, Route, StoreError, TrustedRepository,
};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError, TestRunner};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;
use std::path::Path;
use support::{git, git_line, git_with_input};

/// Paths that lie beside, in the place of, and below each other.
const PATHS: [&str; 7] = ["a", "a/b", "a/c", "d", "e/f", "e/g/h", "i"];

type Side = BTreeMap<&'static str, (Mode, Vec<u8>)>;

#[derive(Clone, Debug)]
enum Edit {
    Write(usize, Mode, Vec<u8>),
    Link(usize, u8),
    Delete(usize),
    Line(usize, usize, u8),
    Insert(usize, usize, u8),
    Remove(usize, usize),
    Chmod(usize),
}

fn lines() -> impl Strategy<Value = Vec<u8>> {
    (prop::collection::vec(0_u8..6, 0..12), any::<bool>()).prop_map(|(lines, ends)| {
        let mut text: Vec<u8> = lines.iter().flat_map(|line| [b'a' + line, b'\n']).collect();
        if !ends {
            text.pop();
        }
        text
    })
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![12 => lines(), 1 => lines().prop_map(|text| [b"\0".as_slice(), &text].concat())]
}

fn mode() -> impl Strategy<Value = Mode> {
    prop_oneof![4 => Just(Mode::File), 1 => Just(Mode::Executable)]
}

fn edit() -> impl Strategy<Value = Edit> {
    let path = || 0..PATHS.len();
    prop_oneof![
        2 => (path(), mode(), content()).prop_map(|(path, mode, content)| Edit::Write(path, mode, content)),
        1 => (path(), 0_u8..3).prop_map(|(path, to)| Edit::Link(path, to)),
        2 => path().prop_map(Edit::Delete),
        5 => (path(), 0..12_usize, 0_u8..9).prop_map(|(path, at, line)| Edit::Line(path, at, line)),
        3 => (path(), 0..12_usize, 0_u8..9).prop_map(|(path, at, line)| Edit::Insert(path, at, line)),
        2 => (path(), 0..12_usize).prop_map(|(path, at)| Edit::Remove(path, at)),
        1 => path().prop_map(Edit::Chmod),
    ]
}

fn perform(side: &mut Side, edit: &Edit) {
    let (Edit::Write(path, ..)
    | Edit::Link(path, _)
    | Edit::Delete(path)
    | Edit::Line(path, ..)
    | Edit::Insert(path, ..)
    | Edit::Remove(path, _)
    | Edit::Chmod(path)) = edit;
    let path = PATHS[*path];
    let put = |side: &mut Side, file| {
        let is_in_the_way =
            |other: &str| other.starts_with(&format!("{path}/")) || path.starts_with(&format!("{other}/"));
        side.retain(|other, _| !is_in_the_way(other));
        side.insert(path, file);
    };
    match edit {
        Edit::Write(_, mode, content) => put(side, (*mode, content.clone())),
        Edit::Link(_, to) => put(side, (Mode::Symlink, vec![b'a' + to])),
        Edit::Delete(_) => drop(side.remove(path)),
        Edit::Chmod(_) => match side.get_mut(path) {
            Some((mode @ Mode::File, _)) => *mode = Mode::Executable,
            Some((mode @ Mode::Executable, _)) => *mode = Mode::File,
            _ => {}
        },
        Edit::Line(_, at, _) | Edit::Insert(_, at, _) | Edit::Remove(_, at) => {
            let Some((Mode::File | Mode::Executable, content)) = side.get_mut(path) else { return };
            let mut lines: Vec<Vec<u8>> = content.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            let at = at % (lines.len() + 1);
            match edit {
                Edit::Line(_, _, line) if at < lines.len() => lines[at] = vec![b'p' + line, b'\n'],
                Edit::Insert(_, _, line) => lines.insert(at, vec![b'p' + line, b'\n']),
                Edit::Remove(..) if at < lines.len() => drop(lines.remove(at)),
                _ => {}
            }
            *content = lines.concat();
        }
    }
}

fn edited(side: &Side, edits: &[Edit]) -> Side {
    let mut side = side.clone();
    edits.iter().for_each(|edit| perform(&mut side, edit));
    side
}

/// The same side with the path in each line: Git looks for renames, whatever it is told, and there is none between files that
/// have nothing in common.
fn unlike(side: Side) -> Side {
    let mark = |path: &str, line: &[u8]| [line.strip_suffix(b"\n").unwrap_or(line), b" of ", path.as_bytes()].concat();
    let marked = side.into_iter().map(|(path, (mode, content))| {
        let lines: Vec<Vec<u8>> = content.split_inclusive(|byte| *byte == b'\n').map(|line| mark(path, line)).collect();
        let end: &[u8] = if content.ends_with(b"\n") { b"\n" } else { b"" };
        (path, (mode, [lines.join(b"\n".as_slice()), end.to_vec()].concat()))
    });
    marked.collect()
}

/// Commits three sides, and goes to the second.
fn commit(root: &Path, sides: [&Side; 3]) {
    let mut stream = b"feature done\n".to_vec();
    for (name, side, from) in [("base", sides[0], ""), ("ours", sides[1], "base"), ("theirs", sides[2], "base")] {
        stream.extend(format!("reset refs/heads/{name}\n\ncommit refs/heads/{name}\n").bytes());
        stream.extend(b"committer Ana <ana@example.org> 1800000000 +0000\ndata 1\nx\n");
        if !from.is_empty() {
            stream.extend(format!("from refs/heads/{from}\n").bytes());
        }
        stream.extend(b"deleteall\n");
        for (path, (mode, content)) in side {
            let mode = match mode {
                Mode::File => "100644",
                Mode::Executable => "100755",
                _ => "120000",
            };
            stream.extend(format!("M {mode} inline {path}\ndata {}\n", content.len()).bytes());
            stream.extend(content);
            stream.push(b'\n');
        }
        stream.push(b'\n');
    }
    stream.extend(b"done\n");
    let imported = git_with_input(root, &["fast-import", "--quiet", "--force"], &stream);
    assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    git_line(root, &["reset", "--quiet", "--hard", "ours"]);
}

/// What a Task made of the base.
struct Result {
    changes: Vec<Change>,
    contents: BTreeMap<ContentId, Vec<u8>>,
}

impl Result {
    fn new(root: &Path, base: &Side, theirs: &Side) -> Self {
        let listed = git(root, &["ls-tree", "-r", "--format=%(path) %(objectname)", "base"]).stdout;
        let listed = String::from_utf8(listed).expect("text");
        let oids: BTreeMap<&str, &str> = listed.lines().filter_map(|line| line.split_once(' ')).collect();
        let mut result = Self { changes: Vec::new(), contents: BTreeMap::new() };
        let paths: BTreeSet<_> = base.keys().chain(theirs.keys()).collect();
        for path in paths.into_iter().filter(|path| base.get(*path) != theirs.get(*path)) {
            let before = base.get(path).map(|(mode, content)| Before {
                mode: *mode,
                oid: GitOid::from_hex(oids[path]).expect("an oid"),
                content: Some(result.keep(content)),
            });
            let after = theirs.get(path).map(|(mode, content)| After {
                mode: *mode,
                content: result.keep(content),
                binary: content.contains(&0),
            });
            let path = RepoPath::parse(*path).expect("a path");
            result.changes.push(Change { path, before, after, renamed_from: None, submodule: None });
        }
        result
    }

    fn keep(&mut self, content: &[u8]) -> ContentRef {
        let id = ContentId::new(*blake3::hash(content).as_bytes());
        self.contents.insert(id, content.to_vec());
        ContentRef { id, length: content.len() as u64 }
    }

    fn lines(&self) -> ChangeLines<'_> {
        Box::new(self.changes.iter().cloned().map(|change| Ok(ChangeLine::Change(change))))
    }
}

impl ObjectStore for Result {
    fn open(&self, id: &ContentId) -> std::result::Result<Option<Content>, StoreError> {
        Ok(self.contents.get(id).map(|bytes| Box::new(Cursor::new(bytes.clone())) as Content))
    }

    fn changes(&self, _: &ChangeSetRef) -> std::result::Result<ChangeLines<'_>, StoreError> {
        Ok(self.lines())
    }
}

/// The tree that comes of a merge, or the paths in conflict.
type Outcome = std::result::Result<String, BTreeSet<String>>;

/// Git's. What it moves out of the way of a directory has a name after a tilde.
fn of_git(root: &Path) -> Outcome {
    let merged = git(root, &["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", "ours", "theirs"]);
    let fields: Vec<_> =
        merged.stdout.split(|byte| *byte == 0).map(|f| String::from_utf8_lossy(f).into_owned()).collect();
    match merged.status.code() {
        Some(0) => Ok(fields[0].clone()),
        Some(1) => Err(fields[1..]
            .iter()
            .filter(|path| !path.is_empty())
            .map(|path| path.split('~').next().unwrap_or_default().to_owned())
            .collect()),
        _ => panic!("{}", String::from_utf8_lossy(&merged.stderr)),
    }
}

fn of_isobox(root: &Path, result: &Result) -> Outcome {
    let repository = GixRepository::discover(root).expect("a repository");
    let base = GitOid::from_hex(&git_line(root, &["rev-parse", "base"])).expect("a commit");
    let mut promotion = repository.begin_promotion().expect("the lock");
    let request = MergeRequest { base: &base, on_conflict: OnConflict::Refuse, label: "task" };
    let in_conflict = |error: ApplyError| match error {
        ApplyError::Conflicts { first, count } if first.len() as u64 == count => {
            first.iter().map(|line| line.split(": ").next().unwrap_or_default().to_owned()).collect::<BTreeSet<_>>()
        }
        error => panic!("{error}"),
    };
    let merged = promotion.merge(result.lines(), result, &request).map_err(in_conflict)?;
    promotion.rehearse(merged.lines(), &Route::Commit).map_err(in_conflict)?;
    let text = CommitText { message: b"Merged\n".to_vec(), at: Timestamp::nearest(1_800_000_000_000) };
    let made = promotion.commit(merged.lines(), &*merged, &Route::Commit, &text).map_err(in_conflict)?;
    Ok(git_line(root, &["rev-parse", &format!("{made}^{{tree}}")]))
}

fn cases() -> u32 {
    std::env::var("ISOBOX_ORACLE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(500)
}

#[test]
fn a_merge_is_what_git_makes_of_it_and_conflicts_where_git_does() {
    let place = tempfile::tempdir().expect("a directory");
    let root = place.path();
    git_line(root, &["init", "--quiet", "-b", "ours", "."]);
    for (key, value) in [("user.name", "Ana"), ("user.email", "ana@example.org"), ("gc.auto", "0")] {
        git_line(root, &["config", key, value]);
    }
    let edits = |most| prop::collection::vec(edit(), 1..most);
    let config = ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x0150_b0c6),
        ..ProptestConfig::default()
    };
    let (clean, conflicting) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let ran = TestRunner::new(config).run(&(edits(24), edits(10), edits(10)), |(base, ours, theirs)| {
        let base = edited(&Side::new(), &base);
        let [base, ours, theirs] = [base.clone(), edited(&base, &ours), edited(&base, &theirs)].map(unlike);
        commit(root, [&base, &ours, &theirs]);
        let expected = of_git(root);
        let counted = if expected.is_ok() { &clean } else { &conflicting };
        counted.set(counted.get() + 1);
        let found = of_isobox(root, &Result::new(root, &base, &theirs));
        prop_assert_eq!(found, expected, "\nbase {:?}\nours {:?}\ntheirs {:?}", base, ours, theirs);
        std::result::Result::<(), TestCaseError>::Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
    assert!(clean.get() > cases() / 8 && conflicting.get() > cases() / 8, "{clean:?} merged, {conflicting:?} did not");
}
