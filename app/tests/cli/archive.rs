//! Archives: `export --format archive`, `import`, and looking into one.

use crate::schema_checker::assert_described;
use crate::support::{assert_told, document, tool};
use isobox_tests::{Outcome, Project, User};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

const CHANGE: &str = "echo said; echo new > new.txt; head -c 1500000 /dev/urandom > big.bin";

fn archive(project: &Project, tasks: &[&str], name: &str) -> String {
    let path = project.scratch().join(name).to_str().expect("UTF-8").to_owned();
    let exported = project.isobox(&[&["export", "--format", "archive"], tasks, &[&path]].concat());
    assert_eq!(exported.code, 0, "{exported:?}");
    path
}

fn elsewhere(project: &Project, name: &str) -> String {
    project.scratch().join(name).to_str().expect("UTF-8").to_owned()
}

fn import(project: &Project, records: &str, paths: &[&str]) -> (Outcome, serde_json::Value) {
    let outcome = project.isobox(&[&["import", "--json", "--records", records], paths].concat());
    let told = document(&outcome);
    (outcome, told)
}

fn listed(project: &Project, records: &str) -> Vec<String> {
    let list = document(&project.isobox(&["list", "--json", "--records", records]));
    let tasks = list["tasks"].as_array().expect("tasks").iter();
    tasks.map(|task| task["record"].as_str().expect("a record").to_owned()).collect()
}

fn own_records(project: &Project) -> String {
    project.repository().join(".git/isobox").to_str().expect("UTF-8").to_owned()
}

#[test]
fn everything_goes_through_an_archive_into_another_store_and_comes_out_of_it_alike() {
    let project = Project::initialised(User::Current);
    let tasks = [tool(&project, CHANGE), tool(&project, "exit 0"), tool(&project, "echo three >&2")];
    assert_eq!(project.isobox(&["reject", &tasks[1], "--reason", "no"]).code, 0);
    let all = archive(&project, &["@all"], "all.isobox");
    assert_eq!(fs::metadata(&all).expect("look").permissions().mode() & 0o777, 0o600);
    let records = elsewhere(&project, "records");
    let (outcome, told) = import(&project, &records, &[&all]);
    assert_eq!((outcome.code, &told["imported"]), (0, &3.into()), "{told}");
    assert_eq!(listed(&project, &records), listed(&project, &own_records(&project)), "in the same order");
    let again = elsewhere(&project, "again.isobox");
    let exported = project.isobox(&["export", "--records", &records, "--format", "archive", "@all", &again]);
    assert_eq!(exported.code, 0, "{exported:?}");
    assert!(fs::read(&all).expect("read") == fs::read(&again).expect("read"), "another store, the same bytes");
    let (outcome, told) = import(&project, &records, &[&all, &again]);
    assert_eq!((outcome.code, &told["imported"], &told["unchanged"]), (0, &0.into(), &6.into()));
    assert_eq!(project.isobox(&["verify", "--deep", "--records", &records]).code, 0);
    let shown = document(&project.isobox(&["show", "--json", "--records", &records, &tasks[1]]));
    let here = document(&project.isobox(&["show", "--json", &tasks[1]]));
    assert_eq!(shown, here, "with what happened to it");
}

#[test]
fn an_archive_is_written_to_a_pipe_or_to_a_name_that_is_free() {
    let project = Project::initialised(User::Current);
    tool(&project, CHANGE);
    let path = archive(&project, &["@latest"], "one.isobox");
    let mut command = project.isobox_command(&["export", "--format", "archive", "@latest", "-"]);
    let piped = command.stdout(Stdio::piped()).output().expect("run isobox");
    assert!(piped.status.success() && piped.stdout == fs::read(&path).expect("read"));
    let export = |rest: &[&str]| project.isobox(&[&["export", "--format", "archive", "@latest"], rest].concat());
    assert_told(&export(&[&path]), 1, &["is there already; nothing was exported", "--force"]);
    assert_eq!(export(&["--force", &path]).code, 0);
    assert_told(&export(&["--json", "-"]), 2, &["hint: "]);
    assert_told(&export(&[&elsewhere(&project, "no/such/place")]), 1, &["nothing was exported"]);
    assert_told(&project.isobox(&["export", "--format", "archive", "@all", "@latest", "x"]), 2, &["@all"]);
    let left: Vec<_> =
        fs::read_dir(project.scratch()).expect("list").map(|e| e.expect("an entry").file_name()).collect();
    assert_eq!(left, ["one.isobox"], "nothing half is left");
}

#[test]
fn a_patch_is_what_diff_prints() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo new > new.txt");
    let path = elsewhere(&project, "result.patch");
    assert_eq!(project.isobox(&["export", "--format", "patch", &task, &path]).code, 0);
    assert_eq!(fs::read_to_string(&path).expect("read"), project.isobox(&["diff", &task]).stdout);
    assert_eq!(project.git(&["apply", "--check", &path]), "");
    assert_told(&project.isobox(&["export", "--format", "patch", "@all", "-"]), 2, &["hint: "]);
}

#[test]
fn an_archive_is_taken_by_every_command_that_looks() {
    let project = Project::initialised(User::Current);
    let (first, second) = (tool(&project, CHANGE), tool(&project, "echo two"));
    let one = archive(&project, &[&first], "one.isobox");
    let both = archive(&project, &[&first, &second], "both.isobox");
    let named = format!("{both}#{first}");
    fs::remove_dir_all(project.repository().join(".git/isobox")).expect("no store is needed");
    for name in [one.as_str(), &named, &format!("{both}#{}", &first[..10])] {
        assert_eq!(project.isobox(&["logs", name]).stdout, "said\n", "{name}");
        assert_eq!(document(&project.isobox(&["show", "--json", name]))["id"], first.as_str());
        assert_eq!(project.isobox(&["cat", &format!("{name}:new.txt")]).stdout, "new\n");
        assert!(project.isobox(&["diff", "--stat", name]).stdout.contains("A new.txt"));
        assert_eq!(project.isobox(&["verify", name]).code, 0);
    }
    let digest = document(&project.isobox(&["show", "--json", &one]))["record"].as_str().expect("a digest").to_owned();
    assert_eq!(project.isobox(&["cat", &format!("{both}#{digest}:new.txt")]).stdout, "new\n");
    assert_told(&project.isobox(&["show", &both]), 5, &["more than one task", &first, &second, &format!("{both}#")]);
    assert_told(&project.isobox(&["show", &format!("{both}#task-0000000000000000")]), 5, &["there is no task"]);
    assert_told(&project.isobox(&["show", "nothing.isobox"]), 6, &["nothing.isobox"]);
    for command in ["reject", "rerun"] {
        assert_told(&project.isobox(&[command, &one]), if command == "rerun" { 125 } else { 2 }, &["isobox import"]);
    }
    for command in [&["store", "pin"][..], &["audit", "prove"]] {
        assert_told(&project.isobox(&[command, &[one.as_str()]].concat()), 2, &["an archive is only looked into"]);
    }
    for command in [&["stop"][..], &["wait"], &["logs", "--follow"]] {
        for name in [&one, &named] {
            let told = project.isobox(&[command, &[name.as_str()]].concat());
            let show = format!("hint: `isobox show {name}` shows how its task ended");
            assert_told(&told, 2, &["is an archive: nothing in it runs", &show]);
        }
    }
}

#[test]
fn a_task_is_promoted_from_an_archive_by_way_of_the_projects_own_store() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo new > new.txt");
    let one = archive(&project, &[&task], "one.isobox");
    let store = project.repository().join(".git/isobox");
    fs::remove_dir_all(&store).expect("as if it were another machine's");
    assert_eq!(project.isobox(&["promote", "--dry-run", &one]).code, 0);
    project.write("README.md", "dirty\n");
    assert_told(&project.isobox(&["promote", "--yes", &one]), 4, &["not clean"]);
    assert!(!store.join("store").exists(), "what is refused is not taken over");
    project.git(&["checkout", "-q", "README.md"]);
    let promoted = project.isobox(&["promote", "--yes", &one]);
    assert_eq!(promoted.code, 0, "{promoted:?}");
    assert_eq!(project.read("new.txt"), "new\n");
    assert_eq!(document(&project.isobox(&["list", "--json", "--state", "promoted"]))["tasks"][0]["id"], task.as_str());
    assert_told(&project.isobox(&["promote", "--yes", &one]), 4, &["cannot promote"]);
}

#[test]
fn what_was_pruned_here_comes_back_into_another_store_alone() {
    let project = Project::initialised(User::Current);
    let (pruned, kept) = (tool(&project, "echo new > new.txt"), tool(&project, "echo two > two.txt"));
    let one = archive(&project, &[&pruned], "one.isobox");
    assert_eq!(project.isobox(&["reject", &pruned]).code, 0);
    assert_eq!(project.isobox(&["store", "prune", "--keep-last", "0", "--apply"]).code, 0);
    let own = own_records(&project);
    let (before, stored) = (listed(&project, &own), snapshot(&Path::new(&own).join("store/lanes")));
    let (outcome, told) = import(&project, &own, &[&one]);
    assert_eq!((outcome.code, &told["imported"], &told["refused"]), (1, &0.into(), &1.into()), "{told}");
    let reason = told["directories"][0]["reasons"][0].as_str().expect("a reason");
    assert!(reason.starts_with("it was pruned here at 20") && reason.contains("--records DIR"), "{reason}");
    assert_told(&project.isobox(&["promote", "--yes", &one]), 4, &["it was pruned here at 20", "--records DIR"]);
    assert!(!project.repository().join("new.txt").exists());
    assert_eq!(listed(&project, &own), before);
    assert_eq!(document(&project.isobox(&["show", "--json", "@latest"]))["id"], kept.as_str());
    assert!(snapshot(&Path::new(&own).join("store/lanes")) == stored, "nothing was staged");
    let other = elsewhere(&project, "other");
    assert_eq!(import(&project, &other, &[&one]).0.code, 0);
    assert_eq!(listed(&project, &other).len(), 1);
    assert_eq!(project.isobox(&["promote", "--yes", "--records", &other, &one]).code, 0);
    assert_eq!(project.read("new.txt"), "new\n");
}

#[test]
fn a_file_that_makes_a_project_unclean_is_told() {
    let project = Project::initialised(User::Current);
    tool(&project, "echo new > new.txt");
    for (format, name) in [("archive", "x.isobox"), ("patch", "x.patch")] {
        let exported = project.isobox(&["export", "--format", format, "@latest", name]);
        let line = format!("add the line `/{name}` to .gitignore");
        assert_told(&exported, 0, &["which is not clean with it", &line]);
        fs::remove_file(project.repository().join(name)).expect("remove");
        let piped = project.isobox(&["export", "--format", format, "@latest", &elsewhere(&project, name)]);
        assert!(!piped.stderr.contains("not clean"), "{piped:?}");
    }
    project.write(".gitignore", "*.isobox\n");
    let ignored = project.isobox(&["export", "--format", "archive", "@latest", "x.isobox"]);
    assert!(ignored.code == 0 && !ignored.stderr.contains("not clean"), "{ignored:?}");
}

#[test]
fn news_about_a_task_is_taken_and_another_story_of_it_is_not() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, CHANGE);
    let before = archive(&project, &[&task], "before.isobox");
    let (records, others) = (elsewhere(&project, "records"), elsewhere(&project, "others"));
    for records in [&records, &others] {
        assert_eq!(import(&project, records, &[&before]).0.code, 0);
    }
    assert_eq!(project.isobox(&["reject", &task, "--reason", "here"]).code, 0);
    let after = archive(&project, &[&task], "after.isobox");
    let (outcome, told) = import(&project, &records, &[&after]);
    assert_eq!((outcome.code, &told["continued"]), (0, &1.into()), "{told}");
    let (outcome, told) = import(&project, &records, &[&after, &before]);
    assert_eq!((outcome.code, &told["unchanged"]), (0, &2.into()), "what is older tells nothing: {told}");
    assert_eq!(project.isobox(&["reject", "--records", &others, &task, "--reason", "there"]).code, 0);
    let (outcome, told) = import(&project, &others, &[&after]);
    assert_eq!((outcome.code, &told["directories"][0]["result"]), (1, &"partly".into()), "{told}");
    let here = document(&project.isobox(&["show", "--json", "--records", &others, &task]));
    assert!(here.to_string().contains("there") && !here.to_string().contains("\"here\""), "{here}");
}

#[test]
fn another_record_of_the_same_attempt_is_refused() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo one");
    let v1 = elsewhere(&project, "v1");
    assert_eq!(project.isobox(&["export", "--layout", "v1", &task, &v1]).code, 0);
    let records = elsewhere(&project, "records");
    assert_eq!(import(&project, &records, &[&v1]).0.code, 0, "a record of the same name");
    let one = archive(&project, &[&task], "one.isobox");
    let (outcome, told) = import(&project, &records, &[&one]);
    assert_eq!((outcome.code, &told["imported"], &told["refused"]), (1, &0.into(), &1.into()), "{told}");
    assert_eq!(listed(&project, &records).len(), 1);
}

/// Every file below a directory with its content and its inode's times.
fn snapshot(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("list") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(snapshot(&path)),
            false => found.push((path.clone(), fs::read(&path).expect("read"))),
        }
    }
    found.sort();
    found
}

#[test]
fn what_lists_imported_records_names_their_store() {
    let project = Project::initialised(User::Current);
    tool(&project, "true");
    let (all, records) = (project.scratch().join("all.isobox"), project.scratch().join("records"));
    let (all, records) = (all.to_str().expect("a path"), records.to_str().expect("a path"));
    assert_eq!(project.isobox(&["export", "--format", "archive", "@all", all]).code, 0);
    let imported = project.isobox(&["import", "--records", records, all]);
    assert_told(&imported, 0, &[&format!("next: isobox list --records {records}\n")]);
}

#[test]
fn a_store_is_imported_from_wherever_it_lies_and_stays_as_it_is() {
    let project = Project::initialised(User::Current);
    tool(&project, CHANGE);
    tool(&project, "echo two");
    let own = own_records(&project);
    fs::remove_dir_all(format!("{own}/store/cache")).ok();
    let before = snapshot(Path::new(&own));
    let repository = project.repository().to_str().expect("UTF-8").to_owned();
    for (n, path) in [&format!("{own}/store"), &own, &repository, &format!("{repository}/.git")].iter().enumerate() {
        let records = elsewhere(&project, &n.to_string());
        let (outcome, told) = import(&project, &records, &[path]);
        assert_eq!((outcome.code, &told["imported"]), (0, &2.into()), "{path}: {told}");
        assert_eq!(listed(&project, &records), listed(&project, &own));
    }
    assert!(snapshot(Path::new(&own)) == before, "the source was changed");
    let (outcome, told) = import(&project, &own, &[&own]);
    assert_eq!((outcome.code, &told["unchanged"]), (0, &2.into()), "from itself: {told}");
}

#[test]
fn of_a_damaged_archive_or_store_what_is_whole_is_imported_and_the_rest_is_named() {
    let project = Project::initialised(User::Current);
    let tasks = [tool(&project, "printf 'first %s all' of"), tool(&project, "printf 'second %s all' of")];
    let all = archive(&project, &["@all"], "all.isobox");
    let mut bytes = fs::read(&all).expect("read");
    let at = bytes.windows(12).position(|window| window == b"first of all").expect("it stands there as it is");
    bytes[at] ^= 1;
    fs::write(&all, &bytes).expect("damage");
    let records = elsewhere(&project, "records");
    let (outcome, told) = import(&project, &records, &[&all]);
    assert_eq!((outcome.code, &told["imported"]), (1, &1.into()), "{told}");
    assert!(told["directories"].to_string().contains(&tasks[0]), "{told}");
    assert_eq!(project.isobox(&["verify", &all]).code, 1);
    assert_eq!(project.isobox(&["verify", "--deep", "--records", &records]).code, 0);
    let cut = elsewhere(&project, "cut.isobox");
    fs::write(&cut, &bytes[..bytes.len() - 40]).expect("cut");
    assert_eq!(import(&project, &records, &[&cut]).0.code, 1);
    let one = archive(&project, &[&tasks[0]], "one.isobox");
    let mut bytes = fs::read(&one).expect("read");
    let at = bytes.windows(12).position(|window| window == b"first of all").expect("it stands there as it is");
    bytes[at] ^= 1;
    fs::write(&one, &bytes).expect("damage");
    let (outcome, told) = import(&project, &elsewhere(&project, "none"), &[&one]);
    assert_eq!((outcome.code, &told["imported"], &told["damaged"]), (1, &0.into(), &1.into()), "{told}");
    assert_described("import", &told);
    let told = project.isobox(&["import", "--records", &elsewhere(&project, "none"), &one]);
    assert!(told.code == 1 && told.stdout.contains("1 damaged archives"), "{told:?}");
    let lane = project.repository().join(".git/isobox/store/lanes/lane-00.pack");
    let mut pack = fs::read(&lane).expect("read");
    let at = pack.windows(12).position(|window| window == b"second of al").expect("short content stands as it is");
    pack[at] ^= 1;
    fs::write(&lane, pack).expect("damage");
    let others = elsewhere(&project, "others");
    let (outcome, told) = import(&project, &others, &[&own_records(&project)]);
    assert_eq!((outcome.code, &told["imported"]), (1, &1.into()), "{told}");
    assert!(told["directories"].to_string().contains(&tasks[1]), "{told}");
}

#[test]
fn what_was_damaged_here_is_made_up_for_by_an_import() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "printf 'first %s all' of");
    let all = archive(&project, &["@all"], "all.isobox");
    let lane = project.repository().join(".git/isobox/store/lanes/lane-00.pack");
    let mut pack = fs::read(&lane).expect("read");
    let at = pack.windows(12).position(|window| window == b"first of all").expect("short content stands as it is");
    pack[at] ^= 1;
    fs::write(&lane, pack).expect("damage");
    assert_eq!(project.isobox(&["logs", &task]).code, 6);
    let (outcome, told) = import(&project, &own_records(&project), &[&all]);
    assert_eq!((outcome.code, &told["imported"]), (0, &1.into()), "{told}");
    assert_eq!(project.isobox(&["logs", &task]).stdout, "first of all");
    assert_eq!(listed(&project, &own_records(&project)).len(), 1, "it is listed once");
}

#[test]
fn hostile_things_in_the_place_of_an_archive_or_a_store_are_refused_and_the_rest_is_imported() {
    let project = Project::initialised(User::Current);
    tool(&project, CHANGE);
    let good = archive(&project, &["@all"], "good.isobox");
    let path = |name: &str| elsewhere(&project, name);
    nix::unistd::mkfifo(path("pipe.isobox").as_str(), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    fs::write(path("text.isobox"), "no archive").expect("write");
    fs::write(path("empty.isobox"), "").expect("write");
    let hole = fs::File::create(path("hole.isobox")).expect("create");
    hole.set_len(1 << 40).expect("a hole");
    let mut head = fs::read(&good).expect("read")[..48].to_vec();
    head[16..24].copy_from_slice(&(1_u64 << 20).to_le_bytes());
    head[32..40].copy_from_slice(&(1_u64 << 24).to_le_bytes());
    head[40..48].copy_from_slice(&(1_u64 << 40).to_le_bytes());
    fs::write(path("lengths.isobox"), &head).expect("write");
    fs::File::options().write(true).open(path("lengths.isobox")).expect("open").set_len(1 << 40).expect("a hole");
    fs::create_dir(path("linked")).expect("make");
    symlink(project.repository().join(".git/isobox/store"), path("linked/store")).expect("link");
    fs::create_dir_all(path("odd/store/lanes")).expect("make");
    fs::write(path("odd/store/FORMAT"), [0xff; 1024]).expect("write");
    let hostile =
        ["pipe.isobox", "text.isobox", "empty.isobox", "hole.isobox", "lengths.isobox", "odd", "none.isobox"].map(path);
    let mut paths: Vec<&str> = hostile.iter().map(String::as_str).collect();
    let linked = path("linked");
    paths.extend([linked.as_str(), &good]);
    let (outcome, told) = import(&project, &elsewhere(&project, "records"), &paths);
    assert_eq!((outcome.code, &told["imported"], &told["refused"]), (1, &1.into(), &7.into()), "{told:#}");
}

#[test]
fn hostile_things_in_a_store_cost_no_record_that_is_whole() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, CHANGE);
    let hostile = elsewhere(&project, "hostile");
    let copied = project.command("cp").args(["-a", &own_records(&project), &hostile]).status().expect("run cp");
    assert!(copied.success());
    let path = |name: &str| PathBuf::from(format!("{hostile}/store/{name}"));
    nix::unistd::mkfifo(&path("lanes/lane-01.pack"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    fs::File::create(path("lanes/lane-02.pack")).expect("create").set_len(1 << 40).expect("a hole");
    symlink("/dev/zero", path("lanes/lane-03.pack")).expect("link");
    let name = format!("packs/{}.pack", "0".repeat(64));
    symlink(path("lanes/lane-00.pack"), path(&name)).expect("link");
    fs::create_dir(path(&name.replace('0', "1"))).expect("make");
    fs::write(path("packs/readme"), "no pack").expect("write");
    fs::write(path(&format!("packs/{}.idx", "0".repeat(64))), [0xff; 5000]).expect("write");
    let records = elsewhere(&project, "records");
    let (outcome, told) = import(&project, &records, &[&hostile]);
    assert_eq!((outcome.code, &told["imported"]), (1, &1.into()), "what lies there instead is named: {told:#}");
    assert_eq!(project.isobox(&["logs", "--records", &records, &task]).stdout, "said\n");
    assert_eq!(project.isobox(&["verify", "--deep", "--records", &records]).code, 0);
}
