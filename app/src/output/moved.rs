//! Finds the lines of a patch that were moved, before it is shown.

use crate::output::patch_lines::{LineKind, Piece, Pieces};
use isobox_domain::moves::{Mark, MovedLines, Side};
use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::io;

/// Takes the pieces of a patch.
pub(crate) struct MoveSearch {
    /// Random, so that nobody can write a line that is taken for another one.
    hashes: RandomState,
    lines: MovedLines,
    /// The line whose beginning was taken: its hash so far, its letters and digits.
    open: Option<(DefaultHasher, u32)>,
    is_apart: bool,
}

impl MoveSearch {
    pub(crate) fn new() -> Self {
        Self { hashes: RandomState::new(), lines: MovedLines::default(), open: None, is_apart: true }
    }

    /// What was found of the changed lines, in their order.
    pub(crate) fn marks(self) -> Vec<Mark> {
        self.lines.marks()
    }
}

impl Pieces for MoveSearch {
    fn take(&mut self, piece: Piece<'_>) -> io::Result<()> {
        let side = match piece.kind {
            LineKind::Removed => Side::Removed,
            LineKind::Added => Side::Added,
            LineKind::Header if piece.text.starts_with(b"\\") => return Ok(()),
            _ => {
                self.is_apart = true;
                return Ok(());
            }
        };
        let (mut hasher, weight) = self.open.take().unwrap_or_else(|| (self.hashes.build_hasher(), 0));
        hasher.write(piece.text);
        let found = piece.text.iter().filter(|byte| byte.is_ascii_alphanumeric() || **byte >= 0x80).count();
        let weight = weight.saturating_add(u32::try_from(found).unwrap_or(u32::MAX));
        match piece.ends {
            true => {
                self.lines.push(side, hasher.finish(), weight, self.is_apart);
                self.is_apart = false;
            }
            false => self.open = Some((hasher, weight)),
        }
        Ok(())
    }
}
