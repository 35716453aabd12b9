//! What the check of some packs found, until all are put together.

use super::chains::Run;
use crate::index::Pack;
use isobox_domain::content::ContentId;
use isobox_domain::verification::Verification;

/// A member of a block that cannot be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    pub(super) object: ContentId,
    pub(super) pack: Pack,
    /// Where the block starts.
    pub(super) offset: u64,
}

/// Bytes of a pack that are no entry. What a table says is there is not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hurt {
    pub(super) pack: Pack,
    pub(super) offset: u64,
    pub(super) end: u64,
}

/// What the check of some packs found.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) found: Verification,
    pub(super) runs: Vec<Run>,
    /// At most [`Part::MOST_LOST`].
    pub(super) lost: Vec<Lost>,
    /// At most [`Part::MOST_HURT`].
    pub(super) hurt: Vec<Hurt>,
}

impl Part {
    /// So many members of damaged blocks are noted, 72 bytes each.
    pub(super) const MOST_LOST: usize = 1 << 16;

    /// So many places that are no entries are noted.
    pub(super) const MOST_HURT: usize = 1024;

    /// Takes in what the check of other packs found.
    pub(super) fn merge(&mut self, part: Self) {
        self.found.merge(part.found);
        self.runs.extend(part.runs);
        let room = Self::MOST_LOST.saturating_sub(self.lost.len());
        self.lost.extend(part.lost.into_iter().take(room));
        let room = Self::MOST_HURT.saturating_sub(self.hurt.len());
        self.hurt.extend(part.hurt.into_iter().take(room));
    }
}
