//! `isobox doctor`, on this machine and on made-up ones.

use crate::support::document;
use isobox_tests::{Outcome, Project, User, ignored, isobox_program, outcome};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// The finding of a check.
fn finding(told: &Value, check: &str) -> Value {
    let findings = told["findings"].as_array().expect("findings");
    findings
        .iter()
        .find(|finding| finding["check"] == check)
        .unwrap_or_else(|| panic!("no {check} in {told:#}"))
        .clone()
}

fn severity(told: &Value, check: &str) -> String {
    finding(told, check)["severity"].as_str().expect("a severity").to_owned()
}

fn doctor(project: &Project) -> (Outcome, Value) {
    let ran = project.isobox(&["doctor", "--json"]);
    let told = document(&ran);
    assert_eq!(told["schema"], "isobox.doctor/v1");
    (ran, told)
}

/// Runs `script` in the repository, with `$ISOBOX` naming the program.
fn shell(project: &Project, script: &str) -> Outcome {
    outcome(project.command("sh").args(["-ec", script]).env("ISOBOX", isobox_program()).output().expect("run sh"))
}

/// Everything below the project: kind and mode, size, inode, and both times.
fn listing(root: &Path) -> BTreeMap<PathBuf, [u64; 5]> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        let metadata = path.symlink_metadata().expect("metadata");
        if metadata.is_dir() {
            open.extend(fs::read_dir(&path).expect("list").map(|entry| entry.expect("an entry").path()));
        }
        let nanoseconds = |seconds: i64, rest: i64| (seconds * 1_000_000_000 + rest).cast_unsigned();
        let times = [
            nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        ];
        found.insert(path, [metadata.ino(), metadata.mode().into(), metadata.size(), times[0], times[1]]);
    }
    found
}

#[test]
fn a_project_that_is_set_up_is_ready() {
    for user in [User::Current, User::Ordinary] {
        let project = Project::initialised(user);
        let (ran, told) = doctor(&project);
        assert_eq!(ran.code, 0, "{told:#}");
        assert_eq!(told["counts"]["error"], 0, "{told:#}");
        for check in [
            "sandbox.starts",
            "namespace.user",
            "repository",
            "repository.clean",
            "views.ignored",
            "policy",
            "policy.trust",
            "store.writable",
        ] {
            assert_eq!(severity(&told, check), "ok", "{user:?} {check} {told:#}");
        }
        let text = project.isobox(&["doctor"]);
        assert!(
            text.stdout.starts_with("machine\n  ok       isobox.version") && text.stdout.contains("\nproject\n"),
            "{text:?}"
        );
    }
}

#[test]
fn looking_changes_nothing() {
    for user in [User::Current, User::Ordinary] {
        let project = Project::bare(user);
        // An index that Git would refresh, a monitor that it would start, and changes that it would look for.
        project.git(&["config", "core.fsmonitor", "touch ../scratch/monitor-ran; false"]);
        project.git(&["config", "core.untrackedCache", "true"]);
        let readme = fs::File::options().append(true).open(project.repository().join("README.md")).expect("open");
        readme.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("set its time");
        project.write("new", "");
        let root = project.repository().parent().expect("a parent").to_owned();
        let before = listing(&root);
        let ran = project.isobox(&["doctor"]);
        assert_eq!(listing(&root), before, "{ran:?}");
        assert!(ran.stdout.contains("untracked: new"), "{ran:?}");
    }
}

#[test]
fn looking_changes_nothing_in_a_store_that_is_in_use() {
    let project = Project::initialised(User::Current);
    assert_eq!(project.isobox(&["tool", "--", "sh", "-c", "echo x > new"]).code, 0);
    let root = project.repository().parent().expect("a parent").to_owned();
    let before = listing(&root);
    let (ran, told) = doctor(&project);
    assert_eq!(listing(&root), before, "{ran:?}");
    assert!(
        finding(&told, "overlay.mounts")["tried"].as_str().expect("text").contains("where workspaces lie"),
        "{told:#}"
    );
    let health = finding(&told, "store.health");
    assert!(health["found"].as_str().expect("text").contains("its newest record is as written"), "{told:#}");
}

#[test]
fn without_bwrap_sandboxes_start_all_the_same() {
    let project = Project::initialised(User::Current);
    let mut command = project.isobox_command(&["doctor", "--json"]);
    let ran = outcome(command.env("PATH", "/nonexistent").output().expect("run isobox"));
    let told = document(&ran);
    if severity(&told, "sandbox.starts") != "ok" {
        return ignored("doctor without bwrap", "the backend `landlock` starts no sandbox here");
    }
    let found = finding(&told, "bubblewrap.program");
    assert_eq!(found["severity"], "ok");
    assert!(found["consequence"].as_str().expect("what follows").contains("`landlock` needs no program"), "{found}");
    assert_eq!(severity(&told, "git.path"), "warning");
    assert_eq!(severity(&told, "isobox.path"), "warning");
}

#[test]
fn where_user_namespaces_are_switched_off_each_check_says_so() {
    let project = Project::initialised(User::Ordinary);
    let script = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$ISOBOX\" doctor --json";
    let ran = shell(&project, &format!("exec unshare --user --map-root-user sh -ec '{script}'"));
    if ran.stdout.is_empty() {
        return ignored("doctor without user namespaces", &ran.stderr);
    }
    let told = document(&ran);
    assert_eq!(ran.code, 1, "{told:#}");
    // Nobody of the host is mapped here but this user, so that `bwrap` itself is not trusted either.
    assert_eq!(severity(&told, "bubblewrap.program"), "error");
    let restriction = finding(&told, "kernel.restriction");
    assert_eq!(restriction["severity"], "error");
    assert_eq!(restriction["found"], "user.max_user_namespaces=0");
    assert!(restriction["fix"].as_str().expect("a fix").contains("sysctl user.max_user_namespaces="), "{restriction}");
    assert_eq!(severity(&told, "namespace.user"), "warning");
}

#[test]
fn a_store_on_a_read_only_mount_is_read_and_said_to_be_so() {
    let project = Project::initialised(User::Ordinary);
    assert_eq!(project.isobox(&["tool", "--", "true"]).code, 0);
    let script = "mount --bind .git .git; mount -o remount,bind,ro .git; exec \"$ISOBOX\" doctor --json";
    let ran = shell(&project, &format!("exec unshare --user --mount --map-root-user sh -ec '{script}'"));
    if ran.stdout.is_empty() {
        return ignored("doctor with a read-only store", &ran.stderr);
    }
    let told = document(&ran);
    assert_eq!(ran.code, 1, "{told:#}");
    assert_eq!(severity(&told, "store.health"), "ok");
    let writable = finding(&told, "store.writable");
    assert_eq!(writable["severity"], "error");
    assert!(writable["found"].as_str().expect("text").contains("Read-only file system"), "{writable}");
}

#[test]
fn a_repository_of_somebody_else_is_refused_with_the_way_out() {
    if !nix::unistd::geteuid().is_root() {
        return ignored("doctor in a foreign repository", "only root can make one");
    }
    let project = Project::initialised(User::Ordinary);
    let mut command = std::process::Command::new(isobox_program());
    command.args(["doctor", "--json"]).arg(project.repository());
    command.env_remove("SUDO_UID").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let told = document(&outcome(command.output().expect("run isobox")));
    let repository = finding(&told, "repository");
    assert_eq!(repository["severity"], "error");
    assert!(repository["found"].as_str().expect("text").contains("belongs to the user with uid"), "{repository}");
    assert!(repository["fix"].as_str().expect("a fix").contains("safe.directory"), "{repository}");
}

#[test]
fn links_and_copies_on_path_are_told_apart() {
    let project = Project::initialised(User::Current);
    let folders = ["a", "b", "c", "d"].map(|name| project.scratch().join(name));
    folders.iter().for_each(|folder| fs::create_dir(folder).expect("a folder"));
    let at = |number: usize| folders[number].join("isobox");
    // By another process: a program that this one holds open for writing when a neighbour forks cannot be executed.
    let copy = |to: PathBuf| {
        let copied = std::process::Command::new("cp").arg(isobox_program()).arg(to).status();
        assert!(copied.expect("run cp").success());
    };
    copy(at(0));
    fs::hard_link(at(0), at(1)).expect("link");
    symlink(at(0), at(2)).expect("link");
    let path = |number: usize| {
        let own = std::env::join_paths(&folders[..number]).expect("a path");
        format!("{}:/usr/bin:/bin", own.to_string_lossy())
    };
    let run = |path: String| {
        let mut command = project.command(at(0));
        document(&outcome(command.args(["doctor", "--json"]).env("PATH", path).output().expect("run isobox")))
    };
    let found = finding(&run(path(3)), "isobox.path");
    assert_eq!(found["severity"], "ok");
    let text = found["found"].as_str().expect("text");
    assert!(text.contains("b/isobox: a hard link") && text.contains("c/isobox: a symbolic link"), "{text}");
    copy(at(3));
    let found = finding(&run(path(4)), "isobox.path");
    assert_eq!(found["severity"], "warning");
    assert!(found["found"].as_str().expect("text").contains("d/isobox: another file"), "{found}");
}

#[test]
fn mistakes_of_a_project_are_found_with_their_fixes() {
    let project = Project::bare(User::Current);
    let (ran, told) = doctor(&project);
    assert_eq!(ran.code, 0, "{told:#}");
    assert_eq!([severity(&told, "policy"), severity(&told, "views.ignored")], ["warning", "warning"]);
    project.write(
        ".isobox/config.yaml",
        "api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\nnetwork:\n  default: dney\n",
    );
    let (ran, told) = doctor(&project);
    assert_eq!(ran.code, 1, "{told:#}");
    let policy = finding(&told, "policy");
    assert_eq!(policy["severity"], "error");
    assert!(policy["found"].as_str().expect("text").contains("config.yaml:4:12: "), "{policy}");
    assert_eq!(policy["fix"], "did you mean `deny`?");
}

#[test]
fn views_may_be_ignored_by_any_rule_that_git_has() {
    let project = Project::bare(User::Current);
    for (rules, expected) in [
        (".isobox/tasks/*\n", "ok"),
        ("tasks\n", "ok"),
        (".isobox/task\n", "warning"),
        ("*\n!.isobox/\n!.isobox/tasks/\n", "ok"),
        ("/.isobox/\n!.isobox/tasks/\n", "ok"),
    ] {
        fs::write(project.repository().join(".git/info/exclude"), rules).expect("write rules");
        fs::create_dir_all(project.repository().join(".isobox/tasks/task-0123456789abcdef")).expect("a view");
        fs::write(project.repository().join(".isobox/tasks/task-0123456789abcdef/record.json"), "").expect("a view");
        let oracle = project.git(&["status", "--porcelain", "-uall"]).contains(".isobox/tasks");
        let (_, told) = doctor(&project);
        assert_eq!(severity(&told, "views.ignored"), expected, "{rules}");
        assert_eq!(oracle, expected == "warning", "{rules}");
    }
}

#[test]
fn outside_of_a_repository_the_machine_alone_is_looked_at() {
    let project = Project::bare(User::Current);
    let scratch = project.scratch();
    fs::set_permissions(&scratch, fs::Permissions::from_mode(0o755)).expect("chmod");
    let ran = project.isobox(&["doctor".as_ref(), "--json".as_ref(), scratch.as_os_str()]);
    let told = document(&ran);
    assert_eq!(ran.code, 0, "{told:#}");
    assert_eq!(severity(&told, "repository"), "warning");
    let nowhere = project.isobox(&["doctor", "/nonexistent"]);
    assert_eq!(nowhere.code, 2, "{nowhere:?}");
}
