//! `store repair` and `store rebuild-index`: what is damaged comes back from whole copies, and nothing is deleted.

use crate::schema_checker::assert_described;
use crate::support::{document, tool};
use isobox_tests::{Outcome, Project, User};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

struct Store {
    project: Project,
    archive: String,
    tasks: Vec<String>,
}

/// A store with tasks that printed these, and an Archive of all of it.
fn store(outputs: &[&str]) -> Store {
    let project = Project::initialised(User::Current);
    let tasks: Vec<String> = outputs.iter().map(|script| tool(&project, script)).collect();
    assert_eq!(project.isobox(&["reject", &tasks[0], "--reason", "turned down"]).code, 0);
    let archive = project.scratch().join("all.isobox").to_str().expect("UTF-8").to_owned();
    assert_eq!(project.isobox(&["export", "--format", "archive", "@all", &archive]).code, 0);
    Store { project, archive, tasks }
}

impl Store {
    fn directory(&self) -> PathBuf {
        self.project.repository().join(".git/isobox/store")
    }

    fn files(&self, directory: &str) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(&self.directory().join(directory), &mut found);
        found
    }

    /// Flips a bit of `content` wherever it stands in a file of the store.
    fn damage(&self, content: &[u8]) {
        let mut is_hit = false;
        for (path, mut bytes) in self.files("lanes").into_iter().chain(self.files("packs")) {
            let Some(at) = bytes.windows(content.len()).position(|window| window == content) else { continue };
            bytes[at] ^= 1;
            fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("chmod");
            fs::write(&path, bytes).expect("damage");
            fs::remove_file(Path::new(&path).with_extension("idx")).ok();
            is_hit = true;
        }
        assert!(is_hit, "{content:?} stands nowhere as it is");
    }

    fn repair(&self, flags: &[&str]) -> (Outcome, serde_json::Value) {
        let repaired = self.project.isobox(&[&["store", "repair", "--json"], flags].concat());
        let told = document(&repaired);
        assert_described("repair", &told);
        (repaired, told)
    }

    fn verify(&self) -> i32 {
        self.project.isobox(&["verify", "--deep"]).code
    }
}

fn collect(directory: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(directory).expect("list") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => collect(&path, found),
            false => drop(found.insert(path.to_str().expect("UTF-8").to_owned(), fs::read(&path).expect("read"))),
        }
    }
}

#[test]
fn damaged_content_comes_back_as_it_was_from_an_archive() {
    let store = store(&["printf 'said %s first' it", "printf 'said %s second' it"]);
    let list = store.project.isobox(&["list", "--json"]).stdout;
    store.damage(b"said it first");
    store.damage(b"turned down");
    let damaged = store.files("lanes");
    assert_eq!(store.verify(), 1);
    let (outcome, told) = store.repair(&["--from", &store.archive]);
    assert_eq!((outcome.code, told["defects"].as_array().map(Vec::len)), (0, Some(0)), "{told:#}");
    assert_eq!(store.verify(), 0);
    assert_eq!(store.project.isobox(&["logs", &store.tasks[0]]).stdout, "said it first");
    assert_eq!(store.project.isobox(&["list", "--json"]).stdout, list, "in the same order, with the same states");
    let kept = store.files("quarantine");
    assert!(kept.values().all(|file| damaged.values().any(|before| before == file)), "what was damaged is kept");
    assert_eq!(kept.len(), 1);
    let again = store.project.isobox(&["store", "repair"]);
    assert_eq!((again.code, again.stdout.as_str()), (0, "nothing is wrong with the store\n"));
    // A sealed pack by now: mended, it is what it is named after.
    let sealed = store.files("packs");
    store.damage(b"said it second");
    assert_eq!(store.repair(&["--from", &store.archive]).0.code, 0);
    let packs = |files: BTreeMap<String, Vec<u8>>| files.into_iter().filter(|(n, _)| n.ends_with(".pack")).collect();
    let (before, after): (BTreeMap<_, _>, BTreeMap<_, _>) = (packs(sealed), packs(store.files("packs")));
    assert!(before == after);
    assert_eq!((store.files("quarantine").len(), store.verify()), (2, 0));
    // And the chain goes on.
    tool(&store.project, "true");
    assert_eq!(store.verify(), 0);
}

#[test]
fn a_damaged_copy_of_format_is_made_whole() {
    let store = store(&["echo said"]);
    let format = store.project.repository().join(".git/isobox/store/FORMAT");
    let whole = fs::read(&format).expect("FORMAT");
    let mut damaged = whole.clone();
    damaged[600] ^= 1;
    fs::write(&format, &damaged).expect("write");
    assert_eq!(store.verify(), 1);
    let told = store.project.isobox(&["store", "repair"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.stdout.contains("FORMAT\n") && told.stdout.contains("the damaged file is kept as"), "{told:?}");
    assert!(fs::read(&format).expect("FORMAT") == whole);
    assert_eq!(store.verify(), 0);
}

#[test]
fn a_dry_run_says_what_could_be_done_and_changes_nothing() {
    let store = store(&["printf 'said %s first' it"]);
    store.damage(b"said it first");
    store.verify();
    let before = store.files("");
    let (outcome, told) = store.repair(&["--dry-run", "--from", &store.archive]);
    assert_eq!((outcome.code, told["files"][0]["restored"].as_array().map(Vec::len)), (1, Some(1)), "{told:#}");
    assert!(store.files("") == before);
}

#[test]
fn large_artifacts_come_back_whether_they_are_damaged_or_gone() {
    let store = store(&["head -c 1500000 /dev/urandom", "head -c 1500000 /dev/urandom | base64"]);
    let whole = store.files("large");
    let [first, second] = whole.keys().collect::<Vec<_>>()[..] else { panic!("two files") };
    fs::remove_file(first).expect("remove");
    let mut bytes = whole[second].clone();
    bytes[900_000] ^= 1;
    fs::set_permissions(second, Permissions::from_mode(0o600)).expect("chmod");
    fs::write(second, &bytes).expect("damage");
    assert_eq!(store.verify(), 1);
    let (outcome, told) = store.repair(&["--from", &store.archive]);
    assert_eq!(outcome.code, 0, "{told:#}");
    assert!(store.files("large") == whole);
    assert_eq!(store.files("quarantine").into_values().collect::<Vec<_>>(), [bytes]);
    assert_eq!(store.verify(), 0);
}

#[test]
fn what_is_whole_nowhere_stays_lost_and_is_named() {
    let store = store(&["printf 'said %s first' it", "printf 'said %s second' it"]);
    store.damage(b"said it first");
    let before = store.files("lanes");
    let (outcome, told) = store.repair(&[]);
    assert_eq!((outcome.code, told["files"][0]["lost"].as_array().map(Vec::len)), (1, Some(1)), "{told:#}");
    assert!(told["defects"].to_string().contains(&store.tasks[0]), "{told:#}");
    assert!(store.files("lanes") == before && store.files("quarantine").is_empty());
    assert_eq!(store.project.isobox(&["store", "repair", "--from", "/no/such/place"]).code, 1);
    assert_eq!(store.project.isobox(&["logs", &store.tasks[1]]).stdout, "said it second");
}

#[test]
fn a_copy_in_the_store_itself_is_enough() {
    let store = store(&["printf 'said %s first' it"]);
    let other = store.project.scratch().join("other").to_str().expect("UTF-8").to_owned();
    assert_eq!(store.project.isobox(&["import", "--records", &other, &store.archive]).code, 0);
    store.damage(b"said it first");
    // Another store stands for an Archive.
    assert_eq!(store.repair(&["--from", &other]).0.code, 0);
    assert_eq!(store.verify(), 0);
}

#[test]
fn what_is_missing_is_put_again_by_an_ordinary_commit() {
    let store = store(&["printf 'said %s first' it"]);
    // The lane is sealed by a repair; what comes after shares its content.
    store.damage(b"said it first");
    assert_eq!(store.repair(&["--from", &store.archive]).0.code, 0);
    let second = tool(&store.project, "printf 'said %s first' it; echo and more >&2");
    assert_eq!(store.project.isobox(&["export", "--force", "--format", "archive", "@all", &store.archive]).code, 0);
    for path in store.files("packs").keys() {
        fs::remove_file(path).expect("remove");
    }
    assert_eq!(store.project.isobox(&["logs", &second]).code, 6);
    let (outcome, told) = store.repair(&["--from", &store.archive]);
    assert_eq!((outcome.code, &told["records_put_again"]), (1, &1.into()), "the gap stays: {told:#}");
    assert_eq!(store.project.isobox(&["logs", "--stdout", &second]).stdout, "said it first");
    assert_eq!(store.project.isobox(&["import", &store.archive]).code, 0, "which brings the record that is gone");
    assert_eq!(store.project.isobox(&["logs", &store.tasks[0]]).stdout, "said it first");
}

#[test]
fn tables_are_made_anew_and_say_the_same() {
    let store = store(&["echo one", "echo two"]);
    let list = store.project.isobox(&["list", "--json"]).stdout;
    assert_eq!(store.project.isobox(&["store", "rebuild-index"]).code, 0);
    assert_eq!(store.project.isobox(&["list", "--json"]).stdout, list);
    assert_eq!(store.verify(), 0);
}

#[test]
fn a_damaged_block_of_a_compacted_store_comes_back_and_its_pack_with_its_own_name() {
    let store = store(&["printf 'said %s first' it", "head -c 1200000 /dev/urandom"]);
    assert_eq!(store.project.isobox(&["store", "compact"]).code, 0);
    let whole: BTreeMap<_, _> = store.files("packs").into_iter().filter(|(path, _)| path.ends_with(".pack")).collect();
    store.damage(b"said it first");
    assert_eq!(store.verify(), 1);
    let (outcome, told) = store.repair(&["--from", &store.archive]);
    assert_eq!((outcome.code, told["defects"].as_array().map(Vec::len)), (0, Some(0)), "{told:#}");
    assert_eq!(store.verify(), 0);
    assert_eq!(store.project.isobox(&["logs", &store.tasks[0]]).stdout, "said it first");
    let mended: BTreeMap<_, _> = store.files("packs").into_iter().filter(|(path, _)| path.ends_with(".pack")).collect();
    assert!(whole.iter().all(|(path, bytes)| mended.get(path) == Some(bytes)), "{:?}", mended.keys());
}

#[test]
fn an_archive_of_a_compacted_and_pruned_store_is_that_of_what_it_lists() {
    let store = store(&["echo one", "echo two"]);
    let copy = |name: &str| store.project.scratch().join(name).to_str().expect("UTF-8").to_owned();
    assert_eq!(store.project.isobox(&["store", "compact"]).code, 0);
    let compacted = copy("compacted.isobox");
    assert_eq!(store.project.isobox(&["export", "--format", "archive", "@all", &compacted]).code, 0);
    assert!(fs::read(&compacted).expect("read") == fs::read(&store.archive).expect("read"));
    assert_eq!(store.project.isobox(&["store", "prune", "--keep-last", "1", "--apply"]).code, 0);
    let pruned = copy("pruned.isobox");
    assert_eq!(store.project.isobox(&["export", "--format", "archive", "@all", &pruned]).code, 0);
    let listed = document(&store.project.isobox(&["show", "--json", &pruned]));
    assert_eq!(listed["id"].as_str(), Some(store.tasks[1].as_str()));
}
