//! Whether this user may make control groups.

use isobox_domain::fact::Delegation;
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, faccessat};
use std::fs::read_to_string;
use std::path::Path;

/// The controllers that limits need.
const WANTED: [&str; 3] = ["cpu", "memory", "pids"];

/// Looks at this process's own groups, by `self/cgroup` in `proc` and `fs/cgroup` in `sys`. See cgroups(7).
pub(super) fn probe(proc: &Path, sys: &Path) -> Delegation {
    let groups = match read_to_string(proc.join("self/cgroup")) {
        Ok(groups) => groups,
        Err(error) => return Delegation::None(format!("this kernel tells of no control groups: {error}")),
    };
    let root = sys.join("fs/cgroup");
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    if let Some(own) = own.filter(|_| root.join("cgroup.controllers").exists()) {
        return version_2(&root.join(own));
    }
    let writable: Vec<String> =
        WANTED.into_iter().filter(|wanted| is_writable_v1(&root, &groups, wanted)).map(str::to_owned).collect();
    match writable.is_empty() {
        true => Delegation::None("version 1, and this user may make no group".to_owned()),
        false => Delegation::Version1(writable),
    }
}

fn version_2(group: &Path) -> Delegation {
    if !(may_write(group) && may_write(&group.join("cgroup.procs"))) {
        return Delegation::None("version 2, and this user may make no group below the own one".to_owned());
    }
    let controllers = read_to_string(group.join("cgroup.controllers")).unwrap_or_default();
    let there: Vec<String> =
        controllers.split_whitespace().filter(|name| WANTED.contains(name)).map(str::to_owned).collect();
    match there.is_empty() {
        true => Delegation::None("version 2, and no controller is delegated to the own group".to_owned()),
        false => Delegation::Version2(there),
    }
}

/// A line is `NUMBER:CONTROLLERS:/GROUP`.
fn is_writable_v1(root: &Path, groups: &str, wanted: &str) -> bool {
    let line = groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, group) = rest.split_once(":/")?;
        controllers.split(',').any(|name| name == wanted).then_some((controllers, group))
    });
    line.is_some_and(|(controllers, group)| may_write(&root.join(controllers).join(group)))
}

fn may_write(path: &Path) -> bool {
    faccessat(AT_FDCWD, path, AccessFlags::W_OK, AtFlags::AT_EACCESS).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn machine(groups: &str, files: &[(&str, &str)]) -> Delegation {
        let root = tempfile::tempdir().expect("a temporary directory");
        let put = |path: String, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            fs::write(path, text).expect("a file");
        };
        put("proc/self/cgroup".to_owned(), groups);
        files.iter().for_each(|(path, text)| put(format!("sys/fs/cgroup/{path}"), text));
        probe(&root.path().join("proc"), &root.path().join("sys"))
    }

    #[test]
    fn a_delegated_group_of_version_2_is_told_with_its_controllers() {
        let files = [
            ("cgroup.controllers", "cpu memory pids"),
            ("a/cgroup.procs", ""),
            ("a/cgroup.controllers", "memory pids io"),
        ];
        let expected = Delegation::Version2(vec!["memory".to_owned(), "pids".to_owned()]);
        assert_eq!(machine("0::/a\n", &files), expected);
    }

    #[test]
    fn without_controllers_nothing_is_delegated() {
        let files = [("cgroup.controllers", "cpu"), ("a/cgroup.procs", ""), ("a/cgroup.controllers", "io")];
        assert!(matches!(machine("0::/a\n", &files), Delegation::None(why) if why.contains("no controller")));
    }

    #[test]
    fn writable_groups_of_version_1_are_told() {
        let files = [("cpu,cpuacct/x/tasks", ""), ("memory/x/tasks", "")];
        let groups = "4:memory:/x\n3:pids:/gone\n2:cpu,cpuacct:/x\n0::/\n";
        assert_eq!(machine(groups, &files), Delegation::Version1(vec!["cpu".to_owned(), "memory".to_owned()]));
    }
}
