//! What the verification of a Task Store found: every defect, the records that it touches, and what follows from them.

mod leftovers;

pub use leftovers::{Leftovers, TornTail};

use crate::content::ContentId;
use crate::task_id::TaskId;
use std::num::NonZeroU32;

/// How much of a store is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thoroughness {
    /// Every header and COMMIT, and whether what they name is there.
    Quick,
    /// That, and the content of some entries.
    Sampled(Sample),
    /// That, and the content of every entry.
    Full,
    /// That, and the meaning of every record, Change Set and event.
    Deep,
}

impl Thoroughness {
    /// Whether the content named `id` is read.
    pub fn takes(self, id: &ContentId) -> bool {
        match self {
            Self::Quick => false,
            Self::Sampled(sample) => sample.takes(id),
            Self::Full | Self::Deep => true,
        }
    }

    /// Whether all content is read.
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::Full | Self::Deep)
    }
}

/// One of several equal parts of all content: the parts together are everything, and share nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// From 1.
    part: u32,
    of: u32,
}

impl Sample {
    /// Part `part` of `of`, which starts at 1; `None` if there is no such part.
    pub fn new(part: u32, of: u32) -> Option<Self> {
        (part >= 1 && part <= of).then_some(Self { part, of })
    }

    /// The part of `of` for a day, counted from any day on: after `of` days each part had its turn.
    pub fn of_day(day: u64, of: NonZeroU32) -> Self {
        // The remainder is less than a 32-bit number.
        let part = (day % u64::from(of.get())) as u32 + 1;
        Self { part, of: of.get() }
    }

    /// Which part, from 1, of how many.
    pub const fn parts(self) -> (u32, u32) {
        (self.part, self.of)
    }

    // The digits of a hash are as good as drawn by lot.
    fn takes(self, id: &ContentId) -> bool {
        let [a, b, c, d, ..] = *id.as_bytes();
        u32::from_le_bytes([a, b, c, d]) % self.of == self.part - 1
    }
}

/// A record that a defect touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Affected {
    /// Its Task.
    pub task: TaskId,
    /// Which attempt.
    pub attempt: u32,
    /// Its digest.
    pub record: ContentId,
}

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// What it is.
    pub kind: DefectKind,
    /// The records that it touches, as far as they can be known; at most as many as are told.
    pub records: Vec<Affected>,
    /// How many more there are.
    pub untold_records: u64,
}

impl Defect {
    /// How many records are told.
    pub const TOLD: usize = 1000;

    /// A defect that touches `records`.
    pub fn new(kind: DefectKind, records: Vec<Affected>) -> Self {
        Self { kind, records, untold_records: 0 }
    }

    /// Adds a record that it touches, or counts it if enough are told. The same may come several times in a row.
    pub fn touch(&mut self, who: Affected) {
        if self.records.last() == Some(&who) {
            return;
        }
        if self.records.len() < Self::TOLD {
            self.records.push(who);
        } else {
            self.untold_records += 1;
        }
    }
}

/// A kind of defect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefectKind {
    /// Bytes are not what was written.
    Damaged {
        /// The file, escaped for people.
        file: String,
        /// Where they start, in bytes.
        offset: u64,
        /// What is wrong with them.
        reason: String,
        /// The object that they held, if that is known.
        object: Option<ContentId>,
    },
    /// A record refers to content that is not there.
    Missing {
        /// The content.
        object: ContentId,
    },
    /// COMMITs of a lane are not there, or do not follow one another.
    Gap {
        /// Which, as a sentence without its end.
        reason: String,
    },
    /// What the transparency log or an older checkpoint says was there is not there any more, or is another.
    History {
        /// What, as a sentence without its end.
        reason: String,
    },
    /// A checkpoint is not vouched for.
    Signature {
        /// Which and why, as a sentence without its end.
        reason: String,
    },
}

/// What is to be said of a store in one respect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is wrong in what was looked at.
    Holds,
    /// Something is wrong.
    Broken,
    /// There is nothing by which it could be told.
    Unknown,
}

impl Verdict {
    /// The name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Broken => "broken",
            Self::Unknown => "unknown",
        }
    }
}

/// What there was by which to tell whether a store is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LogLook {
    /// The transparency log was not looked at: single records were verified.
    #[default]
    Left,
    /// There is no log.
    Absent,
    /// Every COMMIT in the log was looked for.
    Looked {
        /// How many COMMITs the log has.
        size: u64,
        /// How many more the lanes have.
        unlogged: u64,
        /// Whether all of the log could be read.
        is_whole: bool,
        /// The keys that vouch for its newest checkpoint, by their names; none where no key is known.
        vouched: Vec<String>,
    },
}

/// What a verification read, and what it found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Files of entries.
    pub packs: u64,
    /// Entries in them.
    pub entries: u64,
    /// COMMITs of records.
    pub records: u64,
    /// COMMITs of events.
    pub events: u64,
    /// Objects whose content was read and compared with its digest.
    pub read: u64,
    /// How much content that was, in bytes.
    pub read_bytes: u64,
    /// What is wrong, at most as many as are told.
    pub defects: Vec<Defect>,
    /// How many more there are.
    pub untold: u64,
    /// What belongs to nothing, and is no defect.
    pub leftovers: Leftovers,
    /// What was seen of the transparency log.
    pub log: LogLook,
}

impl Verification {
    /// How many defects are told.
    pub const TOLD: usize = 1000;

    /// Adds a defect, or counts it if enough are told.
    pub fn add(&mut self, defect: Defect) {
        if self.defects.len() < Self::TOLD {
            self.defects.push(defect);
        } else {
            self.untold += 1;
        }
    }

    /// Takes in what another part of the work read and found.
    pub fn merge(&mut self, part: Self) {
        self.packs += part.packs;
        self.entries += part.entries;
        self.records += part.records;
        self.events += part.events;
        self.read += part.read;
        self.read_bytes += part.read_bytes;
        self.untold += part.untold;
        part.defects.into_iter().for_each(|defect| self.add(defect));
        self.leftovers.merge(part.leftovers);
        if part.log != LogLook::Left {
            self.log = part.log;
        }
    }

    /// Whether everything is as it was written.
    pub fn is_sound(&self) -> bool {
        self.defects.is_empty()
    }

    /// Whether the bytes that are there are those that were written.
    pub fn integrity(&self) -> Verdict {
        self.told(self.has(|kind| matches!(kind, DefectKind::Damaged { .. })))
    }

    /// Whether nothing is missing: by what records refer to, the chains of the lanes, the transparency log, and older
    /// checkpoints.
    pub fn completeness(&self) -> Verdict {
        let is_broken = |kind: &DefectKind| {
            matches!(kind, DefectKind::Missing { .. } | DefectKind::Gap { .. } | DefectKind::History { .. })
        };
        let told = self.told(self.has(is_broken));
        match &self.log {
            // Without a log, or with a part of it, nobody can tell whether the newest are there.
            LogLook::Left | LogLook::Absent | LogLook::Looked { is_whole: false, .. } if told == Verdict::Holds => {
                Verdict::Unknown
            }
            _ => told,
        }
    }

    // What is not told can be of either kind.
    const fn told(&self, is_broken: bool) -> Verdict {
        if is_broken {
            Verdict::Broken
        } else if self.untold > 0 {
            Verdict::Unknown
        } else {
            Verdict::Holds
        }
    }

    /// Whether somebody whose key is known vouches for the log.
    pub fn signature(&self) -> Verdict {
        if self.has(|kind| matches!(kind, DefectKind::Signature { .. })) {
            return Verdict::Broken;
        }
        match &self.log {
            LogLook::Looked { vouched, .. } if !vouched.is_empty() => self.told(false),
            LogLook::Left | LogLook::Absent | LogLook::Looked { .. } => Verdict::Unknown,
        }
    }

    fn has(&self, is_such: impl Fn(&DefectKind) -> bool) -> bool {
        self.defects.iter().any(|defect| is_such(&defect.kind))
    }
}

#[cfg(test)]
mod tests;
