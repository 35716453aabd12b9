//! How many lines of text a patch adds and removes.

use crate::output::patch_lines::{LineKind, Piece, Pieces};
use std::io;

/// Counts the lines of a patch that passes by. Binary content has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineCount {
    pub(crate) added: u64,
    pub(crate) removed: u64,
}

impl Pieces for LineCount {
    fn take(&mut self, piece: Piece<'_>) -> io::Result<()> {
        self.added += u64::from(piece.ends && piece.kind == LineKind::Added);
        self.removed += u64::from(piece.ends && piece.kind == LineKind::Removed);
        Ok(())
    }
}
