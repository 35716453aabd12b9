//! Measuring the store in memory.

use super::store::{InMemoryStore, State};
use crate::{Advance, Measurer, StoreError, TellAdvance};
use isobox_domain::change::ChangeLine;
use isobox_domain::content::ContentRef;
use isobox_domain::measurement::{ContentKind, Measurement};
use isobox_domain::record::{RecordEntry, TaskArtifacts};
use std::collections::HashSet;

/// Content of so many bytes counts as large.
const LARGE: u64 = 1 << 20;

impl Measurer for InMemoryStore {
    fn measure(&self, tell: TellAdvance<'_>) -> Result<Measurement, StoreError> {
        let state = self.state();
        let (pruned, mut counted) = (state.pruned(), HashSet::new());
        let mut found = Measurement::default();
        found.pruned_records = pruned.len() as u64;
        let is_kept = |entry: &RecordEntry| !pruned.contains(&entry.record);
        for (_, record) in state.records.iter().filter(|(entry, _)| is_kept(entry)) {
            let length = format!("{record:?}").len() as u64;
            found.add(ContentKind::Record, length, length);
            for (kind, content) in referred(&state, &record.artifacts) {
                found.referred.add(content.length);
                if counted.insert(content.id) {
                    let kind = if content.length >= LARGE { ContentKind::Large } else { kind };
                    found.add(kind, content.length, content.length);
                }
            }
        }
        for (_, record) in state.records.iter().filter(|(entry, _)| !is_kept(entry)) {
            let length = format!("{record:?}").len() as u64;
            found.unreferenced.pruned.add(length, length);
            for (_, content) in referred(&state, &record.artifacts) {
                if counted.insert(content.id) {
                    found.unreferenced.pruned.add(content.length, content.length);
                }
            }
        }
        for stored in &state.events {
            let length = format!("{stored:?}").len() as u64;
            found.add(ContentKind::Event, length, length);
        }
        let all_bytes = found.total().stored_bytes;
        tell(Advance { done_bytes: all_bytes, all_bytes });
        Ok(found)
    }
}

fn referred(state: &State, artifacts: &TaskArtifacts) -> Vec<(ContentKind, ContentRef)> {
    let own = [
        (ContentKind::Output, artifacts.stdout),
        (ContentKind::Output, artifacts.stderr),
        (ContentKind::Output, artifacts.timeline),
        (ContentKind::Patch, artifacts.patch),
        (ContentKind::Archive, artifacts.workspace_git),
        (ContentKind::Imported, artifacts.v1_record),
        (ContentKind::Archive, artifacts.v1_files),
    ];
    let own = own.into_iter().filter_map(|(kind, content)| Some((kind, content?)));
    let lines = artifacts.change_sets().filter_map(|set| state.change_sets.get(&set.id)).flatten();
    let files = lines.filter_map(|line| match line {
        ChangeLine::Change(change) => change.after.as_ref().map(|after| (ContentKind::File, after.content)),
        ChangeLine::NotCaptured(_) => None,
    });
    own.chain(files).collect()
}
