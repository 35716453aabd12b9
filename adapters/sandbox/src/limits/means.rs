//! By what each limit holds on this machine, and what is in force.

use super::cgroup::{Controller, Group, Site, Version};
use super::poll;
use super::rlimit::{self, Rlimit};
use super::room::Room;
use isobox_domain::enforcement::Enforcement;
use isobox_domain::limit::{Limit, LimitReport, Limits};
use nix::sys::utsname::uname;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What keeps a workload from what isobox does about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Containment {
    /// Nothing.
    None,
    /// It has PID and user namespaces of its own.
    Namespaces,
}

/// Whether what the workload writes into the Workspace lies in memory, of a given size; or why not.
pub(crate) type Upper = Result<(), String>;

/// The Stage is a process like the others where they are counted.
const STAGE: u64 = 1;

const UNCONTAINED: &str = "nothing keeps the workload from changing or escaping it on this backend";

/// What would hold of `asked`; nothing is made for it.
pub(crate) fn forecast(asked: &Limits, containment: Containment, upper: impl FnOnce() -> Upper) -> Vec<LimitReport> {
    let is_about_disk = asked.of(Limit::Disk).or(asked.of(Limit::Inodes)).is_some();
    let upper = match asked.of(Limit::Disk) {
        Some(_) => upper(),
        None if is_about_disk => {
            Err("where they are counted the workspace is in memory, and needs `limits.disk`, too".to_owned())
        }
        None => Ok(()),
    };
    let site = find_site(asked);
    let means = Means { containment, site: site.as_ref().map_err(String::as_str), upper };
    reports(asked, &means, |limit| asked.of(limit))
}

/// Each limit that a control group would hold here, with the version that it takes; the error says why there is none.
pub(crate) fn places() -> Result<Vec<String>, String> {
    const LIMITS: [Limit; 4] = [Limit::Memory, Limit::Processes, Limit::Cpu, Limit::CpuTime];
    let all = LIMITS.into_iter().fold(Limits::NONE, |all, limit| all.with(limit, Some(1)));
    let site = Site::find(&Controller::wanted(&all))?;
    let version = |limit| Controller::of(limit).and_then(|controller| site.version_of(controller));
    Ok(LIMITS.into_iter().filter_map(|limit| Some(format!("{} by {}", limit.name(), version(limit)?.name()))).collect())
}

fn find_site(asked: &Limits) -> Result<Site, String> {
    let wanted = Controller::wanted(asked);
    if wanted.is_empty() { Err(String::new()) } else { Site::find(&wanted) }
}

/// What there is to hold limits with.
struct Means<'a> {
    containment: Containment,
    /// The control groups that can be made, or why none can.
    site: Result<&'a Site, &'a str>,
    upper: Upper,
}

/// What holds a limit.
enum By {
    Timer,
    EachProcess,
    Group(Controller, Version),
    /// isobox adds up what all processes use, because nothing better is there, for this reason.
    Polling(String),
    OwnUsers,
    Size,
    /// Whoever keeps the output.
    Keeper,
    /// Nothing, for this reason.
    Nothing(String),
}

impl By {
    fn enforcement(self, limit: Limit) -> Enforcement {
        let by = |mechanism: &str| Enforcement::Enforced { mechanism: mechanism.to_owned() };
        match self {
            Self::Timer => by("isobox's timer; SIGTERM, then SIGKILL for the whole tree"),
            Self::EachProcess => by("setrlimit, for each process"),
            Self::Group(Controller::CpuTime, version) => {
                by(&format!("isobox's timer on what {} counts", version.name()))
            }
            Self::Group(controller, version) => by(&format!("{} controller of {}", controller.name(), version.name())),
            Self::OwnUsers => by("RLIMIT_NPROC in a user namespace of its own"),
            Self::Size => by("workspace in a file system in memory, of that size"),
            Self::Keeper => by("isobox keeps no more, and counts the rest"),
            Self::Polling(why) => polling(limit, &why),
            Self::Nothing(reason) => Enforcement::NotEnforced { reason },
        }
    }
}

fn polling(limit: Limit, why: &str) -> Enforcement {
    let (mechanism, unseen) = match limit {
        Limit::CpuTime => (
            "setrlimit, for each process, and isobox adds them up 20 times a second",
            "children that nobody waits for are not counted once they are gone",
        ),
        Limit::Memory => (
            "isobox adds the processes and their files in memory up, 20 times a second",
            "what is taken in between, and what the kernel keeps for them, is not seen",
        ),
        _ => (
            "isobox counts them, 20 times a second, and RLIMIT_NPROC counts them among all of the user",
            "there can be more for a moment, and of root any number",
        ),
    };
    Enforcement::PartiallyEnforced { mechanism: mechanism.to_owned(), reason: format!("{unseen}: {why}") }
}

impl Means<'_> {
    fn controls(&self, controller: Controller) -> Result<Version, String> {
        match self.site {
            Ok(site) => site.version_of(controller).ok_or_else(|| site.why_not(controller)),
            Err(why) => Err(why.to_owned()),
        }
    }

    /// What holds a limit, the best that there is.
    fn by(&self, limit: Limit) -> By {
        let controlled =
            |controller: Controller| self.controls(controller).map(|version| By::Group(controller, version));
        match limit {
            Limit::Time | Limit::IdleTime => By::Timer,
            Limit::OpenFiles | Limit::FileSize => By::EachProcess,
            Limit::Memory => controlled(Controller::Memory).unwrap_or_else(By::Polling),
            Limit::Cpu => controlled(Controller::Cpu).unwrap_or_else(By::Nothing),
            Limit::CpuTime => controlled(Controller::CpuTime).unwrap_or_else(By::Polling),
            Limit::Processes => match controlled(Controller::Pids) {
                Err(_) if self.counts_own_processes() => By::OwnUsers,
                other => other.unwrap_or_else(By::Polling),
            },
            Limit::Disk | Limit::Inodes => self.upper.clone().map_or_else(By::Nothing, |()| By::Size),
            Limit::Output => By::Keeper,
        }
    }

    /// Whether RLIMIT_NPROC counts the Sandbox's processes alone: for a user of a namespace since Linux 5.14, and for
    /// root of the host never.
    fn counts_own_processes(&self) -> bool {
        self.containment == Containment::Namespaces && !nix::unistd::geteuid().is_root() && is_kernel_from(5, 14)
    }
}

fn is_kernel_from(major: u32, minor: u32) -> bool {
    let Ok(found) = uname() else { return false };
    let release = found.release().to_string_lossy().into_owned();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse::<u32>().ok());
    numbers.next().zip(numbers.next()) >= Some((major, minor))
}

fn reports(asked: &Limits, means: &Means<'_>, applied: impl Fn(Limit) -> Option<u64>) -> Vec<LimitReport> {
    let kept_elsewhere = |limit| limit == Limit::Output;
    let report = |(limit, asked)| {
        let enforcement = match (means.containment, means.by(limit).enforcement(limit)) {
            (Containment::None, Enforcement::Enforced { mechanism }) => {
                Enforcement::PartiallyEnforced { mechanism, reason: UNCONTAINED.to_owned() }
            }
            (Containment::None, Enforcement::PartiallyEnforced { mechanism, reason }) => {
                Enforcement::PartiallyEnforced { mechanism, reason: format!("{reason}; and {UNCONTAINED}") }
            }
            (_, enforcement) => enforcement,
        };
        let is_applied = !matches!(enforcement, Enforcement::NotEnforced { .. });
        LimitReport { limit, asked, applied: applied(limit).filter(|_| is_applied), enforcement }
    };
    asked.iter().filter(|(limit, _)| !kept_elsewhere(*limit)).map(report).collect()
}

/// The limits of one Sandbox, from before its first process to after its last.
pub(crate) struct Force {
    pub(super) asked: Limits,
    containment: Containment,
    site: Result<Site, String>,
    pub(super) group: Option<Arc<Group>>,
    upper: Upper,
    pub(super) room: Option<OwnedFd>,
    pub(super) rlimits: Vec<Rlimit>,
    applied: Limits,
}

impl Force {
    /// Prepares for a Sandbox of this name; makes control groups if any are needed and can be made.
    pub(crate) fn prepare(asked: &Limits, containment: Containment, upper: Upper, name: &str) -> Self {
        let site = find_site(asked);
        let made = site.and_then(|site| match Group::create(&site, name, asked) {
            Ok(group) => Ok((site, group)),
            Err(error) => Err(format!("no control group could be made: {error}")),
        });
        let (site, group) = match made {
            Ok((site, group)) => (Ok(site), Some(Arc::new(group))),
            Err(why) => (Err(why), None),
        };
        let mut force =
            Self { asked: *asked, containment, site, group, upper, room: None, rlimits: Vec::new(), applied: *asked };
        let by = force.means().by(Limit::Processes);
        let processes = asked.of(Limit::Processes).and_then(|most| match by {
            By::OwnUsers => Some(most.saturating_add(STAGE)),
            // Too many for a moment is a great many, where each makes two more: they are counted with all others of the user.
            By::Polling(_) => Some(poll::tasks_of_user()?.saturating_add(most).saturating_add(STAGE)),
            _ => None,
        });
        force.rlimits = rlimit::wanted(asked, processes);
        force
    }

    /// What the Stage sets before it starts the workload.
    pub(crate) fn rlimits(&self) -> Vec<Rlimit> {
        self.rlimits.clone()
    }

    /// Takes the Stage in, which has no children yet, and reads back what is in force. `room` is the directory that what
    /// is written lies in, if that is in memory.
    pub(crate) fn admit(&mut self, stage: nix::unistd::Pid, room: Option<&OwnedFd>) -> io::Result<()> {
        self.room = room.map(OwnedFd::try_clone).transpose()?;
        if let Some(group) = &self.group {
            group.admit(stage)?;
        }
        for (limit, _) in self.asked.iter() {
            let read_back = match limit {
                Limit::Memory | Limit::Cpu | Limit::Processes => match &self.group {
                    Some(group) => group.in_force(limit)?,
                    None => None,
                },
                Limit::OpenFiles | Limit::FileSize => rlimit::applied(&self.rlimits, limit),
                Limit::Disk => self.room.as_ref().and_then(Room::look).map(|room| room.bytes),
                Limit::Inodes => self.room.as_ref().and(self.asked.of(limit)),
                Limit::Time | Limit::IdleTime | Limit::CpuTime | Limit::Output => None,
            };
            if let Some(value) = read_back {
                self.applied = self.applied.with(limit, Some(value));
            }
        }
        Ok(())
    }

    fn means(&self) -> Means<'_> {
        Means {
            containment: self.containment,
            site: self.site.as_ref().map_err(String::as_str),
            upper: self.upper.clone(),
        }
    }

    /// What is in force.
    pub(crate) fn reports(&self) -> Vec<LimitReport> {
        reports(&self.asked, &self.means(), |limit| self.applied.of(limit))
    }

    /// Whether isobox adds up what a limit is about, because nothing better is there.
    pub(super) fn is_polled(&self, limit: Limit) -> bool {
        self.asked.of(limit).is_some() && matches!(self.means().by(limit), By::Polling(_))
    }

    /// Whether nobody but isobox counts processes, and so knows whether their limit was reached.
    pub(super) fn is_sampled(&self) -> bool {
        let by = self.means().by(Limit::Processes);
        self.asked.of(Limit::Processes).is_some() && matches!(by, By::Polling(_) | By::OwnUsers)
    }

    /// The value in force of a limit that was asked for.
    pub(super) fn value(&self, limit: Limit) -> Option<u64> {
        self.applied.of(limit)
    }

    /// Removes what was made, once every process is dead. What cannot be removed is left for a later start.
    pub(crate) fn dissolve(&mut self) {
        if let Some(group) = self.group.take() {
            group.remove();
        }
    }
}

impl Drop for Force {
    fn drop(&mut self) {
        self.dissolve();
    }
}
