//! Control groups: see cgroups(7). One is made for a Sandbox below this process's own, and removed after it.

mod bounds;
mod files;
mod leftovers;
mod name;
mod site;

pub(super) use files::Version;
pub(super) use site::{Controller, Site};

use isobox_domain::limit::{Limit, Limits};
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::Pid;
use site::Place;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long the kernel may take to forget processes that are dead.
const PATIENCE: Duration = Duration::from_secs(2);

/// The groups of one Sandbox: one for each hierarchy.
pub(super) struct Group(Vec<Part>);

struct Part {
    host_path: PathBuf,
    version: Version,
    controllers: Vec<Controller>,
    /// Held while the Sandbox lives: a later start removes a group that nobody holds.
    _lock: Flock<File>,
}

impl Group {
    /// Makes them at `site`, after whatever killed starts left there, and sets what is asked for.
    pub(super) fn create(site: &Site, name: &str, asked: &Limits) -> io::Result<Self> {
        let mut group = Self(Vec::new());
        let made = site.places.iter().try_for_each(|place| group.add(place, name, asked));
        match made {
            Ok(()) => Ok(group),
            Err(error) => {
                group.remove();
                Err(error)
            }
        }
    }

    fn add(&mut self, place: &Place, name: &str, asked: &Limits) -> io::Result<()> {
        leftovers::remove(place);
        let (host_path, lock) = make(&place.directory, name)?;
        let part = Part { host_path, version: place.version, controllers: place.controllers.clone(), _lock: lock };
        self.0.push(part);
        let Part { host_path, version, controllers, .. } = &self.0[self.0.len() - 1];
        files::set(host_path, *version, controllers, asked, &place.bounds)
    }

    /// Moves a process into each of them, and sees that it is there.
    pub(super) fn admit(&self, process: Pid) -> io::Result<()> {
        for part in &self.0 {
            let list = part.host_path.join("cgroup.procs");
            std::fs::write(&list, process.to_string())?;
            let found = std::fs::read_to_string(&list)?;
            if !found.lines().any(|line| line == process.to_string()) {
                return Err(io::Error::other("the stage is not in the control group that it was moved to"));
            }
        }
        Ok(())
    }

    /// The value that the kernel says is in force; `None` for what these groups do not limit.
    pub(super) fn in_force(&self, limit: Limit) -> io::Result<Option<u64>> {
        let part = self.of(Controller::of(limit));
        part.map(|part| files::in_force(&part.host_path, part.version, limit)).transpose()
    }

    fn of(&self, controller: Option<Controller>) -> Option<&Part> {
        self.0.iter().find(|part| controller.is_some_and(|controller| part.controllers.contains(&controller)))
    }

    fn read(&self, controller: Controller, what: fn(&std::path::Path, Version) -> io::Result<u64>) -> Option<u64> {
        let part = self.of(Some(controller))?;
        // A number that is not there any more, or never was on an old kernel, is not known.
        what(&part.host_path, part.version).ok()
    }

    /// How many processes were killed for want of memory.
    pub(super) fn oom_kills(&self) -> Option<u64> {
        self.read(Controller::Memory, files::oom_kills)
    }

    /// The most memory that was in use, in bytes.
    pub(super) fn peak_memory(&self) -> Option<u64> {
        self.read(Controller::Memory, files::peak_memory)
    }

    /// How often no process was made for want of room.
    pub(super) fn refused_processes(&self) -> Option<u64> {
        self.read(Controller::Pids, files::refused_processes)
    }

    /// CPU time of all processes that are or were in it, in milliseconds.
    pub(super) fn cpu_time_ms(&self) -> Option<u64> {
        self.read(Controller::CpuTime, files::cpu_time_ms)
    }

    /// Removes them. Processes that are dying have to be gone first.
    pub(super) fn remove(&self) {
        let deadline = Instant::now() + PATIENCE;
        for part in &self.0 {
            // Whatever else keeps one from being removed, a later start finds nobody who holds it, and tries again.
            while let Err(error) = std::fs::remove_dir(&part.host_path)
                && error.raw_os_error() == Some(libc::EBUSY)
                && Instant::now() < deadline
            {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

/// Makes a group of its own and holds it. One that a sweep takes for left over between both is made again.
fn make(directory: &std::path::Path, name: &str) -> io::Result<(PathBuf, Flock<File>)> {
    const TRIES: u32 = 100;
    let mut last = None;
    for attempt in 0..TRIES {
        let host_path = directory.join(name::of(name, attempt));
        match std::fs::create_dir(&host_path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                last = Some(error);
                continue;
            }
            other => other?,
        }
        let held = File::open(&host_path)
            .and_then(|opened| Flock::lock(opened, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno.into()));
        match held {
            Ok(lock) if host_path.exists() => return Ok((host_path, lock)),
            Ok(_) => {}
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AlreadyExists.into()))
}
