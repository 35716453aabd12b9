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
    assert_eq!(place.bounds, Bounds { memory: None, pids: Some(500) });
}

#[test]
fn where_no_group_passes_on_what_is_wanted_there_is_no_place() {
    let root = tree(&[("own", &[("cgroup.procs", ""), ("cgroup.subtree_control", "io\n")])]);
    assert_eq!(version_2("0::/own\n", &mounted(&root, "cgroup2", ""), &[Controller::Memory]), None);
}
