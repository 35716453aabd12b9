//! Which COMMIT of every lane was logged last.

use super::LastLeaves;
use super::tree::Tree;
use crate::dir::Access;
use crate::error::damaged;
use crate::layout::Layout;
use crate::random::random_name;
use isobox_ports::StoreError;
use isobox_store_format::limits::LANES;
use std::io::{self, Read, Write};

/// Where the last leaves stand: derived, and believed only where the tree bears it out.
const HINT: &str = "log-last";
const NONE: u64 = u64::MAX;

/// The last leaf of every lane in `tree`.
///
/// A lane is logged without a gap from 1 on, so the sequences of the last leaves of all lanes add up to the number of
/// leaves. Anything that adds up to less is not all of them.
pub(super) fn last_leaves(layout: &Layout, tree: &Tree<'_>) -> Result<LastLeaves, StoreError> {
    if let Some(last) = hinted(layout, tree) {
        return Ok(last);
    }
    let mut last = LastLeaves::default();
    for bundle in (0..tree.bundles()).rev() {
        for leaf in tree.bundle(bundle)?.iter().rev() {
            last[usize::from(leaf.lane)].get_or_insert(*leaf);
        }
        if sum(&last) == Some(tree.size()) {
            return Ok(last);
        }
    }
    if tree.size() == 0 {
        return Ok(last);
    }
    Err(damaged("read", layout.root.shown("log"), "its COMMITs are not those of lanes without gaps"))
}

fn sum(last: &LastLeaves) -> Option<u64> {
    last.iter().flatten().try_fold(0u64, |sum, leaf| sum.checked_add(leaf.sequence))
}

// What cannot be read is found out in the long way.
fn hinted(layout: &Layout, tree: &Tree<'_>) -> Option<LastLeaves> {
    let places = read(layout).ok().flatten()?;
    let mut last = LastLeaves::default();
    for (lane, place) in (0..LANES).zip(places).filter(|(_, place)| *place != NONE) {
        last[usize::from(lane)] = Some(tree.leaf(place).ok().flatten().filter(|leaf| leaf.lane == lane)?);
    }
    (sum(&last) == Some(tree.size())).then_some(last)
}

fn read(layout: &Layout) -> io::Result<Option<Vec<u64>>> {
    let Some(cache) = layout.root.find_dir("cache")? else { return Ok(None) };
    let Some(file) = cache.find_file(HINT)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(8 * u64::from(LANES) + 1).read_to_end(&mut bytes)?;
    let (places, rest) = bytes.as_chunks::<8>();
    let is_whole = rest.is_empty() && places.len() == usize::from(LANES);
    Ok(is_whole.then(|| places.iter().map(|place| u64::from_le_bytes(*place)).collect()))
}

/// Where the last leaves stand, as far as that is known.
#[derive(Clone, Debug)]
pub(super) struct LastPlaces(Vec<u64>);

impl LastPlaces {
    /// What was kept by the update before.
    pub(super) fn read(layout: &Layout) -> Self {
        let read = read(layout).ok().flatten();
        Self(read.unwrap_or_else(|| vec![NONE; LANES.into()]))
    }

    /// Notes that a leaf of `lane` stands at `index`.
    pub(super) fn note(&mut self, lane: u8, index: u64) {
        self.0[usize::from(lane)] = index;
    }

    /// Keeps it for the next update, which is only slower without it.
    pub(super) fn keep(&self, layout: &Layout) {
        let keep = || -> io::Result<()> {
            layout.root.make_dir("cache")?;
            let cache = layout.root.dir("cache")?;
            let name = format!("new-{}", random_name()?);
            let bytes: Vec<u8> = self.0.iter().flat_map(|place| place.to_le_bytes()).collect();
            let written = cache.file(&name, Access::CreateNew).and_then(|mut file| file.write_all(&bytes));
            let placed = written.and_then(|()| cache.rename(&name, &cache, HINT));
            if placed.is_err() {
                cache.remove_file(&name)?;
            }
            placed
        };
        if keep().is_err() {
            // The next update finds the places by itself.
        }
    }
}
