//! Why a Task Result is not promoted, and what to do about it.

use crate::git_oid::GitOid;
use crate::outcome::Outcome;
use crate::promotion::{BlockedRisk, PromotionRequirement};
use crate::record::TaskRecord;
use crate::task_id::AttemptName;
use crate::timestamp::Timestamp;

/// Why a Task Result is not promoted. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromotionRefusal {
    /// The attempt did not end in a way that gives a whole result.
    #[error("the task ended with outcome `{}`, which cannot be promoted", .0.name())]
    Outcome(Outcome),
    /// The record was imported, and its result is a patch without a Change Set.
    #[error("the task was imported from another tool, whose results cannot be promoted")]
    Imported,
    /// The record is one of a verification.
    #[error("the task verified the result of another one, and has none of its own to promote")]
    Verification,
    /// There is no changed path.
    #[error("there is nothing to promote: the task changed nothing that could be")]
    NothingToPromote,
    /// The target is not the repository that the task started from.
    #[error("{target} is not the repository that the task started from, {started_from}")]
    OtherRepository {
        /// The target's path, escaped for people.
        target: String,
        /// The source's path, escaped for people.
        started_from: String,
    },
    /// HEAD is at another commit.
    #[error(
        "trusted repository {target} is at {}, but the task started from {}", found.short(), expected.short()
    )]
    HeadMoved {
        /// The target's path, escaped for people.
        target: String,
        /// The commit that the task started from.
        expected: GitOid,
        /// Where HEAD is.
        found: GitOid,
    },
    /// HEAD names another branch, or none.
    #[error("trusted repository {target} is on {found}, but the task started from {expected}")]
    OtherBranch {
        /// The target's path, escaped for people.
        target: String,
        /// The branch that the task started from, in words.
        expected: String,
        /// Where HEAD is, in words.
        found: String,
    },
    /// The repository has changes of its own.
    #[error("trusted repository {target} is not clean: changed against HEAD: {}", counted_paths(*count))]
    Dirty {
        /// The target's path, escaped for people.
        target: String,
        /// The first of the paths, escaped for people.
        first: Vec<String>,
        /// How many there are.
        count: u64,
    },
    /// The task started from uncommitted changes, and the repository does not have the same.
    #[error(
        "trusted repository {target} has other uncommitted changes than the task started from: {}", counted_paths(*count)
    )]
    OtherSnapshot {
        /// The target's path, escaped for people.
        target: String,
        /// Some of the paths that differ, escaped for people.
        first: Vec<String>,
        /// How many there are.
        count: u64,
    },
    /// A part of the result was promoted before, and the repository has uncommitted changes beside it.
    #[error(
        "trusted repository {target} has other uncommitted changes than the part that was promoted before: {}",
        counted_paths(*count)
    )]
    BesidePromoted {
        /// The target's path, escaped for people.
        target: String,
        /// Some of the paths that differ, escaped for people.
        first: Vec<String>,
        /// How many there are.
        count: u64,
    },
    /// A name that was given stands for none of the changed paths.
    #[error("the task changed nothing at {path}")]
    NotChanged {
        /// The name, escaped for people.
        path: String,
    },
    /// What was chosen leaves nothing to promote.
    #[error("there is nothing to promote: every path that was chosen is left out or was promoted before")]
    NothingChosen,
    /// A commit cannot hold what the Task started from.
    #[error("the task started from uncommitted changes, which a commit of its result would lack")]
    NoCommit,
    /// A three-way merge has no commit as its base.
    #[error("the task started from uncommitted changes, which no commit holds, so its result cannot be merged")]
    NoMergeBase,
    /// The result was promoted before.
    #[error("the task was promoted before, into {host_path} at {}", at)]
    PromotedBefore {
        /// Into which repository, escaped for people.
        host_path: String,
        /// When.
        at: Timestamp,
    },
    /// A person turned the result down.
    #[error("the task was rejected at {at}")]
    Rejected {
        /// When.
        at: Timestamp,
    },
    /// The policy asks for something that does not hold.
    #[error("the policy keeps it out{}", in_words(require, block, *paths))]
    KeptOut {
        /// Entries of `promotion.require` that do not hold.
        require: Vec<PromotionRequirement>,
        /// Entries of `promotion.block` that keep something out.
        block: Vec<BlockedRisk>,
        /// How many paths they keep out.
        paths: u64,
    },
    /// What was approved is no longer so.
    #[error("{what} changed after the promotion was shown")]
    PlanChanged {
        /// What, in words.
        what: &'static str,
    },
}

fn counted_paths(count: u64) -> String {
    if count == 1 { "1 path".to_owned() } else { format!("{count} paths") }
}

fn in_words(require: &[PromotionRequirement], block: &[BlockedRisk], paths: u64) -> String {
    let required: Vec<&str> = require.iter().map(|entry| entry.name()).collect();
    let blocked: Vec<&str> = block.iter().map(|entry| entry.name()).collect();
    let required = (!required.is_empty()).then(|| format!(": `promotion.require` is not met: {}", required.join(", ")));
    let blocked = (!blocked.is_empty())
        .then(|| format!("`promotion.block` has {}, found at {}", blocked.join(", "), counted_paths(paths)));
    let blocked = blocked.map(|blocked| format!("{}{blocked}", if required.is_some() { "; " } else { ": " }));
    required.into_iter().chain(blocked).collect()
}

impl PromotionRefusal {
    /// What to do about it. `flags` name the store in a command, each after a blank.
    pub fn hint(&self, record: &TaskRecord, flags: &str) -> String {
        let task = record.task;
        let hint = match self {
            Self::NothingToPromote if record.artifacts.change_set.is_none() => {
                format!(
                    "`isobox list{flags} --state unreviewed` shows results that wait; each task starts from the commit alone"
                )
            }
            Self::HeadMoved { expected, .. } if record.artifacts.source_snapshot.is_some() => format!(
                "check out {} and bring back the uncommitted changes that it started from, then promote again; or \
                 `isobox rerun --current --allow-dirty{flags} {task}`, which starts from what is there now",
                expected.short()
            ),
            _ => self.hint_of_task(&format!("{flags} {task}")),
        };
        match (self, record.attempt.checked_sub(1)) {
            (Self::Outcome(_) | Self::NothingToPromote, Some(attempt @ 1..)) => {
                format!("{hint}; the attempt before this one is {}", AttemptName { task, attempt })
            }
            _ => hint,
        }
    }

    /// `task` is how a command names it, after a blank.
    fn hint_of_task(&self, task: &str) -> String {
        match self {
            Self::Outcome(_) => format!(
                "`isobox show{task}` says why; `isobox rerun{task}` attempts it once more, and `isobox diff{task}` prints what it \
                 left as a patch"
            ),
            Self::Imported => format!("review its patch with `isobox diff{task}`, and apply it with `git apply`"),
            Self::Verification => {
                format!("`isobox show{task}` names the record that it verified: that one can be promoted")
            }
            Self::NothingToPromote => format!("`isobox diff --stat{task}` lists what was not captured, and why"),
            Self::OtherRepository { .. } => "name the right repository, or run the task again in this one".into(),
            Self::HeadMoved { .. } => format!(
                "add --three-way, which merges it into what is here now; `isobox rerun --current{task}` attempts it once more \
                 from here"
            ),
            Self::OtherBranch { expected, .. } => format!("check out {expected}, then promote again"),
            Self::Dirty { .. } => {
                "add --three-way, which leaves them as they are, if the task changed none of them; or stash them \
                 (`git stash -u`), then promote again"
                    .into()
            }
            Self::OtherSnapshot { .. } => format!(
                "bring these paths back to what they were, then promote again; or `isobox rerun --current --allow-dirty{task}`, \
                 which starts from what is there now"
            ),
            Self::BesidePromoted { .. } => {
                "bring these paths back to what they were, or commit what was promoted with them, then promote again"
                    .into()
            }
            Self::NotChanged { .. } => format!("`isobox diff --name-only{task}` prints the paths that it changed"),
            Self::NothingChosen => "pass --again to promote once more what was promoted before".into(),
            Self::NoMergeBase => {
                "bring the repository back to what the task started from, then promote without --three-way".into()
            }
            Self::NoCommit => "promote into the working tree, then commit both".into(),
            Self::PromotedBefore { .. } => "pass --again to promote it once more".into(),
            Self::Rejected { .. } => {
                format!("`isobox rerun{task}` attempts it once more; or pass --again to promote it all the same")
            }
            Self::KeptOut { block, .. } => {
                let except = if block.is_empty() { "" } else { "leave these paths out with --except, or " };
                format!("{except}add --override REASON, which promotes it all the same, and the reason stays on record")
            }
            Self::PlanChanged { .. } => "look at the promotion again, then confirm it".into(),
        }
    }
}
