//! What an import of records leaves while it goes on: an attempt, whose draft says that it is no Task that runs.

use crate::record::{RecordedArgument, TaskArtifacts, TaskRecord};

/// The extension of a draft of an import. No record that is published has it.
const EXTENSION: &str = "import-draft";

/// The draft of the attempt in which `record` is taken over: short, and none that anybody would publish.
pub fn draft_of(record: &TaskRecord) -> TaskRecord {
    TaskRecord {
        command: vec![RecordedArgument { shown: b"isobox import".to_vec(), masked_digest: None }],
        artifacts: TaskArtifacts::default(),
        outcome_detail: None,
        warnings: Vec::new(),
        parents: Vec::new(),
        extensions: vec![(EXTENSION.to_owned(), Vec::new())],
        ..record.clone()
    }
}

/// Whether `draft` is that of an import: whoever finds it abandoned forgets it, because what it was made from is still there.
pub fn is_draft(draft: &TaskRecord) -> bool {
    draft.extensions.iter().any(|(name, _)| name == EXTENSION)
}
