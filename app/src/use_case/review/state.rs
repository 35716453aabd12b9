//! The state of a review: what is listed, where a person is, and what they decided.

use super::entry::{Entry, FileState};
use super::keys::Key;
use super::page::Page;
use super::subjects;
use isobox_domain::report::{ContentFinding, Finding, RiskLevel};
use isobox_domain::review::{LONGEST_NOTE_BYTES, Mark, Marks, Subject, Verdict};
use std::cmp::Reverse;

/// What a person works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Focus {
    /// The list of paths.
    List,
    /// The lines of one of them.
    Page,
}

/// What is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// A note.
    Note(String),
    /// What to look for.
    Search(String),
}

/// What a key asks for besides another state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    None,
    /// These marks are to be kept.
    Keep(Vec<(Subject, Mark)>),
    /// The review is over.
    Quit,
    /// It is over, and what was accepted is to be promoted.
    Promote,
    /// It is over, and what was rejected is to be told.
    Feedback,
}

/// How many paths are in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) accepted: u64,
    pub(crate) rejected: u64,
    pub(crate) in_part: u64,
    pub(crate) undecided: u64,
    pub(crate) reviewed: u64,
}

/// A review in the terminal.
#[derive(Clone, Debug)]
pub(crate) struct Review {
    /// Every listed path, in the order of the Change Set.
    pub(super) entries: Vec<Entry>,
    /// How many changed paths are not listed.
    pub(super) unlisted: u64,
    pub(super) marks: Marks,
    /// The places of the entries, as they are listed.
    pub(super) order: Vec<u32>,
    /// What was found in contents, each with the place of its entry, in ascending order.
    found: Vec<(usize, ContentFinding)>,
    /// Where the person is in `order`.
    pub(super) at: usize,
    pub(super) focus: Focus,
    /// What was read last: of which entry, and what was found in it.
    pub(super) shown: Option<(usize, Page, Vec<Finding>)>,
    /// The hunk of the page that verdicts are about.
    pub(super) hunk: usize,
    /// The first line of the page on the screen.
    pub(super) top: usize,
    /// The first column of the page on the screen.
    pub(super) left: usize,
    /// How many rows of a list or page there are on the screen.
    pub(super) rows: usize,
    pub(super) input: Option<Input>,
    pub(super) last_search: String,
    pub(super) is_helping: bool,
    /// What the last key came to.
    pub(super) message: String,
}

impl Review {
    /// At the first path.
    pub(super) fn new(entries: Vec<Entry>, unlisted: u64, marks: Marks) -> Self {
        let order = (0..entries.len() as u32).collect();
        let mut review = Self {
            entries,
            unlisted,
            marks,
            order,
            found: Vec::new(),
            at: 0,
            focus: Focus::List,
            shown: None,
            hunk: 0,
            top: 0,
            left: 0,
            rows: 1,
            input: None,
            last_search: String::new(),
            is_helping: false,
            message: String::new(),
        };
        (0..review.entries.len()).for_each(|at| review.refresh(at));
        review.rank();
        review.at = 0;
        review
    }

    /// Does what a key says.
    pub(crate) fn press(&mut self, key: Key) -> Effect {
        self.message.clear();
        if key == Key::Interrupt {
            return Effect::Quit;
        }
        if self.is_helping {
            self.is_helping = false;
            return Effect::None;
        }
        match self.input.take() {
            Some(input) => self.typed(input, key),
            None => self.command(key),
        }
    }

    fn command(&mut self, key: Key) -> Effect {
        match key {
            Key::Char('q') => return Effect::Quit,
            Key::Char('P') if self.tally().accepted + self.tally().in_part == 0 => {
                self.message = "Nothing is accepted yet: y accepts.".to_owned();
            }
            Key::Char('P') => return Effect::Promote,
            Key::Char('f') => return Effect::Feedback,
            Key::Char('?') => self.is_helping = true,
            Key::Char('/') => self.input = Some(Input::Search(String::new())),
            Key::Char('e' | 'c') => {
                self.input = self.subject().map(|subject| Input::Note(self.marks.of(&subject).note))
            }
            Key::Char('y') => return self.decide(Verdict::Accepted),
            Key::Char('n') => return self.decide(Verdict::Rejected),
            Key::Char('u') => return self.decide(Verdict::Undecided),
            Key::Char('Y') => return self.decide_file(Verdict::Accepted),
            Key::Char('N') => return self.decide_file(Verdict::Rejected),
            Key::Char('r' | ' ') => return self.toggle_reviewed(),
            key => self.go(key),
        }
        Effect::None
    }

    /// Goes on with what is being typed.
    fn typed(&mut self, input: Input, key: Key) -> Effect {
        let (Input::Note(mut text) | Input::Search(mut text)) = input.clone();
        match key {
            Key::Escape => return Effect::None,
            Key::Enter => {
                return match input {
                    Input::Note(note) => self.note(note.trim()),
                    Input::Search(text) => {
                        self.search(text);
                        Effect::None
                    }
                };
            }
            Key::Backspace => {
                text.pop();
            }
            Key::Char(c) if !c.is_control() && text.len() + c.len_utf8() <= LONGEST_NOTE_BYTES => text.push(c),
            _ => {}
        }
        self.input = Some(match input {
            Input::Note(_) => Input::Note(text),
            Input::Search(_) => Input::Search(text),
        });
        Effect::None
    }

    /// The path that the person is at, by its place among the entries.
    pub(super) fn place(&self) -> Option<usize> {
        self.order.get(self.at).map(|&place| place as usize)
    }

    /// The page of the path that the person is at, once it was read.
    pub(crate) fn page(&self) -> Option<&Page> {
        let (of, page, _) = self.shown.as_ref()?;
        (Some(*of) == self.place()).then_some(page)
    }

    /// What deserves a look about the path that the person is at, once it was read.
    pub(crate) fn findings(&self) -> &[Finding] {
        match &self.shown {
            Some((of, _, findings)) if Some(*of) == self.place() => findings,
            _ => &[],
        }
    }

    /// Whether the path that the person is at was not read yet.
    pub(crate) fn is_unread(&self) -> bool {
        self.unread().is_some()
    }

    /// Whether the path that the person is at has to be read before a key is pressed.
    pub(crate) fn needs_page(&self, key: Key) -> bool {
        // What is decided about a file holds for its hunks, so that they have to be known.
        let is_verdict = matches!(key, Key::Char('y' | 'n' | 'u' | 'Y' | 'N'));
        self.is_unread() && (self.focus == Focus::Page || is_verdict && self.input.is_none())
    }

    /// The path that is to be read next, if any.
    pub(super) fn unread(&self) -> Option<usize> {
        self.place().filter(|_| self.page().is_none())
    }

    /// Shows what was read of a path.
    pub(super) fn show(&mut self, of: usize, page: Page, findings: Vec<Finding>) {
        self.shown = Some((of, page, findings));
        (self.hunk, self.top, self.left) = (0, 0, 0);
        self.refresh(of);
    }

    /// Notes what the content of a path came to.
    pub(super) fn found(&mut self, at: usize, level: Option<RiskLevel>, content: Vec<ContentFinding>) {
        self.entries[at].level = level;
        self.found.extend(content.into_iter().map(|found| (at, found)));
    }

    /// What was found in the content of a path so far.
    pub(super) fn found_in(&self, at: usize) -> Vec<ContentFinding> {
        let first = self.found.partition_point(|(place, _)| *place < at);
        self.found[first..].iter().take_while(|(place, _)| *place == at).map(|(_, found)| *found).collect()
    }

    /// Lists the paths that deserve a look first, in the order of their paths otherwise. The person stays where they are, unless
    /// they have not gone anywhere yet.
    pub(super) fn rank(&mut self) {
        let (here, has_moved) = (self.place(), self.at > 0 || self.focus == Focus::Page);
        let entries = &self.entries;
        self.order.sort_by_key(|&place| (Reverse(entries[place as usize].level), place));
        if has_moved {
            let stays = |place: &u32| Some(*place as usize) == here;
            self.at = self.order.iter().position(stays).unwrap_or(0);
        }
    }

    /// Makes an entry tell what its marks say.
    pub(super) fn refresh(&mut self, at: usize) {
        let entry = &self.entries[at];
        let mark = self.marks.of(&entry.subject);
        let hunks = self.shown.as_ref().filter(|(of, ..)| *of == at).map(|(_, page, _)| page.hunks.as_slice());
        let hunks = hunks.filter(|hunks| !hunks.is_empty());
        let in_file = |hunk| self.marks.verdict_in(&entry.subject, hunk);
        let path = subjects::path(&entry.change.path);
        let (verdict, is_any_decided) = match hunks {
            Some(hunks) => {
                let is_decided = |hunk| in_file(hunk) != Verdict::Undecided;
                (Verdict::of_all(hunks.iter().map(in_file)), hunks.iter().any(is_decided))
            }
            None if self.marks.holds_for_hunks(&entry.subject, &path) => (mark.verdict, false),
            // Which of its hunks are decided is known once they were read.
            None => (Verdict::Undecided, true),
        };
        let state = match (verdict, is_any_decided) {
            (Verdict::Accepted, _) => FileState::Accepted,
            (Verdict::Rejected, _) => FileState::Rejected,
            (Verdict::Undecided, true) => FileState::InPart,
            (Verdict::Undecided, false) => FileState::Undecided,
        };
        let entry = &mut self.entries[at];
        (entry.state, entry.is_reviewed) = (state, mark.is_reviewed);
    }

    /// How many paths are in each state.
    pub(crate) fn tally(&self) -> Tally {
        let mut tally = Tally { undecided: self.unlisted, ..Tally::default() };
        for entry in &self.entries {
            *match entry.state {
                FileState::Accepted => &mut tally.accepted,
                FileState::Rejected => &mut tally.rejected,
                FileState::InPart => &mut tally.in_part,
                FileState::Undecided => &mut tally.undecided,
            } += 1;
            tally.reviewed += u64::from(entry.is_reviewed);
        }
        tally
    }

    /// The paths as they are listed.
    pub(crate) fn listed(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.order.iter().map(|&place| &self.entries[place as usize])
    }

    /// The path that the person is at.
    pub(crate) fn entry(&self) -> Option<&Entry> {
        self.place().map(|place| &self.entries[place])
    }

    /// Where the person is among the paths as they are listed.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    /// What the person works with.
    pub(crate) const fn focus(&self) -> Focus {
        self.focus
    }

    /// The hunk that the person is at, and the first line and column of the page on the screen.
    pub(crate) const fn view(&self) -> (usize, usize, usize) {
        (self.hunk, self.top, self.left)
    }

    /// What is being typed.
    pub(crate) const fn input(&self) -> Option<&Input> {
        self.input.as_ref()
    }

    /// Whether the keys are shown.
    pub(crate) const fn is_helping(&self) -> bool {
        self.is_helping
    }

    /// What the last key came to.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// What is decided about a hunk of the page.
    pub(crate) fn verdict(&self, subject: &Subject) -> Verdict {
        self.entry().map_or(Verdict::Undecided, |entry| self.marks.verdict_in(&entry.subject, subject))
    }

    /// The note about what the person is at.
    pub(crate) fn noted(&self) -> String {
        self.subject().map(|subject| self.marks.of(&subject).note).unwrap_or_default()
    }

    /// Tells how many rows of a list or a page the screen has.
    pub(crate) fn resize(&mut self, rows: usize) {
        self.rows = rows.max(1);
    }

    /// Tells something on the next screen.
    pub(crate) fn tell(&mut self, message: String) {
        self.message = message;
    }
}
