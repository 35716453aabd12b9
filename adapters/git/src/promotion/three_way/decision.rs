//! What becomes of one path, of what its three sides are: the rules of `git merge-tree` without renames.

use gix::ObjectId;
use isobox_domain::change::Mode;

/// What one side has at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) mode: Mode,
    pub(super) id: ObjectId,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The repository has it already.
    Present,
    /// The content is that of the Task, with this mode.
    Mode(Mode),
    /// The content is that of the repository, with this mode.
    ModeOfOurs(Mode),
    /// Both changed the content: their lines are to be merged, for a file of this mode.
    Texts {
        mode: Mode,
        /// Whether what was there before is a file, too.
        has_base: bool,
    },
    /// It cannot be merged.
    Conflict(&'static str),
}

/// Decides about a path that HEAD does not have as the Task found it: `base` and `ours` differ.
pub(super) fn decide(base: Option<Entry>, ours: Option<Entry>, theirs: Option<Entry>) -> Decision {
    if ours == theirs {
        return Decision::Present;
    }
    let (ours, theirs) = match (ours, theirs) {
        (Some(ours), Some(theirs)) => (ours, theirs),
        (None, _) => return Decision::Conflict("the repository has deleted it since"),
        (_, None) => return Decision::Conflict("the task deleted it, but the repository has changed it since"),
    };
    if !is_file(ours.mode) || !is_file(theirs.mode) {
        return Decision::Conflict(match ours.mode == theirs.mode {
            true => "both changed where the link leads",
            false => "the repository and the task made different kinds of things of it",
        });
    }
    let Some(mode) = mode(base.map(|base| base.mode), ours.mode, theirs.mode) else {
        return Decision::Conflict("the repository and the task disagree about its executable bit");
    };
    let is_base = |entry: Entry| base.is_some_and(|base| is_file(base.mode) && base.id == entry.id);
    if ours.id == theirs.id || is_base(theirs) {
        return if ours.mode == mode { Decision::Present } else { Decision::ModeOfOurs(mode) };
    }
    if is_base(ours) {
        return Decision::Mode(mode);
    }
    Decision::Texts { mode, has_base: base.is_some_and(|base| is_file(base.mode)) }
}

/// The mode of whoever changed it; `None` where both made it, each differently.
fn mode(base: Option<Mode>, ours: Mode, theirs: Mode) -> Option<Mode> {
    match base {
        _ if ours == theirs => Some(theirs),
        Some(base) if ours == base => Some(theirs),
        Some(base) if theirs == base => Some(ours),
        _ => None,
    }
}

fn is_file(mode: Mode) -> bool {
    matches!(mode, Mode::File | Mode::Executable)
}
