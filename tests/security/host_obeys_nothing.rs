//! Promise: nothing that a workload leaves behind is executed, believed or followed by the host.

use isobox_tests::{Case, Outcome, outcome};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

isobox_tests::promises! {
    every: [
        a_git_directory_replaced_by_a_link_or_gitfile_to_the_trusted_repository_changes_nothing_there,
        a_planted_fsmonitor_pager_editor_or_ssh_command_is_not_executed,
        planted_filters_and_textconv_are_not_executed_whichever_attributes_name_them,
        planted_hooks_are_not_executed_on_the_host,
        a_planted_promisor_remote_is_not_asked_for_objects,
        a_nested_repository_with_a_hostile_configuration_is_left_alone_and_named,
        a_worktree_setting_pulls_no_host_file_into_the_result,
        git_variables_of_the_caller_reach_neither_the_workload_nor_the_capture,
        a_push_from_the_workspace_reaches_no_repository,
        making_a_workspace_runs_no_hook_or_filter_of_the_users_own_configuration,
    ],
    containing: [
        names_swapped_for_links_until_the_end_lead_the_capture_nowhere,
    ],
}

/// Everything that looks at a result or moves it, in the order of a person's day.
fn look_and_promote(case: &Case) {
    for looking in ["list", "show", "diff", "logs"] {
        let arguments: &[&str] = if looking == "list" { &["list"] } else { &[looking, "@latest"] };
        assert_eq!(case.project.isobox(arguments).code, 0, "{looking}");
    }
    case.promote_well();
}

fn plant(case: &Case, script: &str) {
    let marks = case.marks();
    case.run_well(&format!("M={}; echo change >> README.md; {script}", marks.display()));
    look_and_promote(case);
    case.assert_unmarked();
    assert_eq!(case.project.read("README.md"), "hello\nchange\n");
}

fn a_planted_fsmonitor_pager_editor_or_ssh_command_is_not_executed(case: &Case) {
    plant(
        case,
        r#"for key in fsmonitor pager editor sshCommand askPass gitProxy alternateRefsCommand; do
                printf '[core]\n\t%s = "touch %s/%s"\n' $key "$M" $key >> .git/config; done"#,
    );
}

fn planted_filters_and_textconv_are_not_executed_whichever_attributes_name_them(case: &Case) {
    plant(
        case,
        r#"for driver in clean smudge process; do
                printf '[filter "evil"]\n\t%s = "touch %s/%s"\n\trequired = true\n' $driver "$M" $driver >> .git/config; done
            printf '[diff "evil"]\n\ttextconv = "touch %s/textconv"\n\tcommand = "touch %s/diff"\n' "$M" "$M" >> .git/config
            printf '[merge "evil"]\n\tdriver = "touch %s/merge"\n' "$M" >> .git/config
            mkdir -p .git/info; echo '* filter=evil diff=evil merge=evil' > .git/info/attributes
            echo '* filter=evil diff=evil merge=evil' > .gitattributes"#,
    );
}

fn planted_hooks_are_not_executed_on_the_host(case: &Case) {
    plant(
        case,
        r#"mkdir -p .hooks .git/hooks
            for hook in post-index-change post-checkout pre-commit post-commit reference-transaction fsmonitor-watchman applypatch-msg pre-applypatch post-applypatch; do
                printf '#!/bin/sh\ntouch %s/%s\n' "$M" $hook > .hooks/$hook; cp .hooks/$hook .git/hooks/$hook
                chmod +x .hooks/$hook .git/hooks/$hook; done
            printf '[core]\n\thooksPath = .hooks\n' >> .git/config"#,
    );
}

fn a_planted_promisor_remote_is_not_asked_for_objects(case: &Case) {
    plant(
        case,
        r#"printf '[extensions]\n\tpartialClone = origin\n[remote "origin"]\n\turl = %s\n\tpromisor = true\n\tuploadpack = "touch %s/uploadpack"\n' "$PWD" "$M" >> .git/config
            rm -rf .git/objects/pack/* .git/objects/??"#,
    );
}

fn a_nested_repository_with_a_hostile_configuration_is_left_alone_and_named(case: &Case) {
    plant(
        case,
        r#"mkdir -p nested/.git/objects nested/.git/refs; echo 'ref: refs/heads/main' > nested/.git/HEAD
            printf '[core]\n\tfsmonitor = "touch %s/nested"\n' "$M" > nested/.git/config; echo x > nested/file"#,
    );
    let record = case.record().to_string();
    assert!(record.contains("nested"), "{record}");
}

fn a_worktree_setting_pulls_no_host_file_into_the_result(case: &Case) {
    fs::write(case.project.home().join("secret"), "host-secret-17").expect("write");
    let home = case.project.home();
    plant(case, &format!("printf '[core]\\n\\tworktree = {}\\n' >> .git/config", home.display()));
    assert!(!case.patch().contains("host-secret-17"));
    assert!(!case.patch().contains("b/secret"));
}

fn a_git_directory_replaced_by_a_link_or_gitfile_to_the_trusted_repository_changes_nothing_there(case: &Case) {
    for replacement in ["ln -s {} .git", "echo 'gitdir: {}' > .git"] {
        let case = &case.another();
        let trusted = case.project.repository().join(".git");
        let before = case.project.git(&["for-each-ref"]);
        let replace = replacement.replace("{}", &trusted.to_string_lossy());
        plant(case, &format!("rm -rf .git; {replace}"));
        assert_eq!(case.project.git(&["for-each-ref"]), before);
        case.project.git(&["fsck", "--strict"]);
    }
}

fn git_variables_of_the_caller_reach_neither_the_workload_nor_the_capture(case: &Case) {
    let other = case.project.scratch().join("other");
    let init = case.project.command("git").args(["init", "-q"]).arg(&other).status().expect("run git");
    assert!(init.success());
    let arguments = ["run", "--backend", case.backend.name(), "--", "sh", "-c", "echo x >> README.md; env"];
    let mut command: Command = case.project.isobox_command(&arguments);
    for (name, value) in [("GIT_DIR", ".git"), ("GIT_WORK_TREE", ""), ("GIT_INDEX_FILE", ".git/index")] {
        command.env(name, other.join(value));
    }
    command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "core.bare").env("GIT_CONFIG_VALUE_0", "true");
    let run: Outcome = outcome(command.output().expect("run isobox"));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!run.stdout.contains("GIT_"), "{}", run.stdout);
    assert!(!other.join(".git/index").exists());
    assert_eq!(case.captured("README.md"), "hello\nx\n");
}

fn a_push_from_the_workspace_reaches_no_repository(case: &Case) {
    let before = case.project.git(&["for-each-ref"]);
    let run = case.run("git remote; git push origin HEAD:refs/heads/stolen; git push; true");
    assert_eq!(run.stdout, "", "{run:?}");
    assert_eq!(case.project.git(&["for-each-ref"]), before);
}

fn making_a_workspace_runs_no_hook_or_filter_of_the_users_own_configuration(case: &Case) {
    let home = case.project.home();
    let mark = |name: &str| format!("touch {}", case.marks().join(name).display());
    let hooks = home.join("template/hooks");
    fs::create_dir_all(&hooks).expect("a folder");
    for hook in ["post-checkout", "post-index-change", "reference-transaction"] {
        fs::write(hooks.join(hook), format!("#!/bin/sh\n{}\n", mark(hook))).expect("write");
        fs::set_permissions(hooks.join(hook), fs::Permissions::from_mode(0o755)).expect("chmod");
    }
    let config = format!(
        "[core]\n\thooksPath = {hooks}\n\tfsmonitor = \"{monitor}\"\n[init]\n\ttemplateDir = {template}\n\
             [filter \"user\"]\n\tsmudge = \"{smudge}; cat\"\n\tclean = \"{clean}; cat\"\n",
        hooks = hooks.display(),
        monitor = mark("fsmonitor"),
        template = home.join("template").display(),
        smudge = mark("smudge"),
        clean = mark("clean"),
    );
    case.project.write(".gitattributes", "* filter=user\n");
    case.project.commit_all("Name a filter");
    fs::write(home.join(".gitconfig"), config).expect("write");
    let arguments = [
        "run",
        "--backend",
        case.backend.name(),
        "--",
        "sh",
        "-c",
        "echo x >> README.md; ls -A .git/hooks 2> /dev/null; true",
    ];
    let mut command = case.project.isobox_command(&arguments);
    let run = outcome(command.env_remove("GIT_CONFIG_GLOBAL").output().expect("run isobox"));
    assert_eq!(run.code, 0, "{run:?}");
    let mut command = case.project.isobox_command(&["promote", "--yes", "@latest"]);
    let promoted = outcome(command.env_remove("GIT_CONFIG_GLOBAL").output().expect("run isobox"));
    assert_eq!(promoted.code, 0, "{promoted:?}");
    case.assert_unmarked();
}

fn names_swapped_for_links_until_the_end_lead_the_capture_nowhere(case: &Case) {
    fs::write(case.project.home().join("secret"), "host-secret-17").expect("write");
    let run = case.run(&format!(
            "mkdir swap; echo mine > swap/secret; (setsid sh -c 'while :; do mv swap away; ln -s {} swap; rm swap; mv away swap; done' &); sleep 0.2",
            case.project.home().display()
        ));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!case.patch().contains("host-secret-17"));
}
