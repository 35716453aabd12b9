//! Which changed paths of a Task Result a Promotion brings across.

use crate::event::{Destination, Event, EventKind, standing_promotions};
use crate::repo_path::RepoPath;
use crate::source::Cleanliness;
use std::collections::BTreeSet;

/// Paths by name: a directory stands for all below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// These and nothing else; empty: everything.
    pub only: BTreeSet<RepoPath>,
    /// These not.
    pub except: BTreeSet<RepoPath>,
    /// Of these files, which are among the others, some hunks alone. Each file once, in ascending order.
    pub hunks: Vec<ChosenHunks>,
}

/// Some hunks of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenHunks {
    /// The file.
    pub path: RepoPath,
    /// Their numbers as [`Hunks`](crate::hunks::Hunks) counts those of the record's patch: ascending, at least one. Who takes all of them chooses the
    /// file as a whole.
    pub numbers: Vec<u32>,
}

impl Selection {
    /// Whether it leaves nothing out, whatever there is.
    pub fn is_everything(&self) -> bool {
        self.only.is_empty() && self.except.is_empty() && self.hunks.is_empty()
    }

    /// Whether `path` is among them.
    pub fn admits(&self, path: &RepoPath) -> bool {
        (self.only.is_empty() || names(&self.only, path)) && !names(&self.except, path)
    }

    /// The hunks that alone are chosen of `path`; `None`: all of it, or nothing.
    pub fn hunks_of(&self, path: &RepoPath) -> Option<&[u32]> {
        let found = self.hunks.binary_search_by(|chosen| chosen.path.cmp(path)).ok()?;
        Some(&self.hunks[found].numbers)
    }
}

/// As long for many names as for few: a result of 50,000 files may be chosen file by file.
fn names(names: &BTreeSet<RepoPath>, path: &RepoPath) -> bool {
    path.and_its_directories().any(|name| names.contains(name))
}

/// Where an earlier Promotion of the same result went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// Into the files of the working tree, which are there as long as nobody takes them away.
    Files,
    /// Into a commit on HEAD.
    Head,
    /// Into a commit on a branch of its own: not to be seen here.
    Branch,
}

/// What an earlier Promotion brought across.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// What it was.
    pub part: Selection,
    /// Where it is.
    pub whereabouts: Whereabouts,
}

impl Earlier {
    fn brought_all_of(&self, path: &RepoPath) -> bool {
        self.part.admits(path) && self.part.hunks_of(path).is_none()
    }
}

/// What a Promotion brings across: what was chosen, without what earlier Promotions of the same result brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// What was chosen.
    pub selection: Selection,
    /// What was brought across before.
    pub earlier: Vec<Earlier>,
}

impl Chosen {
    /// Whether `path` is brought across.
    pub fn admits(&self, path: &RepoPath) -> bool {
        self.selection.admits(path) && !self.was_brought(path)
    }

    /// Whether an earlier Promotion brought `path`, all that was left of it.
    pub fn was_brought(&self, path: &RepoPath) -> bool {
        self.earlier.iter().any(|earlier| earlier.brought_all_of(path))
    }

    /// The same of one that went into the files of the working tree.
    pub fn was_brought_into_files(&self, path: &RepoPath) -> bool {
        let is_there = |earlier: &&Earlier| earlier.whereabouts == Whereabouts::Files;
        self.earlier.iter().filter(is_there).any(|earlier| earlier.brought_all_of(path))
    }

    /// The hunks of `path` that earlier Promotions brought, where they did not bring all of it.
    pub fn hunks_brought(&self, path: &RepoPath) -> BTreeSet<u32> {
        self.hunks_at(path, &|_| true)
    }

    /// Those of them that are in the working tree, which has uncommitted changes or not.
    pub fn hunks_in_place(&self, path: &RepoPath, cleanliness: &Cleanliness) -> BTreeSet<u32> {
        self.hunks_at(path, &|whereabouts| match whereabouts {
            Whereabouts::Files => *cleanliness != Cleanliness::Clean,
            Whereabouts::Head => true,
            Whereabouts::Branch => false,
        })
    }

    /// The files of which hunks were chosen, now or before, and not yet brought as a whole.
    pub fn files_in_hunks(&self) -> BTreeSet<&RepoPath> {
        let earlier = self.earlier.iter().map(|earlier| &earlier.part);
        let all = earlier.chain([&self.selection]).flat_map(|selection| &selection.hunks);
        all.map(|chosen| &chosen.path).filter(|path| !self.was_brought(path)).collect()
    }

    fn hunks_at(&self, path: &RepoPath, is_there: &dyn Fn(Whereabouts) -> bool) -> BTreeSet<u32> {
        let there = self.earlier.iter().filter(|earlier| is_there(earlier.whereabouts));
        there.filter_map(|earlier| earlier.part.hunks_of(path)).flatten().copied().collect()
    }
}

/// The parts of a result that Promotions which still stand brought across, where no one of them brought all the rest.
pub(super) fn earlier_parts(events: &[Event]) -> Vec<Earlier> {
    let promoted = standing_promotions(events).filter_map(|event| match &event.kind {
        EventKind::Promoted(promoted) => {
            let part = promoted.part.as_deref()?.clone();
            Some(Earlier { part, whereabouts: whereabouts(&promoted.destination) })
        }
        _ => None,
    });
    promoted.collect()
}

const fn whereabouts(destination: &Destination) -> Whereabouts {
    match destination {
        Destination::WorkingTree | Destination::Index => Whereabouts::Files,
        Destination::Commit { .. } => Whereabouts::Head,
        Destination::Branch { .. } => Whereabouts::Branch,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths<C: FromIterator<RepoPath>>(names: &[&str]) -> C {
        names.iter().map(|name| RepoPath::parse(*name).expect("a path")).collect()
    }

    fn path(name: &str) -> RepoPath {
        RepoPath::parse(name).expect("a path")
    }

    fn admitted(chosen: &Chosen) -> Vec<String> {
        let all: Vec<RepoPath> = paths(&["a", "a-", "a/b", "a/c/d", "e"]);
        all.iter().filter(|path| chosen.admits(path)).map(ToString::to_string).collect()
    }

    fn chosen(only: &[&str], except: &[&str], earlier: &[&str]) -> Chosen {
        let earlier = earlier.iter().map(|only| Selection { only: paths(&[only]), ..Selection::default() });
        let earlier = earlier.map(|part| Earlier { part, whereabouts: Whereabouts::Files }).collect();
        Chosen { selection: Selection { only: paths(only), except: paths(except), hunks: Vec::new() }, earlier }
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

    fn hunks_of_e(numbers: &[u32], whereabouts: Whereabouts) -> Earlier {
        let hunks = vec![ChosenHunks { path: path("e"), numbers: numbers.to_vec() }];
        Earlier { part: Selection { only: paths(&["e"]), except: BTreeSet::new(), hunks }, whereabouts }
    }

    #[test]
    fn a_file_of_which_hunks_were_brought_waits_for_the_rest() {
        let path = &path("e");
        let earlier = vec![hunks_of_e(&[2], Whereabouts::Files), hunks_of_e(&[0, 2], Whereabouts::Files)];
        let mut chosen = Chosen { selection: Selection::default(), earlier };
        assert!(chosen.admits(path) && !chosen.was_brought(path));
        assert_eq!(chosen.hunks_brought(path), BTreeSet::from([0, 2]));
        assert_eq!(chosen.files_in_hunks(), BTreeSet::from([path]));
        let part = Selection { only: paths(&["e"]), ..Selection::default() };
        chosen.earlier.push(Earlier { part, whereabouts: Whereabouts::Branch });
        assert!(!chosen.admits(path) && chosen.was_brought(path) && !chosen.was_brought_into_files(path));
        assert_eq!(chosen.files_in_hunks(), BTreeSet::new());
    }

    #[test]
    fn hunks_are_in_place_where_their_promotion_went_and_nobody_took_them_away() {
        let path = &path("e");
        let went = [(1, Whereabouts::Files), (2, Whereabouts::Head), (3, Whereabouts::Branch)];
        let earlier = went.iter().map(|(number, whereabouts)| hunks_of_e(&[*number], *whereabouts)).collect();
        let chosen = Chosen { selection: Selection::default(), earlier };
        assert_eq!(chosen.hunks_in_place(path, &Cleanliness::Clean), BTreeSet::from([2]));
        let dirty = Cleanliness::Dirty { first: Vec::new(), count: 1 };
        assert_eq!(chosen.hunks_in_place(path, &dirty), BTreeSet::from([1, 2]));
    }
}
