//! Where a command works: `--source`, `--records`, current directories, odd names.

use crate::support::{assert_told, document, task_of, tool};
use isobox_tests::{Project, User, outcome};
use std::fs;

#[test]
fn records_can_lie_in_a_directory_of_their_own() {
    let project = Project::initialised(User::Current);
    let records = project.scratch().join("records");
    let at = |arguments: &[&str]| {
        let mut command = project.isobox_command(&arguments[..1]);
        outcome(command.arg("--records").arg(&records).args(&arguments[1..]).output().expect("run isobox"))
    };
    let run = at(&["run", "--", "sh", "-c", "echo change >> README.md; echo said"]);
    assert_eq!(run.code, 0, "{run:?}");
    let task = task_of(&run);
    assert!(records.join("store/FORMAT").exists());
    assert!(records.join(&task).join("record.json").exists());
    assert!(!project.repository().join(".git/isobox/store").exists());
    assert_eq!(at(&["logs", "@latest"]).stdout, "said\n");
    let view = records.join(&task);
    let promoted = project.isobox(&["promote".as_ref(), "--yes".as_ref(), view.as_os_str()]);
    assert_eq!(promoted.code, 0, "{promoted:?}");
    assert_eq!(project.read("README.md"), "hello\nchange\n");
    assert_eq!(document(&at(&["show", "--json", &task]))["promotion"]["state"], "promoted");
}

#[test]
fn records_never_make_their_own_source_dirty() {
    let project = Project::bare(User::Current);
    for arguments in [&["run", "--", "true"][..], &["run", "--records", "kept/here", "--", "true"]] {
        for _ in 0..2 {
            let run = project.isobox(arguments);
            assert_eq!(run.code, 0, "{run:?}");
        }
    }
    assert!(project.repository().join("kept/here/store/FORMAT").exists());
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_records_directory_may_be_reached_through_a_link() {
    let project = Project::initialised(User::Current);
    fs::create_dir(project.scratch().join("real")).expect("a folder");
    std::os::unix::fs::symlink(project.scratch().join("real"), project.scratch().join("link")).expect("a link");
    let records = project.scratch().join("link/records");
    let mut command = project.isobox_command(&["run", "--records"]);
    let run = outcome(command.arg(&records).args(["--", "true"]).output().expect("run isobox"));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!run.stderr.contains("warning"), "{run:?}");
    assert!(project.scratch().join("real/records").join(task_of(&run)).join("record.json").exists());
}

#[test]
fn another_repository_can_be_the_source() {
    let project = Project::initialised(User::Current);
    let mut command = project.isobox_command(&["tool", "--source"]);
    let elsewhere = command.arg(project.repository().join("src")).args(["--", "ls"]).current_dir("/");
    let listed = outcome(elsewhere.output().expect("run isobox"));
    assert_eq!((listed.code, listed.stdout.as_str()), (0, "main.rs\n"), "{listed:?}");
}

#[test]
fn a_workload_starts_where_the_caller_stands() {
    let project = Project::initialised(User::Current);
    std::os::unix::fs::symlink(project.repository().join("src"), project.scratch().join("link")).expect("a link");
    for place in [project.repository().join("src"), project.scratch().join("link")] {
        let mut command = project.isobox_command(&["tool", "--", "ls"]);
        let listed = outcome(command.current_dir(&place).output().expect("run isobox"));
        assert_eq!((listed.code, listed.stdout.as_str()), (0, "main.rs\n"), "{listed:?}");
    }
}

#[test]
fn a_directory_that_was_not_committed_is_named() {
    let project = Project::initialised(User::Current);
    project.write(".gitignore", "/.isobox/tasks/\nbuild/\n");
    project.commit_all("Ignore");
    project.write("build/made", "");
    let mut command = project.isobox_command(&["tool", "--", "true"]);
    let refused = outcome(command.current_dir(project.repository().join("build")).output().expect("run isobox"));
    assert_told(&refused, 125, &["build", "not part of commit", "ignored"]);
}

#[test]
fn names_with_line_feeds_are_shown_escaped_and_work() {
    let project = Project::initialised(User::Current);
    let odd = project.scratch().join("odd\nname");
    let cloned = project.command("git").args(["clone", "-q", "."]).arg(&odd).status().expect("run git");
    assert!(cloned.success());
    let mut command = project.isobox_command(&["tool", "--trust-policy", "--", "sh", "-c", "echo x > 'new\nfile'"]);
    let run = outcome(command.current_dir(&odd).output().expect("run isobox"));
    assert_eq!(run.code, 0, "{run:?}");
    let mut command = project.isobox_command(&["promote", "--yes", "@latest"]);
    let promoted = outcome(command.current_dir(&odd).output().expect("run isobox"));
    assert_eq!(promoted.code, 0, "{promoted:?}");
    assert!(promoted.stdout.contains("odd\\nname") && promoted.stdout.contains("new\\nfile"), "{promoted:?}");
    assert_eq!(fs::read(odd.join("new\nfile")).expect("promoted"), b"x\n");
}

#[test]
fn a_damaged_store_is_told_before_anything_runs() {
    let project = Project::initialised(User::Current);
    tool(&project, "true");
    let format = project.repository().join(".git/isobox/store/FORMAT");
    let bytes = fs::read(&format).expect("read");
    fs::write(&format, &bytes[..bytes.len() / 2]).expect("write");
    let mark = project.scratch().join("mark");
    let touch = format!("touch {}", mark.display());
    assert_told(&project.isobox(&["run", "--backend", "host", "--", "sh", "-c", &touch]), 125, &["error: "]);
    assert!(!mark.exists());
    assert_told(&project.isobox(&["list"]), 6, &["FORMAT"]);
}

#[test]
fn a_store_without_permission_is_told_before_anything_runs() {
    let project = Project::initialised(User::Ordinary);
    if nix::unistd::geteuid().is_root() {
        fs::create_dir(project.repository().join(".git/isobox")).expect("a folder of root's");
        let refused = project.isobox(&["tool", "--", "true"]);
        assert_told(&refused, 125, &["error: ", ".git/isobox"]);
    }
}

#[test]
fn a_file_for_scripts_that_would_make_the_repository_unclean_is_refused_before_anything_starts() {
    let project = Project::initialised(User::Current);
    let id = ["tool", "--id-file", "made", "--", "true"];
    let events = ["run", "--events=src/../src/made", "--", "true"];
    for (arguments, flag) in [(&id[..], "--id-file made"), (&events, "--events src/../src/made")] {
        let refused = project.isobox(arguments);
        assert_told(&refused, 125, &[flag, "lies in the repository", "nothing was started", "or one that Git ignores"]);
    }
    assert_told(&project.isobox(&["tool", "--events", "README.md", "--", "true"]), 125, &["lies in the repository"]);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert!(project.isobox(&["list"]).stderr.contains("there is no task"));
    project.write(".git/info/exclude", "made\n");
    for arguments in [&id[..], &events, &id] {
        let run = project.isobox(arguments);
        assert_eq!(run.code, 0, "{run:?}");
    }
    assert!(project.read("made").starts_with("task-"));
    let rerun = project.isobox(&["rerun", "--id-file", "other", "@latest"]);
    assert_told(&rerun, 125, &["--id-file other lies in the repository"]);
}

#[test]
fn a_file_for_scripts_that_is_gits_or_the_stores_is_refused_before_anything_starts() {
    let project = Project::initialised(User::Current);
    let before = project.read(".git/config");
    std::os::unix::fs::symlink(".git/new", project.repository().join("link")).expect("a link to nothing");
    project.write(".git/info/exclude", "link\n");
    let git = "lies in the Git directory of the repository; nothing was started";
    for file in [".git/config", ".git/../.git/hooks/post-checkout", "link"] {
        for flag in ["--id-file", "--events"] {
            assert_told(&project.isobox(&["tool", flag, file, "--", "true"]), 125, &[flag, git]);
        }
    }
    let lane = ".git/isobox/store/lanes/lane-00.pack";
    assert_told(&project.isobox(&["run", "--events", lane, "--", "true"]), 125, &["lies in the task store"]);
    assert_eq!(project.read(".git/config"), before);
    assert!(!project.repository().join(".git/new").exists());
    assert!(project.isobox(&["list"]).stderr.contains("there is no task"));
    let records = project.scratch().join("records");
    let records = records.to_str().expect("a path");
    let id = format!("{records}/id");
    let refused = project.isobox(&["tool", "--records", records, "--id-file", &id, "--", "true"]);
    assert_told(&refused, 125, &["lies in the task store"]);
    // A working tree of its own has a file in the place of the Git directory.
    let linked = project.scratch().join("linked");
    project.git(&["worktree", "add", "-q", linked.to_str().expect("a path")]);
    let source = ["tool", "--source", linked.to_str().expect("a path"), "--id-file"];
    for file in [linked.join(".git"), project.repository().join(".git/worktrees/linked/HEAD")] {
        let arguments = [&source[..], &[file.to_str().expect("a path"), "--", "true"]].concat();
        assert_told(&project.isobox(&arguments), 125, &[git]);
    }
}

#[test]
fn where_a_repository_need_not_be_clean_a_file_for_scripts_in_it_is_warned_of() {
    let project = Project::initialised(User::Current);
    let text = project.read(".isobox/config.yaml").replace("\n    - reject_dirty_workspace_source\n", " []\n");
    project.write_policy(&text);
    project.commit_all("Need no clean repository");
    let tool = project.isobox(&["tool", "--trust-policy", "--events", "made", "--", "true"]);
    assert_told(&tool, 0, &["warning: --events made lies in the repository", "no result can be promoted until"]);
}

#[test]
fn an_export_that_makes_the_repository_unclean_says_so_and_how_to_mend_it() {
    let project = Project::initialised(User::Current);
    tool(&project, "echo change >> README.md");
    for (arguments, told) in [
        (&["export", "@latest", "../scratch/out"][..], false),
        (&["export", "@latest", ".isobox/tasks/out"], false),
        (&["export", "@latest", "out"], true),
        (&["export", "@all", "all/of"], true),
    ] {
        let exported = project.isobox(arguments);
        assert_eq!((exported.code, exported.stderr.contains("warning: ")), (0, told), "{exported:?}");
    }
    let again = project.isobox(&["export", "--layout", "v1", "@latest", "src/out"]);
    assert_told(
        &again,
        0,
        &["src/out lies in the repository", "hint: move it elsewhere, or add the line `/src/out/` to"],
    );
    assert_eq!(project.isobox(&["tool", "--", "true"]).code, 125);
    project.write(".git/info/exclude", "/src/out/\n/out/\n/all/of/\n");
    assert_eq!(project.isobox(&["tool", "--", "true"]).code, 0);
}
