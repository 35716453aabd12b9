//! What objects are: what COMMITs say, or what may be told without them.

use isobox_domain::content::ContentId;
use isobox_domain::measurement::{Amount, ContentKind, Measurement};
use isobox_store_format::commit::{Commit, Committed};
use isobox_store_format::record::ChildRole;
use std::collections::HashMap;

/// What an object counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Something that is there.
    There(ContentKind),
    /// Something that only pruned records refer to.
    Pruned,
}

impl Class {
    /// Counts an object.
    pub(super) fn add(self, found: &mut Measurement, raw_bytes: u64, stored_bytes: u64) {
        let amount = Amount { count: 1, raw_bytes, stored_bytes };
        match self {
            Self::There(kind) => found.add(kind, raw_bytes, stored_bytes),
            Self::Pruned => found.unreferenced.pruned.merge(amount),
        }
    }
}

/// What a COMMIT says of objects; of its record, what it `is_pruned` says.
pub(super) fn classes_of(commit: &Commit, is_pruned: bool) -> HashMap<ContentId, Class> {
    let committed = match commit.committed {
        Committed::Record if is_pruned => Class::Pruned,
        Committed::Record => Class::There(ContentKind::Record),
        Committed::Event { .. } | Committed::Pruned { .. } => Class::There(ContentKind::Event),
    };
    let children = commit.children.iter().filter_map(|child| {
        let role = ChildRole::ALL.into_iter().find(|role| role.number() == child.role)?;
        Some((child.reference.id, Class::There(kind_of(role))))
    });
    children.chain([(commit.record.id, committed)]).collect()
}

const fn kind_of(role: ChildRole) -> ContentKind {
    match role {
        ChildRole::Policy => ContentKind::Policy,
        ChildRole::Stdout | ChildRole::Stderr | ChildRole::Timeline => ContentKind::Output,
        ChildRole::ChangeSet | ChildRole::SourceSnapshot | ChildRole::HostCopies => ContentKind::ChangeSet,
        ChildRole::Patch => ContentKind::Patch,
        ChildRole::WorkspaceGit | ChildRole::V1Files => ContentKind::Archive,
        ChildRole::V1Record => ContentKind::Imported,
    }
}
