//! How much a Task Store holds, and what it takes on disk.

/// What kinds of content a store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentKind {
    /// Task Records.
    Record,
    /// Events.
    Event,
    /// Effective Policies.
    Policy,
    /// Standard outputs and errors.
    Output,
    /// Patches.
    Patch,
    /// Change Sets: their indexes and chunks.
    ChangeSet,
    /// Files that Change Sets name.
    File,
    /// Archives: Git objects of Workspaces, and files of imported records.
    Archive,
    /// What records were imported from.
    Imported,
    /// Content of any kind that has a file of its own because of its size.
    Large,
    /// COMMITs.
    Commit,
}

impl ContentKind {
    /// Every kind, in the order in which they are told.
    pub const ALL: [Self; 11] = [
        Self::Record,
        Self::Event,
        Self::Policy,
        Self::Output,
        Self::Patch,
        Self::ChangeSet,
        Self::File,
        Self::Archive,
        Self::Imported,
        Self::Large,
        Self::Commit,
    ];

    /// The name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Record => "records",
            Self::Event => "events",
            Self::Policy => "policies",
            Self::Output => "outputs",
            Self::Patch => "patches",
            Self::ChangeSet => "change_sets",
            Self::File => "files",
            Self::Archive => "archives",
            Self::Imported => "imported",
            Self::Large => "large_artifacts",
            Self::Commit => "commits",
        }
    }

    /// Whether records refer to it.
    const fn is_referred_to(self) -> bool {
        !matches!(self, Self::Record | Self::Event | Self::Commit)
    }
}

/// Some pieces of content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// How many.
    pub count: u64,
    /// Their length.
    pub raw_bytes: u64,
    /// Their length as they are stored, compressed where that is shorter.
    pub stored_bytes: u64,
}

impl Amount {
    /// Adds a piece.
    pub fn add(&mut self, raw_bytes: u64, stored_bytes: u64) {
        self.merge(Self { count: 1, raw_bytes, stored_bytes });
    }

    /// Adds others.
    pub fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.raw_bytes += other.raw_bytes;
        self.stored_bytes += other.stored_bytes;
    }
}

/// Some files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// How many.
    pub count: u64,
    /// Their length.
    pub bytes: u64,
}

impl Files {
    /// Adds a file.
    pub fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
    }
}

/// The files of a store, by what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreFiles {
    /// Open packs.
    pub lanes: Files,
    /// Sealed packs.
    pub packs: Files,
    /// Large artifacts.
    pub large: Files,
    /// Tables that were derived from packs.
    pub tables: Files,
    /// All others: locks, attempts under way.
    pub others: Files,
    /// Directories.
    pub directories: u64,
}

impl StoreFiles {
    /// How many inodes the store takes.
    pub const fn inodes(&self) -> u64 {
        let Self { lanes, packs, large, tables, others, directories } = self;
        lanes.count + packs.count + large.count + tables.count + others.count + *directories
    }

    /// The length of all files.
    pub const fn bytes(&self) -> u64 {
        let Self { lanes, packs, large, tables, others, .. } = self;
        lanes.bytes + packs.bytes + large.bytes + tables.bytes + others.bytes
    }
}

/// What takes room and is of no use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unreferenced {
    /// Copies of what is stored elsewhere too: of policies, one on purpose.
    pub duplicates: Amount,
    /// Entries that no COMMIT makes visible: of writers that were killed, or have not come to their COMMIT yet.
    pub abandoned: Amount,
    /// Large artifacts that no COMMIT names.
    pub large: Amount,
    /// What only pruned records refer to, they themselves included, until a sweep removes it.
    pub pruned: Amount,
    /// Bytes of packs that are no entries.
    pub damaged_bytes: u64,
}

impl Unreferenced {
    /// All of it, as it is stored.
    pub const fn bytes(&self) -> u64 {
        let Self { duplicates, abandoned, large, pruned, damaged_bytes } = self;
        duplicates.stored_bytes + abandoned.stored_bytes + large.stored_bytes + pruned.stored_bytes + *damaged_bytes
    }
}

/// What a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measurement {
    /// What is stored, copies included, in the order of [`ContentKind::ALL`].
    kinds: [Amount; ContentKind::ALL.len()],
    /// What records refer to, each time that one does.
    pub referred: Files,
    /// What is of no use.
    pub unreferenced: Unreferenced,
    /// Records that were pruned: their COMMITs stay.
    pub pruned_records: u64,
    /// Headers of entries and blocks, in bytes.
    pub header_bytes: u64,
    /// Change Sets that could not be read: what they refer to is not in `referred`.
    pub unread_change_sets: u64,
    /// The files.
    pub files: StoreFiles,
}

impl Measurement {
    /// What is stored of a kind, copies included.
    pub fn of(&self, kind: ContentKind) -> Amount {
        self.kinds[kind as usize]
    }

    /// Adds a piece of content.
    pub fn add(&mut self, kind: ContentKind, raw_bytes: u64, stored_bytes: u64) {
        self.kinds[kind as usize].add(raw_bytes, stored_bytes);
    }

    /// Everything that is stored, copies included.
    pub fn total(&self) -> Amount {
        self.sum(|_| true)
    }

    /// How many bytes records refer to for each byte of content that is stored for them; `None` where there is none.
    pub fn dedup_ratio(&self) -> Option<f64> {
        let stored = self.sum(ContentKind::is_referred_to).raw_bytes;
        ratio(self.referred.bytes, stored.saturating_sub(self.unreferenced.duplicates.raw_bytes))
    }

    /// How many bytes of content there are for each byte that they take; `None` where there are none.
    pub fn compression_ratio(&self) -> Option<f64> {
        let total = self.total();
        ratio(total.raw_bytes, total.stored_bytes)
    }

    fn sum(&self, is_counted: impl Fn(ContentKind) -> bool) -> Amount {
        let mut sum = Amount::default();
        ContentKind::ALL.into_iter().filter(|kind| is_counted(*kind)).for_each(|kind| sum.merge(self.of(kind)));
        sum
    }
}

fn ratio(of: u64, to: u64) -> Option<f64> {
    (to > 0).then(|| of as f64 / to as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_count_content_once_and_what_refers_to_it_each_time() {
        let mut found = Measurement::default();
        assert_eq!((found.dedup_ratio(), found.compression_ratio()), (None, None));
        found.add(ContentKind::Record, 1000, 500);
        // One output, in two copies, that three records refer to.
        found.add(ContentKind::Output, 300, 250);
        found.add(ContentKind::Output, 300, 250);
        found.unreferenced.duplicates.add(300, 250);
        (0..3).for_each(|_| found.referred.add(300));
        assert_eq!(found.dedup_ratio(), Some(3.0));
        assert_eq!(found.compression_ratio(), Some(1.6));
        assert_eq!(found.total(), Amount { count: 3, raw_bytes: 1600, stored_bytes: 1000 });
    }

    #[test]
    fn every_kind_has_a_place_of_its_own() {
        for (at, kind) in ContentKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, at);
        }
    }
}
