//! Watching a workload for the limits that isobox itself keeps, in a thread of its own: a caller that does not read the
//! output keeps the one that passes it on waiting.

use super::cgroup::Group;
use super::conclusion::{self, Seen};
use super::means::Force;
use super::poll::{Sum, Tree};
use super::room::Room;
use crate::protocol::{Channel, Message, Report};
use crate::supervision::PidHandle;
use isobox_domain::limit::{ExceededLimit, Limit, LimitEffect, LimitReport};
use nix::unistd::Pid;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a Stage is told to send SIGTERM to every process of the workload.
pub(crate) const TERMINATE: &[u8] = b"T";

/// How long a workload has after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);

/// How long the Stage has to end the workload before it is killed itself, and with it its namespace.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often what processes use is added up where nothing tells of it.
const POLL: Duration = Duration::from_millis(50);

/// How often control groups and file systems are looked at.
const LOOK: Duration = Duration::from_millis(100);

/// How much longer than it was to wait a thread may have slept on a busy machine. One that slept longer was stopped.
const OVERSLEPT: Duration = Duration::from_secs(1);

/// A Sandbox with limits that is being watched.
pub(crate) struct Watched {
    force: Force,
    shared: Arc<Shared>,
    /// Until it was waited for.
    thread: Option<JoinHandle<Seen>>,
}

/// What both threads know.
struct Shared {
    began: Instant,
    /// When output came last, in ms since it began; `DEAF` while nobody listens.
    heard_ms: AtomicU64,
    is_over: Mutex<bool>,
    over: Condvar,
}

/// It cannot be known whether a workload is silent while its output is passed on to a caller that may not read it.
const DEAF: u64 = u64::MAX;

impl Shared {
    /// Since when the workload is silent, in ms since it began.
    fn silent_since_ms(&self) -> u64 {
        match self.heard_ms.load(Ordering::Relaxed) {
            DEAF => self.elapsed_ms(),
            heard => heard,
        }
    }

    /// Begins idle time anew after this process was stopped: nobody listened, and what came is still to be read.
    fn restart_idle_time(&self) {
        let restart = |heard| (heard != DEAF).then(|| self.elapsed_ms());
        // Where nobody listens there is nothing to begin anew.
        self.heard_ms.fetch_update(Ordering::Relaxed, Ordering::Relaxed, restart).ok();
    }

    fn is_over(&self) -> bool {
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Waits for the end of the workload; whether it came in time.
    fn wait_for_end(&self, timeout: Duration) -> bool {
        let guard = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.over.wait_timeout_while(guard, timeout, |is_over| !*is_over);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Watched {
    /// Limits that nothing is done about yet.
    pub(crate) fn of(force: Force) -> Self {
        let shared = Shared {
            began: Instant::now(),
            heard_ms: AtomicU64::new(0),
            is_over: Mutex::new(false),
            over: Condvar::new(),
        };
        Self { force, shared: Arc::new(shared), thread: None }
    }

    /// Puts them in force and begins to watch. `stage` is the Stage, which the workload is about to be started by.
    pub(crate) fn begin(
        &mut self,
        control: &Channel,
        stage: &PidHandle,
        pid: Pid,
        written: Option<&OwnedFd>,
    ) -> io::Result<()> {
        self.force.admit(pid, written)?;
        let shared = Arc::clone(&self.shared);
        let warden = Warden::new(&self.force, shared, control.try_clone()?, stage.try_clone()?, pid)?;
        self.thread = Some(std::thread::Builder::new().name("limits".to_owned()).spawn(move || warden.watch())?);
        Ok(())
    }

    /// Does what may take as long as the caller likes. Silence counts from after it.
    pub(crate) fn unheard<T>(&self, what: impl FnOnce() -> T) -> T {
        self.shared.heard_ms.store(DEAF, Ordering::Relaxed);
        let done = what();
        self.shared.heard_ms.store(self.shared.elapsed_ms(), Ordering::Relaxed);
        done
    }

    /// That the workload is over, so that it runs into nothing more, however long the caller takes to read.
    pub(crate) fn over(&self) {
        *self.shared.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.over.notify_all();
    }

    /// What is in force.
    pub(crate) fn reports(&self) -> Vec<LimitReport> {
        self.force.reports()
    }

    /// Stops watching once every process is dead: what the workload ran into.
    pub(crate) fn conclude(&mut self, report: Option<&Report>) -> Vec<ExceededLimit> {
        let seen = self.stop();
        conclusion::exceeded(&self.force, seen, report)
    }

    /// The most memory that the whole tree had in use, in bytes, if somebody counted.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        self.force.group.as_ref()?.peak_memory()
    }

    fn stop(&mut self) -> Seen {
        self.over();
        // A thread that panicked saw nothing that can be told; the panic is on standard error.
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }

    /// Removes what was made for it, once the last process is dead.
    pub(crate) fn dissolve(&mut self) {
        self.stop();
        self.force.dissolve();
    }
}

/// The thread that watches.
struct Warden {
    shared: Arc<Shared>,
    control: Channel,
    stage: PidHandle,
    time_ms: Option<u64>,
    idle_ms: Option<u64>,
    cpu_ms: Option<u64>,
    memory_bytes: Option<u64>,
    /// What isobox adds up itself: the most of each, where nothing else keeps it.
    polled: Option<Polled>,
    group: Option<Arc<Group>>,
    room: Option<OwnedFd>,
    /// What is in there.
    written_bytes: u64,
    seen: Seen,
}

struct Polled {
    tree: Tree,
    memory_bytes: Option<u64>,
    tasks: Option<u64>,
    /// Whether CPU time is added up, too.
    is_timed: bool,
}

impl Warden {
    fn new(force: &Force, shared: Arc<Shared>, control: Channel, stage: PidHandle, pid: Pid) -> io::Result<Self> {
        let asked = |limit| force.asked.of(limit);
        let polled_only = |limit: Limit| asked(limit).filter(|_| force.is_polled(limit));
        let (memory_bytes, tasks) =
            (polled_only(Limit::Memory), asked(Limit::Processes).filter(|_| force.is_sampled()));
        let is_timed = polled_only(Limit::CpuTime).is_some();
        let is_polled = memory_bytes.is_some() || tasks.is_some() || is_timed;
        let polled = is_polled.then(|| Polled { tree: Tree::below(pid.as_raw()), memory_bytes, tasks, is_timed });
        Ok(Self {
            shared,
            control,
            stage,
            time_ms: asked(Limit::Time),
            idle_ms: asked(Limit::IdleTime),
            cpu_ms: asked(Limit::CpuTime),
            memory_bytes: force.value(Limit::Memory),
            polled,
            group: force.group.clone(),
            room: force.room.as_ref().map(OwnedFd::try_clone).transpose()?,
            written_bytes: 0,
            seen: Seen { hard_tasks: force.is_polled(Limit::Processes), ..Seen::default() },
        })
    }

    fn watch(mut self) -> Seen {
        loop {
            if let Some(breach) = self.look() {
                if !self.is_over() {
                    self.end_workload(&breach);
                    self.seen.breach = Some(breach);
                }
                return self.seen;
            }
            let (before, pause) = (Instant::now(), self.pause());
            if self.shared.wait_for_end(pause) {
                return self.seen;
            }
            if before.elapsed() > pause.saturating_add(OVERSLEPT) {
                self.shared.restart_idle_time();
            }
        }
    }

    /// Whether the workload has ended, though the other thread may still be passing on what it wrote.
    fn is_over(&self) -> bool {
        let has_said = || self.control.peek().as_deref().and_then(Message::decode).is_some_and(|said| said.is_last());
        self.shared.is_over() || has_said()
    }

    /// How long nothing has to be looked at.
    fn pause(&self) -> Duration {
        let now = self.shared.elapsed_ms();
        let left = |deadline: u64| Duration::from_millis(deadline.saturating_sub(now).max(1));
        let heard = self.shared.silent_since_ms();
        let times = [self.time_ms.map(left), self.idle_ms.map(|idle| left(heard.saturating_add(idle)))];
        let polls = [self.polled.as_ref().map(|_| POLL), (self.group.is_some() || self.room.is_some()).then_some(LOOK)];
        times.into_iter().chain(polls).flatten().min().unwrap_or(Duration::from_secs(3600))
    }

    /// A limit that the workload is over.
    fn look(&mut self) -> Option<ExceededLimit> {
        if let Some(room) = self.room.as_ref().and_then(Room::look) {
            self.written_bytes = room.used_bytes;
            self.seen.was_full |= room.is_full();
            self.seen.had_no_inode |= room.has_no_inode();
        }
        self.late().or_else(|| self.out_of_memory()).or_else(|| self.over_sum())
    }

    fn late(&self) -> Option<ExceededLimit> {
        let (heard, now) = (self.shared.silent_since_ms(), self.shared.elapsed_ms());
        let over = |limit, most: Option<u64>, observed: u64| {
            most.filter(|most| observed >= *most).map(|most| ended(limit, most, observed, "isobox's timer"))
        };
        over(Limit::Time, self.time_ms, now).or_else(|| over(Limit::IdleTime, self.idle_ms, now.saturating_sub(heard)))
    }

    fn out_of_memory(&self) -> Option<ExceededLimit> {
        let group = self.group.as_ref()?;
        group.oom_kills().filter(|kills| *kills > 0)?;
        conclusion::out_of_memory(group, self.memory_bytes?)
    }

    fn over_sum(&mut self) -> Option<ExceededLimit> {
        let counted = self.group.as_ref().and_then(|group| group.cpu_time_ms());
        let over_time = |cpu_ms: u64, most: Option<u64>, how: &str| {
            most.filter(|most| cpu_ms >= *most).map(|most| ended(Limit::CpuTime, most, cpu_ms, how))
        };
        if let Some(over) = counted.and_then(|cpu_ms| over_time(cpu_ms, self.cpu_ms, "the control group's counter")) {
            return Some(over);
        }
        let polled = self.polled.as_mut()?;
        let Sum { tasks, memory_bytes, cpu_ms } = polled.tree.look(polled.memory_bytes, self.written_bytes);
        self.seen.peak_tasks = self.seen.peak_tasks.max(tasks);
        let memory = polled.memory_bytes.filter(|most| memory_bytes > *most);
        let memory = memory.map(|most| ended(Limit::Memory, most, memory_bytes, "isobox added the processes up"));
        let too_many = polled.tasks.filter(|most| tasks > *most && self.seen.hard_tasks);
        let too_many = too_many.map(|most| ended(Limit::Processes, most, tasks, "isobox counted them"));
        let timed = self.cpu_ms.filter(|_| polled.is_timed);
        memory.or(too_many).or_else(|| over_time(cpu_ms, timed, "isobox added the processes up"))
    }

    /// Ends the workload: at once where it would take more meanwhile, else after it had time to end itself.
    fn end_workload(&self, breach: &ExceededLimit) {
        let is_patient = breach.limit.is_of_time();
        // A Stage that is gone has ended everything.
        if is_patient && self.control.send(TERMINATE).is_ok() && self.shared.wait_for_end(GRACE) {
            return;
        }
        self.control.hang_up();
        if !self.shared.wait_for_end(PATIENCE) {
            // Nothing more can be done about one that cannot be killed, and the other thread waits for it.
            self.stage.kill().ok();
        }
    }
}

fn ended(limit: Limit, value: u64, observed: u64, evidence: &str) -> ExceededLimit {
    ExceededLimit { limit, value, observed, evidence: evidence.to_owned(), effect: LimitEffect::Ended }
}
