use super::*;
use std::fs;
use tempfile::TempDir;

/// A tree of groups in which this user may make some: each path is a group, with files and what they hold.
fn tree(groups: &[(&str, &[(&str, &str)])]) -> TempDir {
    let root = tempfile::tempdir().expect("a temporary directory");
    for (group, files) in groups {
        let group = root.path().join(group);
        fs::create_dir_all(&group).expect("folders");
        for (file, text) in *files {
            fs::write(group.join(file), text).expect("a file");
        }
    }
    root
}

fn mounted(root: &TempDir, kind: &str, options: &str) -> String {
    format!("1 2 0:3 / {} rw - {kind} x rw,{options}\n", root.path().display())
}

#[test]
fn version_1_is_the_own_group_of_each_controller() {
    let root = tree(&[("a", &[("cgroup.procs", "")])]);
    let mounts = mounted(&root, "cgroup", "cpu,cpuacct");
    let find = |groups: &str, controller| version_1(groups, &mounts, controller);
    assert_eq!(find("3:cpu,cpuacct:/a\n0::/\n", Controller::Cpu), Some(root.path().join("a")));
    assert_eq!(find("3:cpu,cpuacct:/a\n", Controller::Memory), None);
    assert_eq!(find("3:cpu,cpuacct:/gone\n", Controller::Cpu), None);
}

#[test]
fn a_group_in_a_container_is_found_below_what_is_mounted() {
    let root = tree(&[("a", &[("cgroup.procs", "")])]);
    let mounts = format!("1 2 0:3 /outer {} rw - cgroup x rw,pids\n", root.path().display());
    assert_eq!(version_1("3:pids:/outer/a\n", &mounts, Controller::Pids), Some(root.path().join("a")));
    assert_eq!(version_1("3:pids:/elsewhere\n", &mounts, Controller::Pids), None);
}

#[test]
fn version_2_is_the_nearest_group_that_passes_controllers_on() {
    let passes = [("cgroup.procs", ""), ("cgroup.subtree_control", "memory pids\n")];
    let own = [("cgroup.procs", ""), ("cgroup.subtree_control", ""), ("pids.max", "500\n"), ("memory.max", "max\n")];
    let root = tree(&[("user/app", &passes), ("user/app/own", &own)]);
    let wanted = [Controller::Memory, Controller::Pids, Controller::Cpu, Controller::CpuTime];
    let place = version_2("0::/user/app/own\n", &mounted(&root, "cgroup2", ""), &wanted).expect("a place");
    assert_eq!(place.directory, root.path().join("user/app"));
    assert_eq!(place.controllers, [Controller::Memory, Controller::Pids, Controller::CpuTime]);
    // What limited the own group limits what is moved out of it.
    assert_eq!(place.bounds, Bounds { pids: Some(500), ..Bounds::default() });
}

#[test]
fn where_no_group_passes_on_what_is_wanted_there_is_no_place() {
    let root = tree(&[("own", &[("cgroup.procs", ""), ("cgroup.subtree_control", "io\n")])]);
    assert_eq!(version_2("0::/own\n", &mounted(&root, "cgroup2", ""), &[Controller::Memory]), None);
}

/// What is written into a group that is made at the place for `asked`, where a unit and what is around it are limited.
fn made(asked: &Limits) -> Vec<(&'static str, String)> {
    let files = ["memory.max", "memory.high", "memory.swap.max", "pids.max", "cpu.max"];
    let passes = [("cgroup.procs", ""), ("cgroup.subtree_control", "cpu memory pids\n")];
    let slice = [("memory.max", "3000000\n"), ("pids.max", "max\n"), ("cpu.max", "50000 100000\n")];
    let unit = [
        ("memory.max", "4000000\n"),
        ("memory.high", "2000000\n"),
        ("memory.swap.max", "4096\n"),
        ("pids.max", "500\n"),
        ("cpu.max", "60000 50000\n"),
    ];
    let new = files.map(|file| (file, "max"));
    let root = tree(&[("app", &passes), ("app/slice", &slice), ("app/slice/unit", &unit), ("app/group", &new)]);
    let (groups, mounts) = ("0::/app/slice/unit\n", mounted(&root, "cgroup2", ""));
    let place = version_2(groups, &mounts, &Controller::wanted(asked)).expect("a place");
    assert_eq!(place.directory, root.path().join("app"));
    let group = root.path().join("app/group");
    crate::limits::cgroup::files::set(&group, Version::Two, &place.controllers, asked, &place.bounds).expect("files");
    files.map(|file| (file, fs::read_to_string(group.join(file)).expect("a file"))).into()
}

#[test]
fn what_limits_a_unit_limits_what_leaves_it_whatever_is_asked_for() {
    let expect = |asked: &[(Limit, u64)], [memory, high, swap, pids, cpu]: [&str; 5]| {
        let asked = asked.iter().fold(Limits::NONE, |asked, (limit, value)| asked.with(*limit, Some(*value)));
        let names = ["memory.max", "memory.high", "memory.swap.max", "pids.max", "cpu.max"];
        let expected: Vec<_> = names.into_iter().zip([memory, high, swap, pids, cpu].map(str::to_owned)).collect();
        assert_eq!(made(&asked), expected);
    };
    expect(&[(Limit::Processes, 40)], ["3000000", "2000000", "4096", "41", "50000 100000"]);
    expect(&[(Limit::Processes, 4000)], ["3000000", "2000000", "4096", "500", "50000 100000"]);
    expect(&[(Limit::Memory, 1_000_000)], ["1000000", "2000000", "0", "500", "50000 100000"]);
    expect(&[(Limit::Cpu, 200)], ["3000000", "2000000", "4096", "500", "20000 100000"]);
}
