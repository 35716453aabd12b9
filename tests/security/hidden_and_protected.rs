//! Promise: what a policy hides cannot be read, and what it protects cannot be changed.

use isobox_tests::{Case, Outcome};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

isobox_tests::promises! {
    containing: [
        credentials_below_a_directory_that_is_shown_stay_hidden,
        files_that_a_rule_hides_cannot_be_read_by_any_name,
        what_links_of_the_workspace_lead_to_is_hidden_wherever_it_is,
        what_a_pattern_names_by_links_on_the_way_is_hidden,
        files_of_the_system_are_hidden_where_a_hidden_link_leads_to_them,
        a_hidden_link_to_a_directory_of_the_system_starts_nothing_and_is_told,
        what_lies_in_something_hidden_is_hidden_with_it,
        what_is_shown_of_a_hidden_directory_is_hidden_by_each_way_to_show_it,
        what_can_be_opened_and_not_listed_is_hidden_by_its_name_or_refused,
        files_of_the_system_are_hidden_by_their_own_path,
        files_of_the_workspace_that_a_rule_hides_are_neither_read_nor_lost,
        what_is_committed_can_be_read_as_an_object_where_its_file_is_hidden,
        a_protected_path_cannot_be_changed_made_or_replaced,
        what_is_made_to_protect_what_is_not_there_leaves_no_trace,
        a_link_in_what_is_shown_shows_nothing_more,
        what_may_be_written_is_a_copy_that_nobody_keeps,
        what_changed_in_a_copy_is_captured_where_a_rule_says_so,
        what_is_never_exposed_is_exposed_in_so_many_words_alone,
    ],
    host: [
        the_host_backend_says_that_it_hides_and_protects_nothing,
    ],
}

fn run(case: &Case, flags: &[&str], script: &str) -> Outcome {
    let mut arguments = vec!["run", "--backend", case.backend.name()];
    arguments.extend(flags);
    arguments.extend(["--", "sh", "-c", script]);
    case.project.isobox(&arguments)
}

fn put(case: &Case, below_home: &str, content: &str) -> String {
    let path = case.project.home().join(below_home);
    fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    fs::write(&path, content).expect("write");
    path.display().to_string()
}

fn credentials_below_a_directory_that_is_shown_stay_hidden(case: &Case) {
    let config = put(case, ".cargo/config.toml", "plain-17");
    let token = put(case, ".cargo/credentials.toml", "secret-17");
    put(case, ".cargo/registry/.netrc", "secret-18");
    put(case, ".cargo/.ssh/id_ed25519", "secret-19");
    let cargo = case.project.home().join(".cargo").display().to_string();
    let script = format!("cat {config}; cat {token}; cat ~/.cargo/config.toml; grep -rs secret {cargo} ~/.cargo; true");
    let found = run(case, &["--read", &cargo], &script);
    assert_eq!(found.code, 0, "{found:?}");
    assert_eq!(found.stdout.matches("plain-17").count(), 2, "{found:?}");
    assert!(!found.stdout.contains("secret-1"), "{found:?}");
}

fn files_that_a_rule_hides_cannot_be_read_by_any_name(case: &Case) {
    put(case, "tools/a/.env", "secret-17");
    put(case, "tools/keys/signing.pem", "secret-18");
    put(case, "tools/plain", "plain-17");
    let tools = case.project.home().join("tools");
    symlink("a/.env", tools.join("link")).expect("a link");
    let tools = tools.display().to_string();
    let attack = format!(
        "cd {tools}; cat plain link a/.env keys/signing.pem; ls keys; cat /proc/self/root{tools}/a/.env; \
         mv a/.env b; ln a/.env c; umount a/.env; mount --bind keys /tmp; grep -rs secret . ~/tools; true"
    );
    let found = run(case, &["--read", &tools, "--hide", "**/.env", "--hide", "~/tools/keys"], &attack);
    assert!(found.stdout.contains("plain-17"), "{found:?}");
    assert!(!found.stdout.contains("secret-1") && !found.stdout.contains("signing"), "{found:?}");
}

fn what_links_of_the_workspace_lead_to_is_hidden_wherever_it_is(case: &Case) {
    let beside = put(case, "tools/token", "secret-19\n");
    put(case, "tools/plain", "plain-17\n");
    case.project.write("config/prod", "secret-17\n");
    case.project.write("config/test", "secret-18\n");
    case.project.write("config/dir/file", "secret-20\n");
    let root = case.project.repository();
    for (target, link) in [
        ("second", "a.env"),
        ("config/prod", "second"),
        ("/workspace/config/test", "b.env"),
        (beside.as_str(), "c.env"),
        ("config/../config/dir", "d.env"),
        ("nowhere", "e.env"),
        ("f.env", "f.env"),
    ] {
        symlink(target, root.join(link)).expect("a link");
    }
    case.project.commit_all("links");
    let tools = case.project.home().join("tools").display().to_string();
    let script = format!(
        "cat *.env config/* config/dir/file {beside} ~/tools/*; grep -rs secret . {tools} --exclude-dir=.git; true"
    );
    let found = run(case, &["--read", &tools, "--hide", "*.env"], &script);
    assert_eq!((found.code, found.stdout.as_str()), (0, "plain-17\n"), "{found:?}");
    assert_eq!(case.patch(), "");
}

fn what_a_pattern_names_by_links_on_the_way_is_hidden(case: &Case) {
    let token = put(case, "tools/v1/token", "secret-17\n");
    let beside = put(case, "tools/v2/token", "secret-18\n");
    let around = [put(case, "tools/key", "secret-19\n"), put(case, "tools/v2/pin", "secret-22\n")].join(" ");
    put(case, "tools/plain", "plain-17\n");
    case.project.write("v1/secret", "secret-20\n");
    case.project.write("v1/other", "secret-21\n");
    case.project.write("v1/inner/plain", "plain-18\n");
    let root = case.project.repository();
    let tools = case.project.home().join("tools").display().to_string();
    let [current, deep] = [format!("{tools}/v2"), format!("{tools}/down")];
    symlink("v1", case.project.home().join("tools/latest")).expect("a link");
    symlink("v2/inner", &deep).expect("a link");
    put(case, "tools/v2/inner/plain", "");
    // What is around a link's target is not what is around the link.
    let [pin, key] = [format!("{deep}/../pin"), format!("{deep}/../../key")];
    for (target, link) in [
        ("v1", "current"),
        ("../v1", "v1/circle"),
        (".", "same"),
        (&current, "tools"),
        (&pin, "a.env"),
        (&key, "b.env"),
        // From the root of the Sandbox, back into the Workspace.
        ("../../workspace/v1/other", "c.env"),
    ] {
        symlink(target, root.join(link)).expect("a link");
    }
    case.project.commit_all("links");
    let script = format!(
        "cat v1/secret current/secret v1/circle/secret {token} {tools}/latest/token {beside} {around} *.env v1/other; \
         cat v1/inner/plain {tools}/plain; echo started"
    );
    for rules in [
        ["current/secret", "tools/token", "**/latest/token", "*.env"],
        ["same/c*/secret", "*/token", "~/tools/la*/token", "same/*.env"],
    ] {
        let mut flags = vec!["--read", &tools];
        flags.extend(rules.iter().flat_map(|rule| ["--hide", rule]));
        let found = run(case, &flags, &script);
        let expected = "plain-18\nplain-17\nstarted\n";
        assert_eq!((found.code, found.stdout.as_str()), (0, expected), "{rules:?}: {found:?}");
    }
}

fn files_of_the_system_are_hidden_where_a_hidden_link_leads_to_them(case: &Case) {
    let file = file_of_system();
    let root = case.project.repository();
    symlink(&file, root.join("a.env")).expect("a link");
    symlink("/etc/passwd", root.join("b.env")).expect("a link");
    case.project.commit_all("links");
    let script = format!("cat a.env {}; cat b.env", file.display());
    let found = run(case, &["--hide", "*.env"], &script);
    // A Sandbox has an `/etc` of its own, in which nothing of the host's is.
    let own = run(case, &[], "cat /etc/passwd");
    assert_eq!((found.code, found.stdout.as_str()), (0, own.stdout.as_str()), "{found:?}");
}

/// A file that has something in it, in a directory below `/usr/share`.
fn a_hidden_link_to_a_directory_of_the_system_starts_nothing_and_is_told(case: &Case) {
    symlink("/usr/lib", case.project.repository().join("a.env")).expect("a link");
    case.project.commit_all("a link");
    let refused = run(case, &["--hide", "*.env"], "echo started");
    assert_eq!((refused.code, refused.stdout.as_str()), (125, ""), "{refused:?}");
    let reason = "a link in the workspace that `filesystem.hide` names leads to /usr/lib, a directory of the system";
    assert!(refused.stderr.contains(reason), "{refused:?}");
}

fn file_of_system() -> PathBuf {
    let below = |directory: &Path| {
        let entries = fs::read_dir(directory).into_iter().flatten();
        entries.map(|entry| entry.expect("an entry").path()).collect::<BTreeSet<_>>()
    };
    let is_plain =
        |path: &PathBuf| path.to_string_lossy().chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    let directories = below(Path::new("/usr/share")).into_iter().filter(|path| path.is_dir() && !path.is_symlink());
    let files = directories.filter(is_plain).flat_map(|directory| below(&directory)).filter(is_plain);
    let mut readable = files.filter(|path| !path.is_symlink() && fs::read(path).is_ok_and(|held| !held.is_empty()));
    readable.next().expect("a file of the system")
}

fn what_lies_in_something_hidden_is_hidden_with_it(case: &Case) {
    put(case, "tools/inner/.env", "secret-17\n");
    put(case, "tools/inner/deep/.env", "secret-18\n");
    case.project.write("keys/inner/prod", "secret-19\n");
    symlink("keys/inner/prod", case.project.repository().join(".env")).expect("a link");
    case.project.commit_all("keys");
    let tools = case.project.home().join("tools");
    let [tools, deep] = [tools.clone(), tools.join("inner/deep")].map(|path| path.display().to_string());
    let flags = ["--read", &tools, "--read", &deep, "--hide", "**/.env", "--hide", "~/tools/inner", "--hide", "keys"];
    let found = run(case, &flags, &format!("grep -rs secret . {tools} ~/tools --exclude-dir=.git; echo started"));
    assert_eq!((found.code, found.stdout.as_str()), (0, "started\n"), "{found:?}");
}

fn what_is_shown_of_a_hidden_directory_is_hidden_by_each_way_to_show_it(case: &Case) {
    let token = put(case, "tools/inner/deep/token", "secret-17\n");
    let tools = case.project.home().join("tools");
    symlink("inner", tools.join("link")).expect("a link");
    symlink("tools/inner/deep", case.project.home().join("short")).expect("a link");
    let deep = tools.join("inner/deep").display().to_string();
    let by_link = tools.join("link/deep").display().to_string();
    let short = case.project.home().join("short").display().to_string();
    let script =
        format!("cat {token} {by_link}/token {short}/token ~/tools/inner/deep/token ~/short/token; echo started");
    for hidden in ["~/tools/inner", "~/tools/link", "~/tools", "~/*/inner", "~/tools/inner/deep"] {
        for [flag, value] in [
            ["--read", deep.as_str()],
            ["--read", &by_link],
            ["--write", &deep],
            ["--capture", &deep],
            ["--reuse-input", &format!("path={by_link}")],
            ["--reuse-input", &format!("path={short}:rw")],
        ] {
            let found = run(case, &[flag, value, "--hide", hidden], &script);
            assert_eq!((found.code, found.stdout.as_str()), (0, "started\n"), "{flag} {value} {hidden}: {found:?}");
            let told = format!("the rule that shows {deep} has no effect: `filesystem.hide` names it");
            let limitations = case.record()["effective_policy"]["limitations"].to_string();
            assert!(limitations.contains(&told), "{flag} {value} {hidden}: {limitations}");
        }
    }
}

fn what_can_be_opened_and_not_listed_is_hidden_by_its_name_or_refused(case: &Case) {
    put(case, "tools/plain", "plain-17\n");
    let secret = put(case, "tools/closed/token", "secret-17\n");
    let closed = case.project.home().join("tools/closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o311)).expect("chmod");
    let tools = case.project.home().join("tools").display().to_string();
    let script = format!("cat {tools}/plain {secret}; true");
    let by_name = run(case, &["--read", &tools, "--hide", "~/tools/closed/token"], &script);
    let by_pattern = run(case, &["--read", &tools, "--hide", "**/tok*"], &script);
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).expect("chmod");
    assert_eq!((by_name.code, by_name.stdout.as_str()), (0, "plain-17\n"), "{by_name:?}");
    assert!(!by_pattern.stdout.contains("secret-17"), "{by_pattern:?}");
    if by_pattern.code != 0 {
        assert!(by_pattern.stderr.contains("tools/closed, whose files can be opened and not listed"), "{by_pattern:?}");
    }
}

fn files_of_the_system_are_hidden_by_their_own_path(case: &Case) {
    let file = file_of_system();
    let directory = file.parent().expect("a directory").display().to_string();
    let pattern = directory.replace("/usr/share/", "/usr/shar?/");
    let script = format!("env; ls {directory}; cat {}; true", file.display());
    let found = run(case, &[], &script);
    let name = file.file_name().expect("a name").to_string_lossy();
    assert!(found.stdout.contains("HOME=") && found.stdout.contains(&*name), "{found:?}");
    let found = run(case, &["--hide", "/usr/bin/env", "--hide", &pattern], &script);
    assert_eq!((found.code, found.stdout.as_str()), (0, ""), "{found:?}");
}

fn files_of_the_workspace_that_a_rule_hides_are_neither_read_nor_lost(case: &Case) {
    case.project.write(".env", "secret-17\n");
    case.project.write("deploy/secrets/prod", "secret-18\n");
    case.project.commit_all("secrets");
    let attack = "cat .env deploy/secrets/prod; ls deploy/secrets; rm -f .env; mv .env x; echo y > .env; rm -rf deploy; \
                  mkdir made; echo z > made/.env; grep -rs secret . --exclude-dir=.git; echo done > marker; true";
    let found = run(case, &["--hide", "**/.env", "--hide", "deploy/secrets"], attack);
    assert_eq!(found.code, 0, "{found:?}");
    assert!(!found.stdout.contains("secret-1") && !found.stdout.contains("prod"), "{found:?}");
    let patch = case.patch();
    assert!(patch.contains("marker") && !patch.contains("secret"), "{patch}");
    assert!(!patch.contains("a/.env"), "{patch}");
}

fn what_is_committed_can_be_read_as_an_object_where_its_file_is_hidden(case: &Case) {
    case.project.write("deploy/.env", "secret-17\n");
    case.project.commit_all("secrets");
    let script = "cat deploy/.env; echo objects; git show HEAD:deploy/.env";
    let found = run(case, &["--hide", "**/.env"], script);
    assert_eq!((found.code, found.stdout.as_str()), (0, "objects\nsecret-17\n"), "{found:?}");
    let limitations = case.record()["effective_policy"]["limitations"].to_string();
    assert!(limitations.contains("not what is committed of them"), "{limitations}");
    // What is not committed is in no object.
    case.project.write("deploy/.env", "secret-18\n");
    let found = run(case, &["--hide", "**/.env", "--workspace-base", "working-tree"], script);
    assert!(!found.stdout.contains("secret-18"), "{found:?}");
}

fn a_protected_path_cannot_be_changed_made_or_replaced(case: &Case) {
    case.project.write(".github/workflows/ci.yml", "good\n");
    case.project.write("nested/deep/kept/file", "good\n");
    case.project.write("Makefile", "good\n");
    case.project.commit_all("protected");
    let attack = "echo bad > .github/workflows/ci.yml; echo bad > .github/workflows/new.yml; rm -rf .github; mv .github x; \
                  mv nested n; mv nested/deep d; rm -rf nested; ln -sf /tmp nested; \
                  rm -f Makefile; mv Makefile m; echo bad > Makefile; echo bad > m2; mv m2 Makefile; \
                  mkdir -p .vscode; echo bad > .vscode/tasks.json; mkdir x && mv x .vscode; ln -s /tmp .vscode; \
                  mkdir -p nested/deep/none/at; echo bad > nested/deep/none/at/all; \
                  chmod 777 .vscode .github/workflows; umount .vscode; echo fine > nested/deep/other; true";
    let flags = [
        "--protect",
        ".github",
        "--protect",
        "nested/deep/kept",
        "--protect",
        "Makefile",
        "--protect",
        ".vscode",
        "--protect",
        "nested/deep/none/at",
    ];
    let found = run(case, &flags, attack);
    assert_eq!(found.code, 0, "{found:?}");
    let patch = case.patch();
    assert!(patch.contains("nested/deep/other"), "{patch}");
    let changed: Vec<&str> = patch.lines().filter(|line| line.starts_with("diff ")).collect();
    for kept in [".github", "nested/deep/kept", "Makefile", ".vscode", "nested/deep/none"] {
        let is_changed = changed.iter().any(|line| line.contains(&format!(" b/{kept}")));
        assert!(!is_changed, "{kept}: {patch}");
    }
}

fn what_is_made_to_protect_what_is_not_there_leaves_no_trace(case: &Case) {
    let found = run(case, &["--protect", ".vscode", "--protect", "src/none/at/all"], "echo x > made; ls -a");
    assert_eq!(found.code, 0, "{found:?}");
    let record = case.record();
    assert_eq!(record["result"]["changes"]["not_captured"], 0, "{record:#}");
    assert_eq!(record["result"]["changes"]["added"], 1, "{record:#}");
    assert_eq!(record["effective_policy"]["protected"][0], ".vscode", "{record:#}");
}

fn a_link_in_what_is_shown_shows_nothing_more(case: &Case) {
    let secret = put(case, "elsewhere/secret", "secret-17");
    put(case, "shown/plain", "plain-17");
    let shown = case.project.home().join("shown");
    symlink(&secret, shown.join("absolute")).expect("a link");
    symlink("../elsewhere", shown.join("relative")).expect("a link");
    let shown = shown.display().to_string();
    let script =
        format!("cd {shown}; cat plain absolute relative/secret; cd ~/shown; cat absolute relative/secret; true");
    let found = run(case, &["--reuse-input", &format!("path={shown}")], &script);
    assert!(found.stdout.contains("plain-17") && !found.stdout.contains("secret-17"), "{found:?}");
}

fn what_may_be_written_is_a_copy_that_nobody_keeps(case: &Case) {
    let file = put(case, "state/deep/file", "before-17\n");
    put(case, "state/.netrc", "secret-17\n");
    let state = case.project.home().join("state").display().to_string();
    let script = format!(
        "cat {file}; echo after > {file}; cat ~/state/deep/file; rm -r {state}/deep; mkdir -m 0 {state}/locked; \
         cat ~/state/.netrc; ls -a ~/state"
    );
    for flags in [["--write".to_owned(), state.clone()], ["--reuse-input".to_owned(), format!("path={state}:rw")]] {
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let found = run(case, &flags, &script);
        assert_eq!(found.stdout, "before-17\nafter\n.\n..\nlocked\n", "{found:?}");
        assert_eq!(fs::read_to_string(&file).expect("read"), "before-17\n");
        let left = fs::read_dir(case.project.home().join(".local/state/isobox/private")).expect("a directory").count();
        assert_eq!(left, 0, "copies stay");
    }
}

fn what_changed_in_a_copy_is_captured_where_a_rule_says_so(case: &Case) {
    let file = put(case, "state/deep/file", "before-17\n");
    put(case, "state/plain", "plain-17\n");
    put(case, "other/file", "before-18\n");
    let [state, other] = ["state", "other"].map(|name| case.project.home().join(name).display().to_string());
    let script = format!(
        "echo after > {file}; rm {state}/plain; mkdir -m 0 {state}/locked; echo y > {other}/file; echo x > changed"
    );
    let found = run(case, &["--capture", &state, "--write", &other], &script);
    assert_eq!(found.code, 0, "{found:?}");
    assert_eq!(fs::read_to_string(&file).expect("read"), "before-17\n");
    let record = case.record();
    let changes = &record["result"]["artifacts"]["host_copies"]["changes"];
    let counts = ["added", "modified", "deleted", "not_captured"].map(|kind| changes[kind].as_u64());
    assert_eq!(counts, [Some(0), Some(1), Some(1), Some(1)], "{record:#}");
    assert!(!case.patch().contains("deep/file"), "{}", case.patch());
    let to = case.project.scratch().join("exported");
    let exported = case.project.isobox(&["export", "@latest", &to.display().to_string()]);
    assert_eq!(exported.code, 0, "{exported:?}");
    let task = fs::read_dir(&to).expect("a directory").next().expect("a task").expect("an entry").path();
    let left = task.join("artifacts/host_copies").join(file.trim_start_matches('/'));
    assert_eq!(fs::read_to_string(left).expect("read"), "after\n");
    let below = state.trim_start_matches('/');
    assert_eq!(
        fs::read_to_string(task.join("artifacts/host_copies.txt")).expect("a list"),
        format!(
            "M {below}/deep/file (6 bytes)\n? {below}/locked (not captured: an empty directory)\nD {below}/plain\n"
        )
    );
    let shown = case.project.isobox(&["show", "@latest"]).stdout;
    assert!(shown.contains("copies       0 added, 1 modified, 1 deleted, 1 not captured"), "{shown}");
    for arguments in [&["verify", "--deep"][..], &["promote", "--yes", "@latest"]] {
        let done = case.project.isobox(arguments);
        assert_eq!(done.code, 0, "{done:?}");
    }
    assert_eq!(case.project.read("changed"), "x\n");
    assert_eq!(fs::read_to_string(&file).expect("read"), "before-17\n");
    let copies = fs::read_dir(case.project.home().join(".local/state/isobox/private")).expect("a directory").count();
    assert_eq!(copies, 0, "copies stay");
}

fn what_is_never_exposed_is_exposed_in_so_many_words_alone(case: &Case) {
    let secret = put(case, ".aws/credentials", "secret-17");
    let aws = case.project.home().join(".aws").display().to_string();
    let home = case.project.home().display().to_string();
    let socket_directory = "/run";
    for path in ["/", "/proc", "/sys", "/dev", socket_directory, &home, &aws, &secret] {
        for flag in ["--read", "--reuse-input"] {
            let path = if flag == "--read" { path.to_owned() } else { format!("path={path}") };
            let refused = run(case, &[flag, &path], "echo started");
            assert_eq!((refused.code, refused.stdout.as_str()), (125, ""), "{flag} {path}: {refused:?}");
        }
    }
    for path in ["/", "/proc/self", "/sys", "/dev"] {
        let refused = run(case, &["--unsafe-expose", path], "echo started");
        assert_eq!((refused.code, refused.stdout.as_str()), (125, ""), "{path}: {refused:?}");
    }
    let exposed = run(case, &["--unsafe-expose", &aws], &format!("cat {secret}"));
    assert_eq!((exposed.code, exposed.stdout.as_str()), (0, "secret-17"), "{exposed:?}");
    assert!(exposed.stderr.contains("UNSAFE") && exposed.stderr.contains(".aws"), "{exposed:?}");
    let policy = &case.record()["effective_policy"];
    assert!(
        policy["filesystem"]["unsafe_exposed"][0].as_str().is_some_and(|path| path.ends_with(".aws")),
        "{policy:#}"
    );
    assert_eq!(policy["enforcement"]["credentials"]["status"], "partially_enforced", "{policy:#}");
    // What is beside it in the home directory is shown without what is never shown.
    let home_shown = run(case, &["--unsafe-expose", &home], &format!("ls -a {home}; cat {secret}"));
    assert!(home_shown.stdout.contains(".aws") && !home_shown.stdout.contains("secret-17"), "{home_shown:?}");
}

fn the_host_backend_says_that_it_hides_and_protects_nothing(case: &Case) {
    let found = run(case, &["--hide", "**/.env", "--protect", ".github"], "true");
    assert_eq!(found.code, 0, "{found:?}");
    let limitations = case.record()["effective_policy"]["limitations"].to_string();
    for key in ["filesystem.hide", "workspace.protected"] {
        assert!(limitations.contains(&format!("`{key}` is not enforced")), "{limitations}");
    }
}
