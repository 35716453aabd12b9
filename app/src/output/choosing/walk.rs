//! The hunks of one file as a person walks through them: with the keys of `git add -p`.

use isobox_domain::hunks::Hunks;
use std::collections::BTreeSet;
use std::ops::Range;

/// What a key does besides a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The next one is asked about.
    Ask,
    /// Nothing more is asked about this file.
    Done,
    /// Nothing more is asked about any file.
    Quit,
    /// The keys are told.
    Help,
    /// The answer did nothing: why.
    No(&'static str),
}

/// Hunks that are taken or left together, until they are split.
struct Stop {
    numbers: Range<u32>,
    is_taken: Option<bool>,
}

/// Where a person is.
pub(super) struct Walk<'a> {
    hunks: &'a Hunks,
    stops: Vec<Stop>,
    at: usize,
}

impl<'a> Walk<'a> {
    /// Through the hunks `open`, ascending numbers: those of a section together, where they follow each other.
    pub(super) fn new(hunks: &'a Hunks, open: &[u32]) -> Self {
        let begins: BTreeSet<u32> = hunks.sections().iter().map(|section| section.start).collect();
        let mut stops: Vec<Stop> = Vec::new();
        for &number in open {
            match stops.last_mut() {
                Some(last) if last.numbers.end == number && !begins.contains(&number) => last.numbers.end += 1,
                _ => stops.push(Stop { numbers: number..number + 1, is_taken: None }),
            }
        }
        Self { hunks, stops, at: 0 }
    }

    /// Where it is, counted from 1, and of how many.
    pub(super) fn place(&self) -> (usize, usize) {
        (self.at + 1, self.stops.len())
    }

    /// The hunks that are asked about.
    pub(super) fn numbers(&self) -> &Range<u32> {
        &self.stops[self.at].numbers
    }

    /// The keys that do something here.
    pub(super) fn keys(&self) -> String {
        let is_open = |stop: &Stop| stop.is_taken.is_none();
        let (before, after) = (&self.stops[..self.at], &self.stops[self.at + 1..]);
        let further = [
            (!after.is_empty() && after.iter().any(is_open), "j"),
            (!after.is_empty(), "J"),
            (before.iter().any(is_open), "k"),
            (!before.is_empty(), "K"),
            (self.stops.len() > 1, "g"),
            (self.stops.len() > 1, "/"),
            (self.numbers().len() > 1, "s"),
        ];
        let further = further.iter().filter(|(is_there, _)| *is_there).map(|(_, key)| format!(",{key}"));
        format!("y,n,q,a,d{},?", further.collect::<String>())
    }

    /// Does what was answered.
    pub(super) fn answer(&mut self, answer: &[u8]) -> Step {
        match answer {
            b"y" => self.decide(true),
            b"n" => self.decide(false),
            b"a" => self.decide_rest(true),
            b"d" => self.decide_rest(false),
            b"q" => Step::Quit,
            b"j" => self.go((self.at + 1..self.stops.len()).find(|&at| self.is_open(at)), "no later hunk is undecided"),
            b"k" => self.go((0..self.at).rfind(|&at| self.is_open(at)), "no earlier hunk is undecided"),
            b"J" => self.go(Some(self.at + 1).filter(|at| *at < self.stops.len()), "this is the last hunk"),
            b"K" => self.go(self.at.checked_sub(1), "this is the first hunk"),
            b"s" => self.split(),
            [b'g', number @ ..] => self.go_to(number),
            [b'/', text @ ..] => self.search(text),
            b"e" => Step::No("only what the task made can be promoted, so that hunks cannot be edited here"),
            b"?" => Step::Help,
            _ => Step::No("that is none of the keys"),
        }
    }

    /// The numbers of the hunks that were taken.
    pub(super) fn taken(&self) -> BTreeSet<u32> {
        let taken = self.stops.iter().filter(|stop| stop.is_taken == Some(true));
        taken.flat_map(|stop| stop.numbers.clone()).collect()
    }

    fn is_open(&self, at: usize) -> bool {
        self.stops[at].is_taken.is_none()
    }

    fn decide(&mut self, is_taken: bool) -> Step {
        self.stops[self.at].is_taken = Some(is_taken);
        let all = (self.at + 1..self.stops.len()).chain(0..self.at);
        match all.into_iter().find(|&at| self.is_open(at)) {
            Some(next) => {
                self.at = next;
                Step::Ask
            }
            None => Step::Done,
        }
    }

    /// Decides this one and all later ones that are undecided; an earlier one that was passed over is asked about again.
    fn decide_rest(&mut self, is_taken: bool) -> Step {
        for stop in self.stops[self.at + 1..].iter_mut().filter(|stop| stop.is_taken.is_none()) {
            stop.is_taken = Some(is_taken);
        }
        self.decide(is_taken)
    }

    fn go(&mut self, to: Option<usize>, otherwise: &'static str) -> Step {
        match to {
            Some(at) => {
                self.at = at;
                Step::Ask
            }
            None => Step::No(otherwise),
        }
    }

    fn go_to(&mut self, number: &[u8]) -> Step {
        let number = std::str::from_utf8(number).ok().and_then(|number| number.trim().parse::<usize>().ok());
        let at = number.and_then(|number| number.checked_sub(1)).filter(|at| *at < self.stops.len());
        self.go(at, "g takes the number of a hunk, as in g2")
    }

    fn search(&mut self, text: &[u8]) -> Step {
        let has_text = |at: &usize| {
            let lines = self.hunks.excerpt(&self.stops[*at].numbers).map(|excerpt| excerpt.lines).unwrap_or_default();
            lines.iter().any(|line| line.text.windows(text.len()).any(|found| found == text))
        };
        if text.is_empty() {
            return Step::No("/ takes a text, as in /main");
        }
        let found = (self.at + 1..self.stops.len()).chain(0..=self.at).find(has_text);
        self.go(found, "no hunk has this text")
    }

    fn split(&mut self) -> Step {
        let Stop { numbers, .. } = &self.stops[self.at];
        if numbers.len() == 1 {
            return Step::No("this hunk cannot be split: nothing unchanged is in it");
        }
        let pieces: Vec<Stop> = numbers.clone().map(|one| Stop { numbers: one..one + 1, is_taken: None }).collect();
        self.stops.splice(self.at..=self.at, pieces);
        Step::Ask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: &[u8] =
        b"@@ -1,5 +1,5 @@\n-a\n+A\n b\n-c\n+C\n d\n-e\n+E\n@@ -20 +20 @@\n-x\n+X\n@@ -40 +40 @@\n-y\n+Y\n";

    fn walked(open: &[u32], answers: &[&str]) -> (Vec<Step>, Vec<u32>) {
        let hunks = Hunks::parse(PART).unwrap();
        let mut walk = Walk::new(&hunks, open);
        let steps = answers.iter().map(|answer| walk.answer(answer.as_bytes())).collect();
        (steps, walk.taken().into_iter().collect())
    }

    fn taken(answers: &[&str]) -> Vec<u32> {
        let (steps, taken) = walked(&[0, 1, 2, 3, 4], answers);
        assert_eq!(steps.last(), Some(&Step::Done), "{answers:?}");
        taken
    }

    #[test]
    fn hunks_are_taken_as_the_keys_say() {
        assert_eq!(taken(&["y", "n", "y"]), [0, 1, 2, 4]);
        assert_eq!(taken(&["n", "a"]), [3, 4]);
        assert_eq!(taken(&["y", "d"]), [0, 1, 2]);
        assert_eq!(taken(&["a"]), [0, 1, 2, 3, 4]);
        assert_eq!(taken(&["s", "n", "y", "n", "d"]), [1]);
        assert_eq!(taken(&["j", "y", "y", "n"]), [3, 4]);
        assert_eq!(taken(&["g3", "y", "n", "n"]), [4]);
        assert_eq!(taken(&["/X", "y", "n", "n"]), [3]);
        assert_eq!(taken(&["y", "K", "n", "n", "y"]), [4]);
        assert_eq!(taken(&["J", "J", "k", "y", "y", "n"]), [3, 4]);
    }

    #[test]
    fn a_hunk_that_was_passed_over_is_asked_about_again() {
        let (steps, _) = walked(&[0, 1, 2, 3, 4], &["j", "a"]);
        assert_eq!(steps, [Step::Ask, Step::Ask]);
    }

    #[test]
    fn what_is_no_answer_here_does_nothing_and_says_why() {
        for answer in ["", "x", "k", "K", "g", "g0", "g9", "/", "/nowhere", "e", "yes"] {
            let (steps, taken) = walked(&[0, 1, 2, 3, 4], &[answer]);
            assert!(matches!(&steps[..], [Step::No(_)]), "{answer}");
            assert!(taken.is_empty());
        }
        let (steps, _) = walked(&[4], &["j"]);
        assert!(matches!(&steps[..], [Step::No(_)]));
    }

    #[test]
    fn what_was_brought_before_is_not_asked_about() {
        let hunks = Hunks::parse(PART).unwrap();
        let mut walk = Walk::new(&hunks, &[0, 2, 3]);
        assert_eq!((walk.place(), walk.keys().as_str()), ((1, 3), "y,n,q,a,d,j,J,g,/,?"));
        walk.answer(b"n");
        assert_eq!((walk.place(), walk.numbers().clone()), ((2, 3), 2..3));
        assert_eq!(walk.keys(), "y,n,q,a,d,j,J,K,g,/,?");
    }
}
