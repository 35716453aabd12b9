//! How overlays are mounted here: found by mounting one in a real Sandbox, and remembered.

use crate::memory::{Memory, circumstances};
use crate::obstacles;
use crate::overlay::forget_last_mount;
use crate::stage::devices;
use crate::supervision::{RunningSandbox, reason_of};
use isobox_domain::command::WorkloadCommand;
use isobox_domain::escape::Escaped;
use isobox_domain::outcome::Exit;
use isobox_domain::policy::{EffectivePolicy, SandboxPolicy};
use isobox_ports::{
    Content, EndCause, Exposed, Filled, Flow, LaunchError, LaunchRequest, MemorySize, Overlay, OverlayKind,
    RuntimeBackend, Sandbox, Streams, WorkspaceMount,
};
use std::collections::HashMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long it is believed that none can be mounted. What works is tried by every launch anyway.
const REFUSAL_HOLDS: Duration = Duration::from_secs(60 * 60);

/// Deletes a file and replaces a directory, neither of which is in the upper: without marks of both kinds there, they would
/// still be there for whoever looks into it.
const TRIAL: &str = "rm file && rm -r directory && mkdir directory && echo made > directory/made";

/// How the names of directories for trials begin, and how old one is that no trial works in any more.
const TRIAL_PREFIX: &str = ".overlay-";
const LONGEST_TRIAL: Duration = Duration::from_secs(10 * 60);

type Answer = Result<OverlayKind, String>;

/// A backend that mounts overlays.
pub(crate) trait Mounts: RuntimeBackend {
    /// The program that starts its Sandboxes, or why there is none.
    fn program(&self) -> Result<&Path, String>;

    /// Starts a workload as `launch` does, and forgets nothing if that fails.
    fn start(
        &self,
        request: &LaunchRequest<'_>,
        fill: &mut dyn FnMut() -> Filled,
    ) -> Result<RunningSandbox, LaunchError>;

    /// Forgets what was found out.
    fn forget(&self);

    /// Finds out anew whether Sandboxes come up as was found out before; if not, why, and what to do about it.
    fn look_again(&self) -> Result<(), String>;

    /// The same as `start`, and what was found out is forgotten if that fails. If it holds no more, that is why.
    fn start_or_forget(
        &self,
        request: &LaunchRequest<'_>,
        fill: &mut dyn FnMut() -> Filled,
    ) -> Result<Box<dyn Sandbox>, LaunchError> {
        let started = self.start(request, fill);
        if let Err(LaunchError::Refused { .. } | LaunchError::Io { .. }) = &started {
            self.forget();
            self.look_again().map_err(|reason| LaunchError::Refused { backend: self.name(), reason })?;
        }
        Ok(Box::new(started?))
    }
}

/// What was found out, by this process and by earlier ones.
#[derive(Debug, Default)]
pub(crate) struct Overlays {
    /// The directory of the memories, and how their names begin.
    kept: Option<(PathBuf, String)>,
    found: Mutex<HashMap<Option<PathBuf>, Answer>>,
}

impl Overlays {
    /// Remembers in a cache directory, which may not exist yet, in files whose names begin with `name`.
    pub(crate) fn remembering(cache_directory: &Path, name: &str) -> Self {
        Self { kept: Some((cache_directory.to_owned(), name.to_owned())), found: Mutex::default() }
    }

    /// What is remembered of one place; of another one there is another memory, or each would displace the other's.
    fn memory(&self, at: Option<&Path>) -> Option<Memory> {
        let (directory, name) = self.kept.as_ref()?;
        let place = at.map(|at| at.file_name().unwrap_or_default().to_string_lossy().into_owned());
        Some(Memory::within(directory, &format!("{name}-{}", place.as_deref().unwrap_or("in-memory"))))
    }

    /// How they are mounted where their uppers lie below `at`, or in memory.
    pub(crate) fn kind(&self, backend: &dyn Mounts, at: Option<&Path>) -> Answer {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let place = at.map(Path::to_owned);
        if let Some(answer) = found.get(&place) {
            return answer.clone();
        }
        let answer = self.recall_or_try(backend, at);
        found.insert(place, answer.clone());
        answer
    }

    /// What came of it where they are written below `at`, as far as that is remembered. Tries nothing, and makes nothing.
    pub(crate) fn remembered(&self, backend: &dyn Mounts, at: &Path) -> Option<Answer> {
        let here = here(backend.program().ok()?, Some(identity(at).ok()?))?;
        recall(&self.memory(Some(at))?, &here)
    }

    /// Forgets everything.
    pub(crate) fn forget(&self) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.drain().filter_map(|(place, _)| self.memory(place.as_deref())).for_each(|memory| memory.forget());
    }

    fn recall_or_try(&self, backend: &dyn Mounts, at: Option<&Path>) -> Answer {
        let program = backend.program()?;
        let place = at.map(prepare).transpose()?;
        let here = here(program, place);
        let memory = self.memory(at).zip(here);
        if let Some(answer) = memory.as_ref().and_then(|(memory, here)| recall(memory, here)) {
            return answer;
        }
        let answer = match at {
            Some(at) => try_each(|kind| try_on_disk(backend, at, kind)),
            None => try_each(|kind| try_in_memory(backend, kind)),
        };
        memory.inspect(|(memory, here)| memory.keep(here, &encode(&answer)));
        answer
    }
}

/// What a directory is known by.
type Identity<'a> = (&'a Path, u64, u64);

/// Makes a directory if it is missing.
fn prepare(at: &Path) -> Result<Identity<'_>, String> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(at).and_then(|()| identity(at));
    made.map_err(|error| format!("use {}: {error}", Escaped::path(at)))
}

fn identity(at: &Path) -> io::Result<Identity<'_>> {
    at.metadata().map(|metadata| (at, metadata.dev(), metadata.ino()))
}

/// The circumstances of a trial at `place`, or in memory.
fn here(program: &Path, place: Option<Identity<'_>>) -> Option<String> {
    circumstances(program).ok().map(|here| format!("{place:?} {here}"))
}

/// A letter, and for a refusal its reason.
fn encode(answer: &Answer) -> String {
    match answer {
        Ok(OverlayKind::Privileged) => "P".to_owned(),
        Ok(OverlayKind::Unprivileged) => "U".to_owned(),
        Err(reason) => format!("N{reason}"),
    }
}

fn recall(memory: &Memory, here: &str) -> Option<Answer> {
    match memory.recall(here)?.as_str() {
        "P" => Some(Ok(OverlayKind::Privileged)),
        "U" => Some(Ok(OverlayKind::Unprivileged)),
        refusal => {
            let reason = refusal.strip_prefix('N')?;
            memory.age().is_some_and(|age| age < REFUSAL_HOLDS).then(|| Err(reason.to_owned()))
        }
    }
}

/// The first kind that `try_kind` says nothing against.
fn try_each(try_kind: impl Fn(OverlayKind) -> Result<(), String>) -> Answer {
    let privileged = devices::may_mount().unwrap_or(false).then_some(OverlayKind::Privileged);
    let mut refusal = None;
    for kind in privileged.into_iter().chain([OverlayKind::Unprivileged]) {
        match try_kind(kind) {
            Ok(()) => return Ok(kind),
            Err(reason) => refusal.get_or_insert(reason),
        };
    }
    Err(obstacles::with_remedy(&refusal.unwrap_or_default(), obstacles::OWN_LAUNCHER))
}

/// Mounts one in a Sandbox, and looks whether what was done in it can be read from its upper.
fn try_on_disk(backend: &dyn Mounts, at: &Path, kind: OverlayKind) -> Result<(), String> {
    let scratch = clear_away(at).and_then(|()| tempfile::Builder::new().prefix(TRIAL_PREFIX).tempdir_in(at));
    let scratch = scratch.map_err(|error| format!("make a directory in {}: {error}", Escaped::path(at)))?;
    let overlay = lay_out(scratch.path(), kind).map_err(|error| format!("lay out an overlay: {error}"))?;
    let tried = run_trial(backend, &overlay, TRIAL).and_then(|()| look(&overlay));
    let removed = forget_last_mount(&overlay.work()).and_then(|()| scratch.close());
    tried.and(removed.map_err(|error| format!("remove what an overlay left: {error}")))
}

/// Mounts one over a directory that every machine has and no Sandbox shows, and makes a file in it.
fn try_in_memory(backend: &dyn Mounts, kind: OverlayKind) -> Result<(), String> {
    let memory = Some(MemorySize { bytes: 1 << 20, inodes: 16 });
    let (lowers, place) = (vec![PathBuf::from("/usr")], PathBuf::from("/sys"));
    run_trial(backend, &Overlay { lowers, place, kind, memory }, "echo made > made")
}

/// Removes what killed trials left in `at`, as far as that can be removed.
fn clear_away(at: &Path) -> io::Result<()> {
    for entry in fs::read_dir(at)? {
        let entry = entry?;
        let is_of_trial = entry.file_name().as_bytes().starts_with(TRIAL_PREFIX.as_bytes());
        let age = entry.metadata().and_then(|found| found.modified()).ok().and_then(|made| made.elapsed().ok());
        if is_of_trial && age.is_some_and(|age| age > LONGEST_TRIAL) {
            // What cannot be removed is in nobody's way.
            isobox_removal::remove(&entry.path()).unwrap_or_default();
        }
    }
    Ok(())
}

fn lay_out(scratch: &Path, kind: OverlayKind) -> io::Result<Overlay> {
    let (lower, place) = (scratch.join("lower"), scratch.join("place"));
    let overlay = Overlay { lowers: vec![lower.clone()], place, kind, memory: None };
    for directory in [lower.join("directory"), overlay.upper(), overlay.work()] {
        fs::create_dir_all(directory)?;
    }
    fs::write(lower.join("file"), "")?;
    fs::write(lower.join("directory/file"), "")?;
    Ok(overlay)
}

fn run_trial(backend: &dyn Mounts, overlay: &Overlay, script: &str) -> Result<(), String> {
    let words = ["sh", "-c", script].map(|word| word.as_bytes().to_vec());
    let command = WorkloadCommand::parse(words.to_vec()).map_err(|error| error.to_string())?;
    let policy = EffectivePolicy::claimed(SandboxPolicy::default(), backend.capabilities());
    let mount = WorkspaceMount::Overlay(overlay.clone());
    let request = LaunchRequest {
        name: "trial",
        command: &command,
        policy: &policy,
        mount: &mount,
        working_directory: None,
        caller_path: None,
        terminal: None,
        exposed: &Exposed::default(),
    };
    let mut said = Said::default();
    let mut sandbox = backend.start(&request, &mut || Filled::Whole).map_err(|error| reason_of(&error))?;
    let ending = sandbox.supervise(&mut said).map_err(|error| format!("{error}: {}", error.source))?;
    match ending.cause {
        EndCause::Exited(Exit::Code(0)) => Ok(()),
        EndCause::NotExecutable(why) | EndCause::NotFound(why) => Err(why),
        EndCause::Exited(_) | EndCause::Interrupted { .. } => Err(format!("nothing can be changed in one: {said}")),
    }
}

fn look(overlay: &Overlay) -> Result<(), String> {
    let upper = overlay.upper();
    let is_mark = |file: fs::Metadata| file.file_type().is_char_device() && file.rdev() == 0;
    let is_hidden = upper.join("file").symlink_metadata().is_ok_and(is_mark);
    let is_written = upper.join("directory/made").exists();
    let is_replaced = crate::overlay::is_opaque(&upper.join("directory"), overlay.kind);
    let is_whole = overlay.lowers[0].join("directory/file").exists();
    match is_hidden && is_written && is_replaced && is_whole {
        true => Ok(()),
        false => Err("the file system below cannot hold the marks of one".to_owned()),
    }
}

/// What a trial wrote on standard error, in one line.
#[derive(Debug, Default)]
struct Said(Vec<u8>);

impl std::fmt::Display for Said {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&String::from_utf8_lossy(&self.0).trim().replace('\n', "; "))
    }
}

impl Streams for Said {
    fn stdin(&mut self) -> Option<Content> {
        None
    }

    fn stdout(&mut self, _: &[u8]) -> Flow {
        Flow::Continue
    }

    fn stderr(&mut self, bytes: &[u8]) -> Flow {
        self.0.extend_from_slice(bytes);
        Flow::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_trial_left_is_removed_once_no_trial_can_work_in_it() {
        let directory = tempfile::tempdir().expect("a directory is made");
        let left = ["old", "new"].map(|name| directory.path().join(format!("{TRIAL_PREFIX}{name}")));
        left.iter().for_each(|left| fs::create_dir_all(left.join("place/work/work")).expect("a directory is made"));
        let others = directory.path().join("ws-1");
        fs::create_dir(&others).expect("a directory is made");
        let earlier = std::time::SystemTime::now() - 2 * LONGEST_TRIAL;
        for old in [&left[0], &others] {
            fs::File::open(old).and_then(|old| old.set_modified(earlier)).expect("it is made older");
        }
        clear_away(directory.path()).expect("it is cleared");
        assert_eq!([&left[0], &left[1], &others].map(|path| path.exists()), [false, true, true]);
    }
}
