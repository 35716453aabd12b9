//! Promise: records are private, an unusable store is told before anything runs, and nothing damaged is believed.

use isobox_store_format::limits::LANES;
use isobox_tests::{Case, Project, User, ignored};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

isobox_tests::promises! {
    every: [
        records_and_views_are_readable_by_their_owner_alone,
        secrets_among_the_arguments_are_not_in_the_store,
        a_store_behind_a_link_or_open_to_others_is_refused_before_anything_runs,
        a_committed_link_in_place_of_the_views_is_not_followed,
        a_workspace_whose_directories_are_read_only_is_removed,
        a_damaged_entry_costs_at_most_its_own_record,
        a_record_whose_commit_is_damaged_is_named_and_shown_by_its_digest,
        a_missing_task_and_a_missing_store_are_told_apart,
        a_store_that_nothing_can_be_put_into_is_found_before_anything_runs,
        what_stands_in_place_of_one_lane_is_told_and_hinders_nothing,
        what_stands_in_place_of_the_cache_costs_nothing,
    ],
    containing: [
        the_keys_that_sign_the_log_are_not_visible_inside_and_cannot_be_exposed,
    ],
}

fn store(case: &Case) -> PathBuf {
    case.project.repository().join(".git/isobox/store")
}

fn everything_below(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.to_path_buf()];
    let mut next = 0;
    while next < found.len() {
        if fs::symlink_metadata(&found[next]).expect("metadata").is_dir() {
            found.extend(fs::read_dir(&found[next]).expect("a directory").map(|entry| entry.expect("an entry").path()));
        }
        next += 1;
    }
    found
}

fn records_and_views_are_readable_by_their_owner_alone(case: &Case) {
    case.run_well("echo change >> README.md; echo said; head -c 3000000 /dev/urandom > large");
    for root in [store(case), case.project.repository().join(".isobox/tasks")] {
        for path in everything_below(&root) {
            let mode = fs::symlink_metadata(&path).expect("metadata").mode();
            assert_eq!(mode & 0o077, 0, "{}: {mode:o}", path.display());
        }
    }
}

fn secrets_among_the_arguments_are_not_in_the_store(case: &Case) {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let run = case.run_command(&["true", "--token=hunter2-hunter2", secret, "--password", "correct-horse-17"]);
    assert_eq!(run.code, 0, "{run:?}");
    let shown = case.record().to_string();
    for word in ["hunter2-hunter2", secret, "correct-horse-17"] {
        assert!(!shown.contains(word), "{shown}");
        for path in everything_below(&store(case)).into_iter().filter(|path| path.is_file()) {
            let bytes = fs::read(&path).expect("read");
            assert!(!bytes.windows(word.len()).any(|part| part == word.as_bytes()), "{word} in {}", path.display());
        }
    }
    assert!(shown.contains("***"), "{shown}");
}

fn a_store_behind_a_link_or_open_to_others_is_refused_before_anything_runs(case: &Case) {
    let mark = case.project.scratch().join("ran");
    let touch = format!("touch {} || :", mark.display());
    let isobox_directory = case.project.repository().join(".git/isobox");
    let elsewhere = case.project.home().join("elsewhere");
    fs::create_dir_all(&elsewhere).expect("a folder");
    fs::create_dir_all(&isobox_directory).expect("a folder");
    symlink(&elsewhere, isobox_directory.join("store")).expect("a link");
    let run = case.run(&touch);
    assert_eq!(run.code, 125, "{run:?}");
    assert_eq!(fs::read_dir(&elsewhere).expect("a directory").count(), 0);
    fs::remove_file(isobox_directory.join("store")).expect("remove");
    fs::remove_dir_all(&isobox_directory).expect("remove");
    case.run_well("true");
    fs::set_permissions(store(case), fs::Permissions::from_mode(0o777)).expect("chmod");
    let run = case.run(&touch);
    assert_eq!(run.code, 125, "{run:?}");
    assert!(!mark.exists());
}

fn a_committed_link_in_place_of_the_views_is_not_followed(case: &Case) {
    let elsewhere = case.project.home().join("elsewhere");
    fs::create_dir_all(&elsewhere).expect("a folder");
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o777)).expect("chmod");
    symlink(&elsewhere, case.project.repository().join(".isobox/tasks")).expect("a link");
    case.run("true");
    assert_eq!(fs::read_dir(&elsewhere).expect("a directory").count(), 0);
}

fn a_workspace_whose_directories_are_read_only_is_removed(case: &Case) {
    case.run_well("mkdir -p a/b/c; echo x > a/b/c/d; chmod 0555 a/b/c a/b a; mkdir z; chmod 0000 z");
    assert_eq!(case.project.workspaces().len(), 0);
}

fn a_damaged_entry_costs_at_most_its_own_record(case: &Case) {
    for round in 0..3 {
        case.run_well(&format!("echo {round} >> README.md; echo said {round}"));
    }
    let lanes: Vec<_> =
        everything_below(&store(case).join("lanes")).into_iter().filter(|path| path.is_file()).collect();
    let lane = lanes.iter().max_by_key(|path| path.metadata().expect("metadata").len()).expect("a lane");
    let mut bytes = fs::read(lane).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(lane, bytes).expect("write");
    let list = case.project.isobox(&["list", "--json"]);
    let readable = (0..3).filter(|n| case.project.isobox(&["show", &format!("@latest~{n}")]).code == 0).count();
    assert!(readable >= 2, "{list:?}");
    case.run_well("echo after >> README.md");
    assert_eq!(case.captured("README.md"), "hello\nafter\n");
}

fn a_record_whose_commit_is_damaged_is_named_and_shown_by_its_digest(case: &Case) {
    case.run_well("echo one");
    case.run_well("echo two");
    let list = |code| {
        let list = case.project.isobox(&["list", "--json"]);
        assert_eq!(list.code, code, "{list:?}");
        let document: serde_json::Value = serde_json::from_str(&list.stdout).expect("a document");
        (document["tasks"].as_array().expect("tasks").clone(), list.stderr)
    };
    let newest = list(0).0[0].clone();
    let (task, digest) = (newest["id"].as_str().expect("an id"), newest["record"].as_str().expect("a digest"));
    let lane = store(case).join("lanes/lane-00.pack");
    let mut bytes = fs::read(&lane).expect("read");
    let in_the_last_commit = bytes.len() - 20;
    bytes[in_the_last_commit] ^= 0x10;
    fs::write(&lane, bytes).expect("write");
    let (tasks, told) = list(6);
    assert_eq!(tasks.len(), 1);
    assert!(told.contains(task) && told.contains(digest), "{told}");
    let code = |task: &str| case.project.isobox(&["show", task]).code;
    assert_eq!([code(digest), code("@latest"), code(task)], [0, 0, 6]);
}

fn a_missing_task_and_a_missing_store_are_told_apart(case: &Case) {
    let missing_store = case.project.isobox(&["show", "@latest"]);
    assert!([5, 6].contains(&missing_store.code), "{missing_store:?}");
    case.run_well("true");
    let missing_task = case.project.isobox(&["show", "task-0000000000000000"]);
    assert_eq!(missing_task.code, 5, "{missing_task:?}");
    let elsewhere = case.project.isobox(&["list", "--records", "/nonexistent-17"]);
    assert_eq!(elsewhere.code, 6, "{elsewhere:?}");
}

#[test]
fn the_user_of_a_repository_goes_on_with_what_root_left_in_it() {
    if !nix::unistd::geteuid().is_root() {
        return ignored("root in the repository of another user", "the tests do not run as root");
    }
    let project = Project::initialised(User::Ordinary);
    let well = |run: isobox_tests::Outcome| {
        assert_eq!(run.code, 0, "{run:?}");
        assert!(!run.stderr.contains("warning"), "{run:?}");
        run.stdout
    };
    let tool = ["tool", "--", "sh", "-c", "echo change >> README.md; head -c 3000000 /dev/urandom > large; echo said"];
    // Root is another user: it has to trust the policy itself.
    well(project.isobox_by_sudo(&["policy", "trust"]));
    well(project.isobox_by_sudo(&tool));
    let owner = fs::metadata(project.repository()).expect("metadata").uid();
    let of_root = |root: &Path| {
        let below = everything_below(root).into_iter();
        below.filter(|path| fs::symlink_metadata(path).expect("metadata").uid() != owner).collect::<Vec<_>>()
    };
    assert_eq!(of_root(&project.repository()), Vec::<PathBuf>::new());
    for arguments in
        [&tool[..], &["list"], &["show", "@latest~1"], &["logs", "@latest~1"], &["promote", "--yes", "@latest~1"]]
    {
        well(project.isobox(arguments));
    }
    assert_eq!(project.read("README.md"), "hello\nchange\n");
    project.commit_all("promoted");
    well(project.isobox_by_sudo(&tool));
    well(project.isobox_by_sudo(&["promote", "--yes", "@latest"]));
    assert_eq!(project.read("README.md"), "hello\nchange\nchange\n");
    assert_eq!(of_root(&project.repository()), Vec::<PathBuf>::new());
    project.commit_all("promoted by root");
    well(project.isobox(&tool));
    well(project.isobox_by_sudo(&["list"]));
    assert_eq!(well(project.isobox(&["list"])).lines().count(), 5);
}

fn a_store_that_nothing_can_be_put_into_is_found_before_anything_runs(case: &Case) {
    case.run_well("true");
    let every_lane: Vec<_> = (0..LANES).map(|lane| format!("lanes/lane-{lane:02}.pack")).collect();
    for names in [&every_lane[..], &["locks/gc".into()], &["locks/records".into()], &["locks/lane-00".into()]] {
        let run = with_folders_in_place_of(case, names, || case.run("echo ran"));
        assert_eq!((run.code, run.stdout.as_str()), (125, ""), "{names:?}: {run:?}");
        assert_eq!(case.project.workspaces().len(), 0, "{names:?}");
    }
    case.run_well("true");
}

fn what_stands_in_place_of_one_lane_is_told_and_hinders_nothing(case: &Case) {
    case.run_well("echo first");
    for name in ["lanes/lane-00.pack", "lanes/lane-07.pack"] {
        let listed = with_folders_in_place_of(case, &[name.into()], || {
            case.run_well("echo second");
            case.project.isobox(&["list"])
        });
        assert_eq!(listed.code, 6, "{name}: {listed:?}");
        assert!(listed.stderr.contains(name), "{name}: {listed:?}");
        assert!(listed.stdout.contains("echo second"), "{name}: {listed:?}");
    }
    assert_eq!(case.project.isobox(&["list"]).code, 0);
    assert_eq!(case.project.isobox(&["verify"]).code, 0);
}

/// Does `what` while a folder stands in the place of each of these files of the store.
fn with_folders_in_place_of<T>(case: &Case, names: &[String], what: impl FnOnce() -> T) -> T {
    let (store, aside) = (store(case), case.project.scratch().join("aside"));
    fs::create_dir(&aside).expect("a folder");
    let found: Vec<_> = names
        .iter()
        .enumerate()
        .filter(|(n, name)| {
            let was_there = fs::rename(store.join(name), aside.join(n.to_string())).is_ok();
            fs::create_dir(store.join(name)).expect("a folder in its place");
            was_there
        })
        .collect();
    let done = what();
    names.iter().for_each(|name| fs::remove_dir(store.join(name)).expect("remove"));
    found.into_iter().for_each(|(n, name)| fs::rename(aside.join(n.to_string()), store.join(name)).expect("rename"));
    fs::remove_dir(&aside).expect("remove");
    done
}

fn what_stands_in_place_of_the_cache_costs_nothing(case: &Case) {
    case.run_well("echo change >> README.md");
    fs::remove_dir_all(store(case).join("cache")).expect("remove");
    fs::write(store(case).join("cache"), "").expect("write");
    case.run_well("true");
    assert_eq!(case.project.isobox(&["list"]).code, 0);
}

fn the_keys_that_sign_the_log_are_not_visible_inside_and_cannot_be_exposed(case: &Case) {
    let made = case.project.isobox(&["audit", "init-key"]);
    assert_eq!(made.code, 0, "{made:?}");
    let keys = case.project.home().join(".config/isobox/keys");
    let names: Vec<_> = fs::read_dir(&keys).expect("keys").map(|entry| entry.expect("an entry").path()).collect();
    assert_eq!(names.len(), 1);
    let secret = fs::read_to_string(&names[0]).expect("a key");
    assert!(secret.starts_with("PRIVATE+KEY+"), "{secret}");
    let script = format!(
        "cat {0}; ls -R {1} ~; find / -xdev -name 'audit-*' 2> /dev/null; env; cat /proc/*/environ 2> /dev/null; true",
        names[0].display(),
        keys.display()
    );
    let run = case.run(&script);
    assert!(!run.stdout.contains("PRIVATE+KEY") && !run.stdout.contains("audit-"), "{run:?}");
    assert_eq!(fs::metadata(&names[0]).expect("a key").permissions().mode() & 0o7777, 0o600);
    let head = "api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\n";
    case.project.write_policy(&format!("{head}filesystem: {{read: [\"{}\"]}}\n", keys.display()));
    case.project.commit_all("Expose the keys");
    let refused = case.run("true");
    assert_eq!(refused.code, 125, "{refused:?}");
}
