//! Verdicts, notes and marks as a person gives them.

use super::entry::FileState;
use super::state::{Effect, Focus, Review};
use isobox_domain::review::{Mark, Subject, Verdict};

impl Review {
    /// What a verdict or a note is about now: the hunk that the person is at, or the path.
    pub(super) fn subject(&self) -> Option<Subject> {
        let hunk = self.page().filter(|_| self.focus == Focus::Page).and_then(|page| page.hunks.get(self.hunk));
        hunk.copied().or_else(|| Some(self.entries[self.place()?].subject))
    }

    /// Decides what the person is at, and goes on to what is next.
    pub(super) fn decide(&mut self, verdict: Verdict) -> Effect {
        match self.subject() {
            Some(hunk @ Subject::Hunk { .. }) => self.decide_hunk(hunk, verdict),
            Some(Subject::File(_)) => self.decide_file(verdict),
            None => Effect::None,
        }
    }

    /// Decides all of the path that the person is at.
    pub(super) fn decide_file(&mut self, verdict: Verdict) -> Effect {
        let Some(at) = self.place() else { return Effect::None };
        let hunks = self.page().map(|page| page.hunks.clone()).unwrap_or_default();
        // Its hunks are decided with it, so that they still are where another Task changes more of the path.
        let mut marks: Vec<_> = hunks.into_iter().map(|hunk| (hunk, self.with_verdict(&hunk, verdict))).collect();
        let file = self.entries[at].subject;
        marks.push((file, self.with_verdict(&file, verdict)));
        let effect = self.put(at, marks);
        if verdict != Verdict::Undecided && self.focus == Focus::List {
            self.at = (self.at + 1).min(self.order.len() - 1);
        }
        effect
    }

    fn decide_hunk(&mut self, hunk: Subject, verdict: Verdict) -> Effect {
        let (Some(at), Some(page)) = (self.place(), self.page()) else { return Effect::None };
        let file = self.entries[at].subject;
        let decided = |each: &Subject| if *each == hunk { verdict } else { self.marks.verdict_in(&file, each) };
        let of_file = Verdict::of_all(page.hunks.iter().map(decided));
        let mut marks = vec![(hunk, self.with_verdict(&hunk, verdict))];
        if self.marks.verdict(&file) != of_file {
            marks.push((file, self.with_verdict(&file, of_file)));
        }
        let effect = self.put(at, marks);
        if verdict != Verdict::Undecided {
            self.go_to_open_hunk();
        }
        effect
    }

    /// Goes to the next hunk that is undecided, from the first one on where none is left below.
    fn go_to_open_hunk(&mut self) {
        let Some(page) = self.page() else { return };
        let is_open = |number: &usize| self.verdict(&page.hunks[*number]) == Verdict::Undecided;
        let (here, count) = (self.hunk, page.hunks.len());
        match (here..count).chain(0..here).find(is_open) {
            Some(next) => self.go_to_hunk(next),
            None => self.message = "Every hunk here is decided: ] goes to the next file, Tab to the list.".to_owned(),
        }
    }

    /// Marks the path as reviewed, or not any more.
    pub(super) fn toggle_reviewed(&mut self) -> Effect {
        let Some(at) = self.place() else { return Effect::None };
        let (file, mark) = self.file_mark(at);
        let is_reviewed = !mark.is_reviewed;
        let effect = self.put(at, vec![(file, Mark { is_reviewed, ..mark })]);
        if is_reviewed && self.focus == Focus::List {
            self.at = (self.at + 1).min(self.order.len() - 1);
        }
        effect
    }

    /// Notes something about what the person is at; nothing takes the note away.
    pub(super) fn note(&mut self, note: &str) -> Effect {
        let (Some(at), Some(subject)) = (self.place(), self.subject()) else { return Effect::None };
        let before = if matches!(subject, Subject::File(_)) { self.file_mark(at).1 } else { self.marks.of(&subject) };
        let mark = Mark { note: note.to_owned(), ..before };
        self.put(at, vec![(subject, mark)])
    }

    /// The mark of a file, with the verdict that holds: one that hunks were decided against later is not said again.
    fn file_mark(&self, at: usize) -> (Subject, Mark) {
        let entry = &self.entries[at];
        let verdict = match entry.state {
            FileState::Accepted => Verdict::Accepted,
            FileState::Rejected => Verdict::Rejected,
            FileState::Undecided | FileState::InPart => Verdict::Undecided,
        };
        (entry.subject, Mark { verdict, ..self.marks.of(&entry.subject) })
    }

    fn with_verdict(&self, subject: &Subject, verdict: Verdict) -> Mark {
        let mark = self.marks.of(subject);
        // Who decides about a file has read it.
        let is_read = matches!(subject, Subject::File(_)) && verdict != Verdict::Undecided;
        Mark { verdict, is_reviewed: mark.is_reviewed || is_read, note: mark.note }
    }

    fn put(&mut self, at: usize, marks: Vec<(Subject, Mark)>) -> Effect {
        marks.iter().for_each(|(subject, mark)| self.marks.put(*subject, mark.clone()));
        self.refresh(at);
        Effect::Keep(marks)
    }
}
