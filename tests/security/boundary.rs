//! Promise: what the record calls enforced holds from inside, and what does not hold is called so.

use isobox_tests::{Backend, Case, Outcome, outcome};
use std::fs;
use std::os::unix::net::UnixListener;
use std::process::Stdio;

isobox_tests::promises! {
    every: [
        descriptors_of_the_caller_do_not_reach_the_workload,
        home_and_tmp_are_private_and_usable,
    ],
    containing: [
        no_capability_is_left_to_the_workload,
        host_secrets_and_host_files_are_not_there,
        the_trusted_repository_the_store_and_the_workspaces_directory_are_not_visible_inside,
        processes_of_the_host_are_neither_seen_nor_signalled,
        every_namespace_is_the_sandboxs_own,
        abstract_and_file_sockets_of_the_host_are_out_of_reach,
        a_denied_network_has_nothing_but_its_own_loopback,
        no_host_path_shows_inside,
        the_controlling_terminal_is_not_shared,
    ],
    bubblewrap: [
        a_missing_backend_is_named_and_nothing_weaker_is_used,
    ],
    host: [
        the_host_backend_says_that_it_contains_nothing,
    ],
}

/// What a script prints inside.
fn inside(case: &Case, script: &str) -> String {
    case.run(script).stdout
}

fn no_capability_is_left_to_the_workload(case: &Case) {
    let status = inside(case, "grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status");
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert!(status.contains(&format!("{set}:\t0000000000000000")), "{status}");
    }
    assert!(status.contains("NoNewPrivs:\t1") && status.contains("Seccomp:\t2"), "{status}");
}

fn host_secrets_and_host_files_are_not_there(case: &Case) {
    fs::write(case.project.home().join("secret"), "host-secret-17").expect("write");
    let run = case.run(&format!(
            "cat /etc/shadow; cat {0}/secret; ls {0}; ls /root /run /var/run /boot; ls /home; cat /proc/sys/kernel/core_pattern > /dev/null; echo 1 > /proc/sys/kernel/core_pattern; mount -o remount,rw /etc; true",
            case.project.home().display()
        ));
    assert!(!run.stdout.contains("root:") && !run.stdout.contains("host-secret-17"), "{run:?}");
    assert!(!run.stdout.contains("docker.sock"), "{run:?}");
}

fn the_trusted_repository_the_store_and_the_workspaces_directory_are_not_visible_inside(case: &Case) {
    let found = inside(
        case,
        "find / -xdev \\( -name 'lane-*.pack' -o -name FORMAT -path '*isobox*' \\) 2> /dev/null; mount | grep -c isobox/store",
    );
    assert!(!found.contains("lane-") && !found.contains("FORMAT"), "{found}");
    let repository = case.project.repository();
    let seen = inside(case, &format!("ls {} 2>&1", repository.display()));
    assert!(!seen.contains("README.md"), "{seen}");
}

fn descriptors_of_the_caller_do_not_reach_the_workload(case: &Case) {
    fs::write(case.project.home().join("secret"), "host-secret-17").expect("write");
    let secret = case.project.home().join("secret");
    let isobox = isobox_tests::isobox_program();
    let script = format!(
        "exec 7< {}; exec 33<&7; exec {} run --backend {} -- sh -c 'ls /proc/self/fd; cat <&7; cat <&33'",
        secret.display(),
        isobox.display(),
        case.backend.name()
    );
    let mut command = case.project.command("bash");
    let run = outcome(command.args(["-c", &script]).stdin(Stdio::null()).output().expect("run bash"));
    assert!(!run.stdout.contains("host-secret-17"), "{run:?}");
    assert!(!run.stdout.lines().any(|line| line == "7" || line == "33"), "{run:?}");
}

fn processes_of_the_host_are_neither_seen_nor_signalled(case: &Case) {
    let seen = inside(case, "ls /proc | grep -c '^[0-9]'; readlink /proc/self/ns/pid");
    let count: u32 = seen.lines().next().and_then(|line| line.parse().ok()).expect("a number");
    assert!(count < 8, "{seen}");
    let own = fs::read_link("/proc/self/ns/pid").expect("a link");
    assert!(!seen.contains(&*own.to_string_lossy()), "{seen}");
}

fn every_namespace_is_the_sandboxs_own(case: &Case) {
    for namespace in ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"] {
        let inner = inside(case, &format!("readlink /proc/self/ns/{namespace}"));
        let outer = fs::read_link(format!("/proc/self/ns/{namespace}")).expect("a link");
        assert!(inner.starts_with(namespace) || inner.starts_with("mnt"), "{inner}");
        assert_ne!(inner.trim(), outer.to_string_lossy(), "{namespace}");
    }
}

fn abstract_and_file_sockets_of_the_host_are_out_of_reach(case: &Case) {
    let path = case.project.home().join("agent.sock");
    let _listener = UnixListener::bind(&path).expect("bind");
    let run = case.run(&format!("cat /proc/net/unix; ls -l {} /tmp/.X11-unix /run/user", path.display()));
    assert!(!run.stdout.contains("agent.sock"), "{run:?}");
    let environment = inside(case, "env");
    for name in ["SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "DOCKER_HOST"] {
        assert!(!environment.contains(name), "{environment}");
    }
}

fn a_denied_network_has_nothing_but_its_own_loopback(case: &Case) {
    let run = case.run("cat /proc/net/dev; cat /proc/net/route; cat /sys/class/net/*/address");
    let interfaces: Vec<&str> =
        run.stdout.lines().filter_map(|line| line.split_once(':').map(|(name, _)| name.trim())).collect();
    assert!(interfaces.iter().all(|name| *name == "lo" || name.len() == 2), "{run:?}");
    assert!(case.record().to_string().contains("network namespace"));
}

fn no_host_path_shows_inside(case: &Case) {
    let repository = case.project.repository();
    let seen = inside(
        case,
        "tr '\\0' '\\n' < /proc/1/cmdline; cat /proc/*/cmdline | tr '\\0' '\\n'; cat .git/config; env; readlink /proc/1/exe /proc/1/cwd; pwd; cat .git/HEAD .git/logs/HEAD 2> /dev/null",
    );
    for host_path in [repository.to_string_lossy(), case.project.home().to_string_lossy()] {
        assert!(!seen.contains(&*host_path), "{seen}");
    }
    assert!(!seen.contains("isobox-test-"), "{seen}");
    assert!(seen.contains("/workspace"), "{seen}");
}

fn home_and_tmp_are_private_and_usable(case: &Case) {
    let run = case.run(r#"test -n "$HOME" && echo x > "$HOME/probe" && echo y > /tmp/isobox-probe-$$ && cat "$HOME/probe" && rm /tmp/isobox-probe-$$"#);
    assert_eq!((run.code, run.stdout.as_str()), (0, "x\n"), "{run:?}");
    // On `host` the workload is not contained, and HOME is the user's own.
    let is_contained = case.backend != Backend::Host;
    assert_eq!(case.project.home().join("probe").exists(), !is_contained);
}

fn the_controlling_terminal_is_not_shared(case: &Case) {
    let run = case.run("echo x > /dev/tty && echo reached; ps -o tty= -p $$ 2> /dev/null; true");
    assert!(!run.stdout.contains("reached"), "{run:?}");
}

fn a_missing_backend_is_named_and_nothing_weaker_is_used(case: &Case) {
    let bin = case.project.home().join("bin");
    fs::create_dir(&bin).expect("a folder");
    let mark = case.marks().join("ran");
    let policy =
        case.project.read(".isobox/config.yaml").replace("runtime_backend: auto", "runtime_backend: bubblewrap");
    assert!(policy.contains("runtime_backend: bubblewrap"), "{policy}");
    case.project.write_policy(&policy);
    case.project.commit_all("Name a backend");
    for arguments in [vec!["tool", "--"], vec!["run", "--backend", "bubblewrap", "--"], vec!["run", "--"]] {
        let script = format!("touch {}", mark.display());
        let mut command = case.project.isobox_command(&arguments);
        let run: Outcome = outcome(command.args(["/bin/sh", "-c", &script]).env("PATH", &bin).output().expect("run"));
        assert_eq!(run.code, 125, "{run:?}");
        assert!(run.stderr.contains("bwrap") && run.stderr.contains("hint:"), "{run:?}");
    }
    case.assert_unmarked();
}

fn the_host_backend_says_that_it_contains_nothing(case: &Case) {
    let run = case.run_well("true");
    let record = case.record();
    let policy = record["effective_policy"].to_string();
    assert!(policy.contains("not_enforced"), "{policy}");
    for control in ["filesystem", "network", "credentials"] {
        let said = policy.contains(control);
        assert!(said, "{control} in {policy}");
    }
    assert!(!policy.contains("\"enforced\"") || policy.contains("environment"), "{policy}");
    drop(run);
    let tool_lines = case.run_well("true").stderr;
    assert!(tool_lines.contains("not_enforced"), "{tool_lines}");
}
