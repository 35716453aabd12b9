//! What the lines say that a path gained and lost.

use super::marks::{Mark, Piece, marks};
use super::{Finding, RiskCategory};
use std::collections::HashMap;

/// Most marks of one path that are told apart; more of them are counted.
const MOST_MARKS: usize = 4096;

/// Whether a line came or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The path has it now.
    Added,
    /// The path had it before.
    Removed,
}

/// Something that the lines of a path gained, or lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentFinding {
    /// The category.
    pub category: RiskCategory,
    /// What it is, in words of isobox's own: nothing of the content is in them.
    pub what: &'static str,
    /// The first line of it, counted from 1: in the file as it is now, or as it was for what was lost.
    pub line: Option<u32>,
    /// How many there are.
    pub count: u32,
}

impl ContentFinding {
    /// That the lines were not there to be looked at.
    pub(super) const UNEXAMINED: Self = Self { category: RiskCategory::Unexamined, what: "", line: None, count: 1 };

    /// The finding for people.
    pub(super) fn told(&self) -> Finding {
        let Some(line) = self.line else { return Finding::plain(self.category) };
        let more = if self.count > 1 { format!(", {} in all", self.count) } else { String::new() };
        let (now, before) = if self.category.is_about_loss() { (None, " of before") } else { (Some(line), "") };
        let note = format!("{}, line {line}{before}{more}", self.what);
        Finding { line: now, ..Finding::noted(self.category, note) }
    }
}

/// Marks that are alike cancel each other out where one side lost what the other gained.
type Key = (RiskCategory, &'static str, u64);

/// Looks at the changed lines of one path.
#[derive(Debug, Default)]
pub(super) struct ContentScan {
    name: Vec<u8>,
    /// Per mark, how many more were gained than lost, and the first line of either side.
    net: HashMap<Key, Net>,
    /// Those that there was no room for, which cancel nothing out.
    beyond: HashMap<(RiskCategory, &'static str), (u32, u32)>,
}

#[derive(Debug, Default)]
struct Net {
    more: i64,
    gained_at: Option<u32>,
    lost_at: Option<u32>,
}

impl ContentScan {
    pub(super) fn of(path: &[u8]) -> Self {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path).to_ascii_lowercase();
        Self { name, ..Self::default() }
    }

    /// Takes a line, or a piece of one.
    pub(super) fn take(&mut self, side: Side, piece: Piece<'_>) {
        for mark in marks(&self.name, piece) {
            self.note(side, piece.number, mark);
        }
    }

    fn note(&mut self, side: Side, number: u32, mark: Mark) {
        let key = (mark.category, mark.what, mark.key);
        if self.net.len() >= MOST_MARKS && !self.net.contains_key(&key) {
            let is_lost = side == Side::Removed;
            if is_lost == mark.category.is_about_loss() {
                let beyond = self.beyond.entry((mark.category, mark.what)).or_insert((number, 0));
                beyond.1 = beyond.1.saturating_add(1);
            }
            return;
        }
        let net = self.net.entry(key).or_default();
        let (step, at) = match side {
            Side::Added => (1, &mut net.gained_at),
            Side::Removed => (-1, &mut net.lost_at),
        };
        net.more += step;
        at.get_or_insert(number);
    }

    /// What was found, in the order of the categories and of lines.
    pub(super) fn finish(self) -> Vec<ContentFinding> {
        let mut found: HashMap<(RiskCategory, &'static str), (u32, u32)> = self.beyond;
        for ((category, what, _), net) in self.net {
            let (count, at) = match category.is_about_loss() {
                true => (-net.more, net.lost_at),
                false => (net.more, net.gained_at),
            };
            let (Ok(count @ 1..), Some(at)) = (u32::try_from(count), at) else { continue };
            let known = found.entry((category, what)).or_insert((at, 0));
            *known = (known.0.min(at), known.1.saturating_add(count));
        }
        let finding = |((category, what), (line, count))| ContentFinding { category, what, line: Some(line), count };
        let mut findings: Vec<_> = found.into_iter().map(finding).collect();
        findings.sort_by_key(|finding| (finding.category.index(), finding.line, finding.what));
        findings
    }
}
