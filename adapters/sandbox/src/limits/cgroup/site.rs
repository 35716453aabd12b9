//! Where control groups can be made: below this process's own, or as near to that as this user may.

use super::bounds::Bounds;
use super::files::Version;
use isobox_domain::limit::{Limit, Limits};
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, faccessat};
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// What a group can do about a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Controller {
    Memory,
    Pids,
    Cpu,
    /// Counts CPU time.
    CpuTime,
}

impl Controller {
    const ALL: [Self; 4] = [Self::Memory, Self::Pids, Self::Cpu, Self::CpuTime];

    /// Those that `asked` needs.
    pub(crate) fn wanted(asked: &Limits) -> Vec<Self> {
        let is_wanted = |controller: &Self| asked.iter().any(|(limit, _)| Self::of(limit) == Some(*controller));
        Self::ALL.into_iter().filter(is_wanted).collect()
    }

    /// The one for a limit.
    pub(crate) const fn of(limit: Limit) -> Option<Self> {
        match limit {
            Limit::Memory => Some(Self::Memory),
            Limit::Processes => Some(Self::Pids),
            Limit::Cpu => Some(Self::Cpu),
            Limit::CpuTime => Some(Self::CpuTime),
            _ => None,
        }
    }

    /// Its name in version 1.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Cpu => "cpu",
            Self::CpuTime => "cpuacct",
        }
    }
}

/// A directory in which a group can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) directory: PathBuf,
    /// The group of this process: the same, or one in it.
    pub(crate) own: PathBuf,
    pub(crate) version: Version,
    pub(crate) controllers: Vec<Controller>,
    pub(crate) bounds: Bounds,
}

/// Where the groups of a Sandbox can be made: one for each hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) places: Vec<Place>,
}

impl Site {
    /// Looks where `wanted` can be had; the error says why none of it can.
    pub(crate) fn find(wanted: &[Controller]) -> Result<Self, String> {
        let groups = read_to_string("/proc/self/cgroup");
        let groups = groups.map_err(|error| format!("this kernel tells of no control groups: {error}"))?;
        let mounts =
            read_to_string("/proc/self/mountinfo").map_err(|error| format!("read /proc/self/mountinfo: {error}"))?;
        let mut places = Vec::new();
        let mut left: Vec<Controller> = Vec::new();
        for controller in wanted {
            match version_1(&groups, &mounts, *controller) {
                Some(directory) => add(&mut places, directory, *controller),
                None => left.push(*controller),
            }
        }
        places.extend(version_2(&groups, &mounts, &left));
        match places.is_empty() {
            true => Err("this user may make no control group here".to_owned()),
            false => Ok(Self { places }),
        }
    }

    /// In which version a controller can be had.
    pub(crate) fn version_of(&self, controller: Controller) -> Option<Version> {
        self.places.iter().find(|place| place.controllers.contains(&controller)).map(|place| place.version)
    }

    /// Why a controller cannot be had, if it cannot.
    pub(crate) fn why_not(&self, controller: Controller) -> String {
        format!("this user may make no control group with the controller `{}` here", controller.name())
    }
}

// Controllers may share a hierarchy, as `cpu,cpuacct` often do.
fn add(places: &mut Vec<Place>, directory: PathBuf, controller: Controller) {
    match places.iter_mut().find(|place| place.directory == directory) {
        Some(place) => place.controllers.push(controller),
        None => {
            let (version, bounds) = (Version::One, Bounds::default());
            places.push(Place { own: directory.clone(), directory, version, controllers: vec![controller], bounds });
        }
    }
}

/// A line of proc_pid_mountinfo(5), as far as it matters here.
struct Mount<'a> {
    root: &'a str,
    point: &'a Path,
    options: &'a str,
}

fn mounts_of<'a>(mounts: &'a str, kind: &'a str) -> impl Iterator<Item = Mount<'a>> {
    mounts.lines().filter_map(move |line| {
        let (front, back) = line.split_once(" - ")?;
        let (front, back): (Vec<_>, Vec<_>) = (front.split(' ').collect(), back.split(' ').collect());
        let is_of_kind = back.first() == Some(&kind);
        let mount = Mount { root: front.get(3)?, point: Path::new(*front.get(4)?), options: back.get(2)? };
        is_of_kind.then_some(mount)
    })
}

/// This process's own group as a directory, below a mount that shows it.
fn own_directory(mount: &Mount<'_>, group: &str) -> Option<PathBuf> {
    let below = if mount.root == "/" { group } else { group.strip_prefix(mount.root)? };
    Some(mount.point.join(below.trim_start_matches('/')))
}

/// The own group of version 1 for a controller, if groups can be made in it. A line is `NUMBER:CONTROLLERS:/GROUP`.
fn version_1(groups: &str, mounts: &str, controller: Controller) -> Option<PathBuf> {
    let named = |list: &str| list.split(',').any(|name| name == controller.name());
    let group = groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, group) = rest.split_once(':')?;
        named(controllers).then_some(group)
    })?;
    let mount = mounts_of(mounts, "cgroup").find(|mount| named(mount.options))?;
    own_directory(&mount, group).filter(|directory| may_make_in(directory))
}

/// The nearest group of version 2 in which one with `wanted` can be made: the own one, or one around it that passes the
/// controllers on. A group with processes in it passes none on: cgroups(7), "no internal processes".
fn version_2(groups: &str, mounts: &str, wanted: &[Controller]) -> Option<Place> {
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mount = mounts_of(mounts, "cgroup2").next()?;
    let own = own_directory(&mount, group)?;
    let mut bounds = Bounds::default();
    for directory in own.ancestors().take_while(|directory| directory.starts_with(mount.point)) {
        let passed_on = read_to_string(directory.join("cgroup.subtree_control")).unwrap_or_default();
        let is_had = |controller: &Controller| {
            *controller == Controller::CpuTime || passed_on.split_whitespace().any(|name| name == controller.name())
        };
        let controllers: Vec<_> = wanted.iter().copied().filter(is_had).collect();
        let is_enough =
            controllers.iter().any(|controller| *controller != Controller::CpuTime) || wanted == [Controller::CpuTime];
        if is_enough && may_make_in(directory) {
            let directory = directory.to_owned();
            return Some(Place { directory, own: own.clone(), version: Version::Two, controllers, bounds });
        }
        // Whoever moves on is no longer bound by this one.
        bounds.lower_to(directory);
    }
    None
}

/// To move a process, its list has to be writable in what lies around both groups, which is this one or one around it.
fn may_make_in(directory: &Path) -> bool {
    let may_write = |path: &Path| faccessat(AT_FDCWD, path, AccessFlags::W_OK, AtFlags::AT_EACCESS).is_ok();
    may_write(directory) && may_write(&directory.join("cgroup.procs"))
}

#[cfg(test)]
mod tests;
