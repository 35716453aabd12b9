//! Collecting in memory.

use super::store::{InMemoryStore, State};
use crate::{Collector, StoreError, TellAdvance};
use isobox_domain::change::ChangeLine;
use isobox_domain::content::ContentId;
use isobox_domain::pruning::Swept;
use isobox_domain::record::TaskRecord;
use std::collections::HashSet;

impl Collector for InMemoryStore {
    fn sweep(&self, _: TellAdvance<'_>) -> Result<Swept, StoreError> {
        let mut state = self.state();
        let pruned = state.pruned();
        let (mut dead, mut alive) = (HashSet::new(), HashSet::new());
        for (entry, record) in &state.records {
            let of = if pruned.contains(&entry.record) { &mut dead } else { &mut alive };
            of.extend(reached(&state, record));
        }
        let before = state.objects.len() + state.records.len();
        let records = state.records.len();
        state.records.retain(|(entry, _)| !pruned.contains(&entry.record));
        state.objects.retain(|id, _| !dead.contains(id) || alive.contains(id));
        let objects = before - state.objects.len() - state.records.len();
        let records = records - state.records.len();
        Ok(Swept { records: records as u64, objects: objects as u64, ..Swept::default() })
    }
}

fn reached(state: &State, record: &TaskRecord) -> Vec<ContentId> {
    let artifacts = &record.artifacts;
    let outputs = [artifacts.stdout, artifacts.stderr, artifacts.timeline, artifacts.patch, artifacts.workspace_git];
    let imported = [artifacts.v1_record, artifacts.v1_files];
    let mut all: Vec<_> = outputs.into_iter().chain(imported).flatten().map(|content| content.id).collect();
    let lines = artifacts.change_sets().filter_map(|set| state.change_sets.get(&set.id));
    all.extend(lines.flatten().filter_map(|line| match line {
        ChangeLine::Change(change) => change.after.as_ref().map(|after| after.content.id),
        ChangeLine::NotCaptured(_) => None,
    }));
    all
}
