//! Where a store may lie, and what it and its Views look like on disk.

use isobox_domain::policy::ViewLimit;
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_ports::contract::sample::{draft, noise, record, rejected};
use isobox_ports::{Attempts, RecordLog, Role, StoreErrorKind, View, Views};
use isobox_store::{FsTaskStore, FsViews};
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

fn kind_of<T>(result: Result<T, isobox_ports::StoreError>) -> Option<StoreErrorKind> {
    result.err().map(|error| error.kind)
}

fn store_with_one_record(records: &Path) {
    let store = FsTaskStore::create(records).unwrap();
    store.publish(store.begin(&draft(1)).unwrap(), &record(1)).unwrap();
}

/// Every path below `directory` that is not private to its owner.
fn exposed(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let mode = fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o7777;
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        if mode != expected {
            found.push(format!("{} {mode:o}", path.display()));
        }
        if path.is_dir() {
            found.extend(exposed(&path));
        }
    }
    found
}

#[test]
fn a_directory_without_a_store_has_none_and_stays_as_it_is() {
    let records = tempfile::tempdir().unwrap();
    assert!(FsTaskStore::open(records.path()).unwrap().is_none());
    assert!(FsTaskStore::open(&records.path().join("nowhere/at/all")).unwrap().is_none());
    assert_eq!(fs::read_dir(records.path()).unwrap().count(), 0);
}

#[test]
fn a_records_directory_is_made_with_its_parents_and_everything_in_it_is_private() {
    let parent = tempfile::tempdir().unwrap();
    let records = parent.path().join("deep/er");
    store_with_one_record(&records);
    assert_eq!(exposed(parent.path()), Vec::<String>::new());
}

#[test]
fn a_store_that_others_may_write_to_is_refused() {
    let records = tempfile::tempdir().unwrap();
    store_with_one_record(records.path());
    for mode in [0o720, 0o702, 0o777] {
        fs::set_permissions(records.path().join("store"), Permissions::from_mode(mode)).unwrap();
        assert_eq!(kind_of(FsTaskStore::create(records.path())), Some(StoreErrorKind::Unsuitable));
        assert_eq!(kind_of(FsTaskStore::open(records.path())), Some(StoreErrorKind::Unsuitable));
    }
}

#[test]
fn a_store_that_is_a_link_or_has_one_inside_is_refused_and_nothing_is_written_beyond() {
    let elsewhere = tempfile::tempdir().unwrap();
    store_with_one_record(elsewhere.path());
    let before = fs::read(elsewhere.path().join("store/lanes/lane-00.pack")).unwrap();
    let records = tempfile::tempdir().unwrap();
    symlink(elsewhere.path().join("store"), records.path().join("store")).unwrap();
    assert!(FsTaskStore::create(records.path()).is_err());
    assert!(FsTaskStore::open(records.path()).is_err());
    fs::remove_file(records.path().join("store")).unwrap();
    store_with_one_record(records.path());
    fs::remove_dir_all(records.path().join("store/lanes")).unwrap();
    symlink(elsewhere.path().join("store/lanes"), records.path().join("store/lanes")).unwrap();
    assert!(FsTaskStore::create(records.path()).is_err());
    assert_eq!(fs::read(elsewhere.path().join("store/lanes/lane-00.pack")).unwrap(), before);
}

#[test]
fn two_that_make_a_store_at_once_make_the_same_one() {
    for _ in 0..20 {
        let records = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for n in 0..4 {
                let records = records.path();
                scope.spawn(move || {
                    let store = FsTaskStore::create(records).unwrap();
                    store.publish(store.begin(&draft(n)).unwrap(), &record(n)).unwrap();
                });
            }
        });
        let store = FsTaskStore::open(records.path()).unwrap().unwrap();
        assert_eq!(store.list().unwrap().map(Result::unwrap).count(), 4);
    }
}

#[test]
fn a_creation_that_was_killed_is_finished_by_the_next() {
    let records = tempfile::tempdir().unwrap();
    fs::create_dir(records.path().join("store")).unwrap();
    fs::set_permissions(records.path().join("store"), Permissions::from_mode(0o700)).unwrap();
    fs::create_dir(records.path().join("store/lanes")).unwrap();
    assert!(FsTaskStore::open(records.path()).unwrap().is_none());
    store_with_one_record(records.path());
    assert_eq!(FsTaskStore::open(records.path()).unwrap().unwrap().list().unwrap().count(), 1);
}

#[test]
fn views_are_private_and_never_written_through_a_link() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let store = FsTaskStore::create(&root.join("records")).unwrap();
    let view = View { task: record(1).task, record_json: b"{}", artifacts: &[] };
    let write = |directory: &str| FsViews::new(root.join(directory)).write(&view, &store, ViewLimit::All);
    write("made/newest").unwrap();
    assert_eq!(exposed(&root.join("made")), Vec::<String>::new());
    fs::create_dir(root.join("target")).unwrap();
    symlink(root.join("target"), root.join("link")).unwrap();
    assert!(write("link").is_err());
    assert!(write("link/deeper").is_err());
    assert_eq!(fs::read_dir(root.join("target")).unwrap().count(), 0);
    symlink(root.join("target"), root.join("made/newest").join(record(2).task.to_string())).unwrap();
    write("made/newest").unwrap();
    let view = View { task: record(2).task, ..view };
    let written = FsViews::new(root.join("made/newest")).write(&view, &store, ViewLimit::All);
    assert_eq!(fs::read_dir(root.join("target")).unwrap().count(), 0, "{written:?}");
}

#[test]
fn views_keep_their_hands_off_what_is_none() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let store = FsTaskStore::create(&root.join("records")).unwrap();
    for name in ["notes.txt", "task-zz", "task-0123"] {
        fs::write(root.join(name), "mine").unwrap();
    }
    let views = FsViews::new(root.clone());
    for n in 1..5 {
        let view = View { task: record(n).task, record_json: b"{}", artifacts: &[] };
        views.write(&view, &store, ViewLimit::Newest(1)).unwrap();
    }
    let mut left: Vec<_> =
        fs::read_dir(&root).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, ["notes.txt", "records", "task-0000000000000004", "task-0123", "task-zz"]);
}

/// Every path below `directory` that does not belong to `owner`.
fn of_others(directory: &Path, owner: (u32, u32)) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        if (metadata.uid(), metadata.gid()) != owner {
            found.push(path.display().to_string());
        }
        if metadata.is_dir() {
            found.extend(of_others(&path, owner));
        }
    }
    found
}

#[test]
fn what_root_makes_in_the_directory_of_another_user_is_that_users() {
    if !nix::unistd::geteuid().is_root() {
        return println!("ignored: only root can give files away");
    }
    let owner = (12345, 12346);
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    chown(&root, Some(owner.0), Some(owner.1)).unwrap();
    let store = FsTaskStore::create(&root.join("deep/records")).unwrap();
    for n in [1, 2] {
        let attempt = store.begin(&draft(n)).unwrap();
        let mut writer = attempt.stage(Role::Stdout).unwrap();
        writer.write_all(&noise(n, 2 << 20)).unwrap();
        let mut sink = attempt.capture_sink().unwrap();
        for file in 0..5000 {
            sink.content(&mut noise(file, 20).as_slice()).unwrap();
        }
        drop(sink);
        let artifacts = TaskArtifacts { stdout: Some(writer.finish().unwrap()), ..TaskArtifacts::default() };
        let id = store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap();
        store.append(&rejected(n, id, None)).unwrap();
    }
    store.probe(0).unwrap();
    let view = View { task: record(1).task, record_json: b"{}", artifacts: &[] };
    FsViews::new(root.join("views/newest")).write(&view, &store, ViewLimit::All).unwrap();
    assert!(root.join("deep/records/store/cache/lane-00.idx").exists(), "a table is among what was made");
    assert_eq!(of_others(&root, owner), Vec::<String>::new());
    let mut left: Vec<_> =
        fs::read_dir(root.join("deep/records/store")).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    let expected = ["FORMAT", "cache", "lanes", "large", "locks", "packs", "quarantine", "tmp"];
    assert_eq!(left, expected, "nothing that was being made is left");
}

#[test]
fn an_attempt_of_root_stays_roots_because_its_workspace_does() {
    if !nix::unistd::geteuid().is_root() {
        return println!("ignored: only root can give files away");
    }
    let records = tempfile::tempdir().unwrap();
    chown(records.path(), Some(12345), Some(12346)).unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    drop(store.begin(&draft(1)).unwrap());
    let tmp = fs::read_dir(records.path().join("store/tmp")).unwrap();
    let owners: Vec<_> = tmp.map(|entry| entry.unwrap().metadata().unwrap().uid()).collect();
    assert_eq!(owners, [0]);
}

#[test]
fn a_directory_of_views_is_overlooked_by_git_unless_it_was_in_use_before() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let store = FsTaskStore::create(&root.join("records")).unwrap();
    fs::create_dir(root.join("empty")).unwrap();
    fs::create_dir(root.join("used")).unwrap();
    fs::write(root.join("used/notes.txt"), "mine").unwrap();
    let view = View { task: record(1).task, record_json: b"{}", artifacts: &[] };
    for directory in ["made/newest", "empty", "used"] {
        let views = FsViews::new(root.join(directory));
        views.create().unwrap();
        // The file is not counted: one View may stay, and does.
        (0..2).for_each(|_| views.write(&view, &store, ViewLimit::Newest(1)).unwrap());
        assert!(root.join(directory).join(view.task.to_string()).exists());
    }
    let rules = ["made/newest", "empty", "used"].map(|name| fs::read(root.join(name).join(".gitignore")).ok());
    assert_eq!(rules, [Some(b"*\n".to_vec()), Some(b"*\n".to_vec()), None]);
}
