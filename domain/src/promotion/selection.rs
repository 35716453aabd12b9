//! Which changed paths of a Task Result a Promotion brings across.

use crate::event::{Event, EventKind, standing_promotions};
use crate::repo_path::RepoPath;

/// Paths by name: a directory stands for all below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// These and nothing else; empty: everything.
    pub only: Vec<RepoPath>,
    /// These not.
    pub except: Vec<RepoPath>,
}

impl Selection {
    /// Whether it leaves nothing out, whatever there is.
    pub fn is_everything(&self) -> bool {
        self.only.is_empty() && self.except.is_empty()
    }

    /// Whether `path` is among them.
    pub fn admits(&self, path: &RepoPath) -> bool {
        (self.only.is_empty() || names(&self.only, path)) && !names(&self.except, path)
    }
}

fn names(names: &[RepoPath], path: &RepoPath) -> bool {
    names.iter().any(|name| stands_for(name, path))
}

fn stands_for(name: &RepoPath, path: &RepoPath) -> bool {
    path == name || path.is_below(name)
}

/// What a Promotion brings across: what was chosen, without what earlier Promotions of the same result brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// What was chosen.
    pub selection: Selection,
    /// What was brought across before.
    pub earlier: Vec<Selection>,
}

impl Chosen {
    /// Whether `path` is brought across.
    pub fn admits(&self, path: &RepoPath) -> bool {
        self.selection.admits(path) && !self.was_brought(path)
    }

    /// Whether an earlier Promotion brought `path`.
    pub fn was_brought(&self, path: &RepoPath) -> bool {
        self.earlier.iter().any(|earlier| earlier.admits(path))
    }
}

/// The parts of a result that Promotions which still stand brought across, where no one of them brought all the rest.
pub(super) fn earlier_parts(events: &[Event]) -> Vec<Selection> {
    let promoted = standing_promotions(events).filter_map(|event| match &event.kind {
        EventKind::Promoted(promoted) => promoted.part.clone(),
        _ => None,
    });
    promoted.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<RepoPath> {
        names.iter().map(|name| RepoPath::parse(*name).expect("a path")).collect()
    }

    fn admitted(chosen: &Chosen) -> Vec<String> {
        let all = paths(&["a", "a-", "a/b", "a/c/d", "e"]);
        all.iter().filter(|path| chosen.admits(path)).map(ToString::to_string).collect()
    }

    fn chosen(only: &[&str], except: &[&str], earlier: &[&str]) -> Chosen {
        let earlier = earlier.iter().map(|only| Selection { only: paths(&[only]), ..Selection::default() }).collect();
        Chosen { selection: Selection { only: paths(only), except: paths(except) }, earlier }
    }

    #[test]
    fn a_name_stands_for_itself_and_all_below_it() {
        assert_eq!(admitted(&chosen(&["a"], &[], &[])), ["a", "a/b", "a/c/d"]);
        assert_eq!(admitted(&chosen(&[], &["a/c", "e"], &[])), ["a", "a-", "a/b"]);
        assert_eq!(admitted(&chosen(&["a"], &["a/c"], &[])), ["a", "a/b"]);
    }

    #[test]
    fn what_was_brought_before_is_left_out() {
        assert_eq!(admitted(&chosen(&[], &[], &["a/c", "e"])), ["a", "a-", "a/b"]);
        assert_eq!(admitted(&chosen(&["e"], &[], &["e"])), [""; 0]);
    }
}
