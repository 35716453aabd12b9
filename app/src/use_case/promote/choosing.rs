//! Which changed paths and hunks a person takes, one after the other.

use super::pieces::{Splittable, splittable};
use super::planning::{Planned, plan};
use super::{Ports, PromotionRequest};
use crate::failure::{Failure, FailureKind};
use crate::output::text;
use crate::use_case::sides::patch;
use isobox_domain::change::{Change, ChangeLine};
use isobox_domain::hunks::Hunks;
use isobox_domain::promotion::{ChosenHunks, Selection};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::task_state::Standing;
use std::collections::BTreeSet;

/// What a person takes of a changed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// All of it.
    All,
    /// Nothing.
    Nothing,
    /// Some of its hunks, by number: at least one, and not all that were left.
    Hunks(BTreeSet<u32>),
}

/// A person who is asked.
pub(crate) trait Chooser {
    /// What of a path is taken where that is known without a look at its hunks.
    fn known(&mut self, _: &Change) -> Option<Taken> {
        None
    }

    /// What to do where nothing is taken.
    fn advice(&self) -> &'static str;

    /// What of a path that has no hunks is taken: all or nothing. `None`: no more than was taken so far.
    fn path(&mut self, change: &Change) -> Result<Option<Taken>, Failure>;

    /// What of `change` is taken, a file whose hunks `open` were not brought before.
    fn hunks(&mut self, change: &Change, file: &InHunks<'_>, open: &[u32]) -> Result<Answered, Failure>;
}

/// A file as its part of the patch has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InHunks<'a> {
    /// What the patch says of it first.
    pub(crate) header: &'a [u8],
    /// Its hunks.
    pub(crate) hunks: &'a Hunks,
}

/// What of a file is taken, and whether nothing else is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) taken: Taken,
    pub(crate) is_last: bool,
}

/// Asks about every path that `request` would bring across; what of it is to be.
pub(crate) fn choose(
    ports: &Ports<'_>,
    request: &PromotionRequest,
    chooser: &mut dyn Chooser,
) -> Result<Selection, Failure> {
    let refused = |failure: Failure| {
        failure.while_doing(format!("cannot promote {}", text::attempt(&request.record, Standing::Newest)))
    };
    let Planned { plan, .. } = plan(ports, request).map_err(refused)?;
    let mut patch = patch(ports.objects, &request.record)?;
    let mut choice = Choice::default();
    for line in ports.objects.changes(&plan.change_set)? {
        let line = line.map_err(|cause| crate::use_case::diff::unreadable(&request.record, cause))?;
        let ChangeLine::Change(change) = line else { continue };
        if !plan.chosen.admits(&change.path) {
            continue;
        }
        let known = if choice.is_over { None } else { chooser.known(&change) };
        let answered = match (choice.is_over, known) {
            (true, _) => Answered { taken: Taken::Nothing, is_last: true },
            (false, Some(taken)) => Answered { taken, is_last: false },
            (false, None) => {
                let file = splittable(ports.objects, &mut patch, &change)?;
                ask(chooser, &change, file.as_ref(), &plan.chosen.hunks_brought(&change.path))?
            }
        };
        choice.note(change.path, answered);
    }
    choice.selection(&request.wish.selection).ok_or_else(|| {
        let nothing = Failure::new(FailureKind::PromotionRefused, "nothing was chosen; nothing was changed");
        refused(nothing.with_hint(chooser.advice()))
    })
}

fn ask(
    chooser: &mut dyn Chooser,
    change: &Change,
    file: Option<&Splittable>,
    brought: &BTreeSet<u32>,
) -> Result<Answered, Failure> {
    match file {
        Some(file) => {
            let shown = InHunks { header: &file.header, hunks: &file.hunks };
            chooser.hunks(change, &shown, &file.open(brought))
        }
        None => Ok(chooser
            .path(change)?
            .map_or(Answered { taken: Taken::Nothing, is_last: true }, |taken| Answered { taken, is_last: false })),
    }
}

/// What was answered so far.
#[derive(Default)]
struct Choice {
    taken: BTreeSet<RepoPath>,
    hunks: Vec<ChosenHunks>,
    /// Paths below one that is taken, which its name would stand for.
    left_below: BTreeSet<RepoPath>,
    has_left: bool,
    is_over: bool,
}

impl Choice {
    fn note(&mut self, path: RepoPath, answered: Answered) {
        self.is_over = answered.is_last;
        match answered.taken {
            Taken::Nothing => {
                self.has_left = true;
                if path.and_its_directories().any(|name| self.taken.contains(name)) {
                    self.left_below.insert(path);
                }
            }
            Taken::All => drop(self.taken.insert(path)),
            Taken::Hunks(numbers) => {
                self.taken.insert(path.clone());
                self.hunks.push(ChosenHunks { path, numbers: numbers.into_iter().collect() });
            }
        }
    }

    /// What to bring of what `asked` would; `None`: nothing.
    fn selection(self, asked: &Selection) -> Option<Selection> {
        if self.taken.is_empty() {
            return None;
        }
        if !self.has_left && self.hunks.is_empty() {
            return Some(asked.clone());
        }
        Some(Selection { only: self.taken, except: self.left_below, hunks: self.hunks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    fn chosen(answers: &[(&str, Taken)]) -> Option<Selection> {
        let mut choice = Choice::default();
        for (name, taken) in answers {
            choice.note(path(name), Answered { taken: taken.clone(), is_last: false });
        }
        choice.selection(&Selection { except: BTreeSet::from([path("z")]), ..Selection::default() })
    }

    #[test]
    fn who_takes_everything_has_chosen_what_was_asked_for() {
        let asked = Selection { except: BTreeSet::from([path("z")]), ..Selection::default() };
        assert_eq!(chosen(&[("a", Taken::All), ("b", Taken::All)]), Some(asked));
        assert_eq!(chosen(&[("a", Taken::Nothing)]), None);
    }

    #[test]
    fn what_was_left_below_what_was_taken_is_left() {
        let selection = chosen(&[("a", Taken::All), ("a/b", Taken::Nothing), ("c", Taken::Nothing)]).unwrap();
        assert_eq!(
            selection,
            Selection { only: BTreeSet::from([path("a")]), except: BTreeSet::from([path("a/b")]), hunks: Vec::new() }
        );
        assert!(selection.admits(&path("a")) && !selection.admits(&path("a/b")) && !selection.admits(&path("c")));
    }
}
