//! Findings about a project: its repository, Views and Task Store.

use super::Finding;
use crate::fact::{Fact, IgnoreCoverage, Refused, Room, StoreHealth, Trial};

/// Below this a Task is refused: it is what the Task Store asks for before a workload starts.
const LEAST_ROOM_BYTES: u64 = 16 << 20;
/// Below this a person is told.
const LITTLE_ROOM_BYTES: u64 = 1 << 30;
/// As [`LITTLE_ROOM_BYTES`], in files.
const LITTLE_ROOM_FILES: u64 = 10_000;
pub(super) const NO_TASKS: &str = "`isobox tool` and `isobox run` are refused in this project";

pub(super) fn judge(fact: &Fact) -> Option<Finding> {
    Some(match fact {
        Fact::NoRepository => {
            Finding::project("repository", REPOSITORY, "there is no Git repository around this directory")
                .warning("the checks of a project were left out")
                .fix("name a repository: `isobox doctor PATH`")
        }
        Fact::Repository(found) => repository(found),
        Fact::Dirt(first, count) => dirt(first, *count),
        Fact::Views(coverage) => views(coverage),
        Fact::Store(host_path, health) => store(host_path, health),
        Fact::StoreWritable(trial) => writable(trial),
        Fact::StoreRoom(room) => self::room(*room),
        Fact::Log { .. } | Fact::BadLog(_) => log(fact)?,
        _ => return None,
    })
}

const REPOSITORY: &str =
    "opened the repository around the directory, without writing to it or starting anything it names";

fn repository(found: &Result<String, Refused>) -> Finding {
    match found {
        Ok(root) => Finding::project("repository", REPOSITORY, root),
        Err(refused) => Finding::project("repository", REPOSITORY, &refused.reason)
            .error(NO_TASKS)
            .fix_if_known(refused.hint.clone()),
    }
}

fn dirt(first: &Result<Vec<String>, String>, count: u64) -> Finding {
    let tried = "compared HEAD, the index and the working tree, as `git status` does";
    match first {
        Err(why) => Finding::project("repository.clean", tried, why).error(NO_TASKS),
        Ok(_) if count == 0 => Finding::project("repository.clean", tried, "nothing is uncommitted"),
        Ok(first) => {
            let more = count.saturating_sub(first.len() as u64);
            let more = if more > 0 { format!("\n… and {more} more") } else { String::new() };
            let found = format!("{count} uncommitted:\n{}{more}", first.join("\n"));
            Finding::project("repository.clean", tried, found)
                .warning("the Preflight Rule `reject_dirty_workspace_source` refuses a Task while they are there")
                .fix("commit, stash or ignore them")
        }
    }
}

fn views(coverage: &Result<IgnoreCoverage, String>) -> Finding {
    let tried = "asked the ignore rules and the index of Git about .isobox/tasks";
    let dirties = "the records of a Task make the repository dirty, so that the next one is refused";
    match coverage {
        Ok(IgnoreCoverage::Ignored) => Finding::project("views.ignored", tried, ".isobox/tasks is ignored"),
        Ok(IgnoreCoverage::NotIgnored) => Finding::project("views.ignored", tried, "no rule ignores .isobox/tasks")
            .warning("if something else lies there already, the records of a Task make the repository dirty")
            .fix("run `isobox init`, or add the line `.isobox/tasks/` to .gitignore"),
        Ok(IgnoreCoverage::Tracked) => Finding::project("views.ignored", tried, "files in .isobox/tasks are tracked")
            .warning(dirties)
            .fix("run `git rm -r --cached .isobox/tasks`, and commit that"),
        Err(why) => Finding::project("views.ignored", tried, why).warning("whether Views are ignored is not known"),
    }
}

fn store(host_path: &str, health: &StoreHealth) -> Finding {
    let tried = "opened the Task Store for reading alone, and verified its newest records";
    let find = |found: String| Finding::project("store.health", tried, found);
    match health {
        StoreHealth::Absent => find(format!("there is none at {host_path} yet; the first Task makes it")),
        StoreHealth::Readable { read: 0 } => find(format!("{host_path}: it holds no record")),
        StoreHealth::Readable { read } => {
            let newest = if *read == 1 { "its newest record is" } else { &format!("its newest {read} records are") };
            find(format!("{host_path}: {newest} as written; `isobox verify` reads the rest"))
        }
        StoreHealth::Damaged(reasons) => find(format!("{host_path}:\n{}", reasons.join("\n")))
            .error("what is damaged cannot be looked at or promoted; the rest can")
            .fix("look at the disk, and at who else writes there; what is intact is left as it is"),
    }
}

fn writable(trial: &Trial) -> Finding {
    let tried = "asked the system whether this user may write there, without writing";
    match trial {
        Trial::Works(found) => Finding::project("store.writable", tried, found),
        Trial::Fails(why) => Finding::project("store.writable", tried, why)
            .error(NO_TASKS)
            .fix("make it writable for this user, or choose another place with --records"),
    }
}

fn room(room: Room) -> Finding {
    let files = room.files.map_or(String::new(), |files| format!(", {files} files"));
    let finding = Finding::project(
        "store.room",
        "asked the file system what this user may still fill",
        format!("{} MiB free{files}", room.bytes >> 20),
    );
    let fix = "free some space there";
    match room {
        Room { bytes, .. } if bytes < LEAST_ROOM_BYTES => finding.error(NO_TASKS).fix(fix),
        Room { files: Some(0), .. } => finding.error(NO_TASKS).fix(fix),
        Room { bytes, files } if bytes < LITTLE_ROOM_BYTES || files.is_some_and(|files| files < LITTLE_ROOM_FILES) => {
            finding.warning("a large result may not be kept whole").fix(fix)
        }
        _ => finding,
    }
}

fn log(fact: &Fact) -> Option<Finding> {
    let finding = |found: String| {
        Finding::project("store.log", "compared the newest checkpoint of the transparency log with the lanes", found)
    };
    let fix = "run `isobox audit checkpoint`, and copy what it prints to another place";
    Some(match fact {
        Fact::Log { commits, logged } if logged >= commits => {
            finding(format!("all {commits} COMMITs are under a checkpoint"))
        }
        Fact::Log { commits, logged } => {
            finding(format!("{} of {commits} COMMITs are not under a checkpoint", commits - logged))
                .warning("nobody could tell if these were removed or made anew")
                .fix(fix)
        }
        Fact::BadLog(why) => finding(why.clone())
            .warning("nothing can be logged, and nobody can tell whether records are missing")
            .fix("run `isobox verify`, which names what is wrong"),
        _ => return None,
    })
}
