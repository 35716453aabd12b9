//! Promise: where the kernel refuses namespaces, `landlock` gives what is asked for or starts nothing, and says why.

use isobox_tests::{Backend, Case, Machine, Outcome, users};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

fn on_each_user(test: impl Fn(&Case)) {
    for user in users() {
        test(&Case::on(*user, Backend::Landlock, Machine::WithoutUserNamespaces));
    }
}

fn run(case: &Case, flags: &[&str], script: &str) -> Outcome {
    let flags = [&["run", "--backend", "landlock"], flags, &["--", "sh", "-c", script]].concat();
    case.output(case.project.isobox_command(&flags))
}

fn put(case: &Case, below_home: &str, content: &str) -> String {
    let path = case.project.home().join(below_home);
    fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    fs::write(&path, content).expect("write");
    path.display().to_string()
}

#[test]
fn what_is_exposed_is_at_its_place_and_below_home_and_cannot_be_written() {
    on_each_user(|case| {
        let file = put(case, ".config/agent/settings", "plain-17\n");
        let secret = put(case, ".config/other/settings", "secret-17\n");
        let agent = case.project.home().join(".config/agent").display().to_string();
        let attack = format!(
            "cat {file} ~/.config/agent/settings; cat {secret} ~/.config/agent/../other/settings; \
             echo x > {file}; echo x > ~/.config/agent/settings; echo x > ~/.config/agent/made; rm -rf ~/.config; \
             mkdir -p ~/.config/mine && echo own > ~/.config/mine/file && cat ~/.config/mine/file"
        );
        // One in the other is shown once.
        let flags = ["--reuse-input", &format!("path={agent}"), "--reuse-input", &format!("path={file}")];
        let found = run(case, &flags, &attack);
        assert_eq!((found.code, found.stdout.as_str()), (0, "plain-17\nplain-17\nown\n"), "{found:?}");
        assert_eq!(fs::read_to_string(&file).expect("read"), "plain-17\n");
        assert_eq!(fs::read_dir(&agent).expect("a directory").count(), 1);
    });
}

#[test]
fn what_takes_a_mount_or_a_socket_starts_nothing() {
    on_each_user(|case| {
        let state = put(case, "state/file", "before\n");
        let socket = case.project.scratch().join("agent.sock");
        let _listener = UnixListener::bind(&socket).expect("bind");
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).expect("chmod");
        let socket = format!("local_integration={}", socket.display());
        let copied = format!("path={state}:rw");
        for (flag, value, part) in [
            ("--hide", "**/.env", "hidden or protected"),
            ("--protect", ".github", "hidden or protected"),
            ("--write", state.as_str(), "copies of host files"),
            ("--reuse-input", copied.as_str(), "copies of host files"),
            ("--reuse-input", socket.as_str(), "a socket of the host"),
        ] {
            let refused = run(case, &[flag, value], "echo started");
            assert_eq!((refused.code, refused.stdout.as_str()), (125, ""), "{flag} {value}: {refused:?}");
            assert!(refused.stderr.contains(part), "{flag} {value}: {refused:?}");
        }
        assert_eq!(fs::read_to_string(&state).expect("read"), "before\n");
    });
}
