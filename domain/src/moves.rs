//! Which changed lines of a patch were moved: blocks of lines that one place lost and another has.
//!
//! The rules are those of Git's `--color-moved=zebra`: a block is as long as both places agree, and counts if it has 20 letters
//! and digits. The caller brings the hash of a line, which has to be one that whoever wrote it cannot foresee.

/// Letters and digits that a block has at least.
const LEAST_WEIGHT: u32 = 20;
/// Most lines that are compared, of both sides together. Of a patch with more no line is told as moved.
const MOST_LINES: usize = 200_000;
/// Most places that a line is looked for at.
const MOST_PLACES: usize = 32;

/// On which side a changed line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It is there no more.
    Removed,
    /// It was not there before.
    Added,
}

/// What is known of a changed line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It is on one side alone.
    Unmoved,
    /// It was moved.
    Moved,
    /// The same, of a block that follows another one.
    MovedApart,
}

struct Line {
    hash: u64,
    weight: u32,
    side: Side,
    /// Whether the changed line before it does not stand before it in its file.
    begins: bool,
}

/// Takes the changed lines of a patch.
#[derive(Default)]
pub struct MovedLines {
    lines: Vec<Line>,
    is_full: bool,
}

impl MovedLines {
    /// Takes the next line: its hash, its letters and digits, and whether it stands apart from the one before.
    pub fn push(&mut self, side: Side, hash: u64, weight: u32, is_apart: bool) {
        self.is_full |= self.lines.len() >= MOST_LINES;
        if !self.is_full {
            let begins = is_apart || self.lines.last().is_none_or(|last| last.side != side);
            self.lines.push(Line { hash, weight, side, begins });
        }
    }

    /// The marks of the lines, in their order; none where there were too many.
    pub fn marks(self) -> Vec<Mark> {
        if self.is_full {
            return Vec::new();
        }
        let mut marks = vec![Mark::Unmoved; self.lines.len()];
        for (side, other) in [(Side::Removed, Side::Added), (Side::Added, Side::Removed)] {
            self.mark(side, &self.places(other), &mut marks);
        }
        marks
    }

    /// The lines of `side` by their hashes.
    fn places(&self, side: Side) -> Vec<(u64, u32)> {
        let lines = self.lines.iter().enumerate().filter(|(_, line)| line.side == side);
        let mut places: Vec<_> = lines.map(|(at, line)| (line.hash, at as u32)).collect();
        places.sort_unstable();
        places
    }

    fn mark(&self, side: Side, places: &[(u64, u32)], marks: &mut [Mark]) {
        // Where the block that is open began, and where its last line is on the other side, as far as can be told.
        let (mut begin, mut counterparts): (usize, Vec<u32>) = (0, Vec::new());
        let mut last = None;
        for (at, line) in self.lines.iter().enumerate() {
            let goes_on: Vec<u32> = match line.side == side && !line.begins {
                true => counterparts.iter().filter_map(|place| self.next(*place, line.hash)).collect(),
                false => Vec::new(),
            };
            if !goes_on.is_empty() {
                counterparts = goes_on;
                continue;
            }
            if !counterparts.is_empty() {
                self.close(begin..at, &mut last, marks);
            }
            begin = at;
            counterparts.clear();
            if line.side == side {
                let first = places.partition_point(|(hash, _)| *hash < line.hash);
                let same = places[first..].iter().take(MOST_PLACES).take_while(|(hash, _)| *hash == line.hash);
                counterparts.extend(same.map(|(_, place)| *place));
            }
        }
        if !counterparts.is_empty() {
            self.close(begin..self.lines.len(), &mut last, marks);
        }
    }

    /// The line behind `place`, if it has `hash`.
    fn next(&self, place: u32, hash: u64) -> Option<u32> {
        let next = self.lines.get(place as usize + 1)?;
        (!next.begins && next.hash == hash).then_some(place + 1)
    }

    fn close(&self, block: std::ops::Range<usize>, last: &mut Option<(usize, Mark)>, marks: &mut [Mark]) {
        let weight = self.lines[block.clone()].iter().fold(0_u32, |sum, line| sum.saturating_add(line.weight));
        if weight < LEAST_WEIGHT {
            return;
        }
        let mark = match last {
            Some((end, Mark::Moved)) if *end == block.start => Mark::MovedApart,
            _ => Mark::Moved,
        };
        *last = Some((block.end, mark));
        marks[block].fill(mark);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as a patch has them; an empty one stands for what is between two places.
    fn marks(lines: &[&str]) -> String {
        let (mut moved, mut is_apart) = (MovedLines::default(), true);
        for line in lines {
            let Some((sign, text)) = line.split_at_checked(1) else {
                is_apart = true;
                continue;
            };
            let side = if sign == "-" { Side::Removed } else { Side::Added };
            let hash = text.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
            moved.push(side, hash, text.bytes().filter(u8::is_ascii_alphanumeric).count() as u32, is_apart);
            is_apart = false;
        }
        let letter = |mark| match mark {
            Mark::Unmoved => '.',
            Mark::Moved => 'm',
            Mark::MovedApart => 'a',
        };
        moved.marks().into_iter().map(letter).collect()
    }

    const LONG: &str = "a line that is long enough";

    #[test]
    fn a_block_that_another_place_has_was_moved() {
        let (gone, come) = (format!("-{LONG}"), format!("+{LONG}"));
        assert_eq!(marks(&[&gone, "-}", "", "+other", &come, "+}"]), "mm.mm");
        assert_eq!(marks(&[&gone, "-changed", "", &come, "+otherwise"]), "m.m.");
        assert_eq!(marks(&["-}", "-short", "", "+}", "+short"]), "....", "too little to tell");
        assert_eq!(marks(&[&gone, "", &gone]), "..", "the same side");
    }

    #[test]
    fn blocks_that_follow_each_other_are_told_apart() {
        let of = |sign: &str, number: u32| format!("{sign}{LONG} {number}");
        let lines = [of("-", 1), of("-", 2), String::new(), of("+", 2), of("+", 1)];
        assert_eq!(marks(&lines.each_ref().map(String::as_str)), "mama");
    }
}
