//! Terminals that workloads get.

/// How many characters a terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    /// Characters in a row; 0 where nobody knows.
    pub columns: u16,
    /// Rows; 0 where nobody knows.
    pub rows: u16,
}
