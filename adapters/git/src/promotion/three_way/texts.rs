//! Merging the lines of a file, as Git does: gix has the algorithm.

use gix::bstr::ByteSlice;
use gix::merge::blob::Resolution;
use gix::merge::blob::builtin_driver::text::{Conflict, ConflictStyle, Labels, Options};
use std::num::NonZeroU8;

/// The bytes of the three sides of a file.
pub(super) struct Whole {
    pub(super) base: Vec<u8>,
    pub(super) ours: Vec<u8>,
    pub(super) theirs: Vec<u8>,
}

/// How the attributes and the configuration want a file to be merged.
pub(super) struct Driver {
    pub(super) kind: DriverKind,
    pub(super) style: ConflictStyle,
    pub(super) marker_size: NonZeroU8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DriverKind {
    Text,
    Union,
    Binary,
    /// A program of the repository's configuration, which is not run.
    Program,
}

/// A merged file.
pub(super) struct Texts {
    pub(super) bytes: Vec<u8>,
    pub(super) has_conflicts: bool,
}

impl Texts {
    /// Merges the lines; an error says why that cannot be.
    pub(super) fn merge(whole: &Whole, driver: &Driver, label: &str) -> Result<Self, &'static str> {
        let Whole { base, ours, theirs } = whole;
        match driver.kind {
            DriverKind::Program => return Err("its attributes name a merge driver, which isobox does not run"),
            DriverKind::Binary => return Err("both changed it, and its attributes say not to merge it"),
            _ if [base, ours, theirs].into_iter().any(|side| is_binary(side)) => {
                return Err("both changed it, and it is binary");
            }
            DriverKind::Text | DriverKind::Union => {}
        }
        let conflict = match driver.kind {
            DriverKind::Union => Conflict::ResolveWithUnion,
            _ => Conflict::Keep { style: driver.style, marker_size: driver.marker_size },
        };
        let labels = Labels { ancestor: Some("base".into()), current: Some("HEAD".into()), other: Some(label.into()) };
        // That of `git merge-tree`.
        let options = Options { diff_algorithm: gix::diff::blob::Algorithm::Histogram, conflict };
        let (mut bytes, mut input) = (Vec::new(), gix::diff::blob::InternedInput::default());
        let text = gix::merge::blob::builtin_driver::text;
        let resolution = text(&mut bytes, &mut input, labels, ours, base, theirs, options);
        Ok(Self { bytes, has_conflicts: resolution == Resolution::Conflict })
    }
}

/// Git's rule.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(8000)].find_byte(0).is_some()
}
