//! The chain of COMMITs of every lane, across the packs that it was sealed into.

use isobox_domain::content::ContentId;
use isobox_domain::verification::{Defect, DefectKind};
use isobox_store_format::commit::Commit;

/// COMMITs of one lane in one file, each of which follows the one before.
#[derive(Clone, Debug)]
pub(super) struct Run {
    lane: u8,
    /// The number of the first, and what it names as its previous one.
    first: (u64, Option<ContentId>),
    /// The number and digest of the last.
    last: (u64, ContentId),
    /// The file, for people.
    file: String,
}

impl Run {
    /// Adds a COMMIT with the digest `id` to the runs of `file`.
    pub(super) fn add(runs: &mut Vec<Self>, id: ContentId, commit: &Commit, file: &str) {
        let follows = |run: &&mut Self| run.lane == commit.lane && run.next() == (commit.sequence, commit.previous);
        match runs.iter_mut().rev().find(follows) {
            Some(run) => run.last = (commit.sequence, id),
            None => runs.push(Self {
                lane: commit.lane,
                first: (commit.sequence, commit.previous),
                last: (commit.sequence, id),
                file: file.to_owned(),
            }),
        }
    }

    fn next(&self) -> (u64, Option<ContentId>) {
        (self.last.0 + 1, Some(self.last.1))
    }
}

/// What is wrong between the runs of all files.
pub(super) fn gaps(mut runs: Vec<Run>) -> Vec<Defect> {
    runs.sort_by_key(|run| (run.lane, run.first.0, run.last.0));
    let mut gaps = Vec::new();
    let (mut lane, mut expected) = (None, (1, None));
    for run in runs {
        if lane != Some(run.lane) {
            (lane, expected) = (Some(run.lane), (1, None));
        }
        // A lane that is sealed while it is read is met twice, the second time perhaps with more.
        let is_known = run.first.0 < expected.0;
        if !is_known && run.first != expected {
            gaps.push(Defect::new(DefectKind::Gap { reason: reason(&run, expected.0) }, Vec::new()));
        }
        if run.last.0 >= expected.0 {
            expected = run.next();
        }
    }
    gaps
}

fn reason(run: &Run, expected: u64) -> String {
    let Run { lane, first: (first, _), file, .. } = run;
    match first - expected {
        0 => format!("COMMIT {first} of lane {lane}, in {file}, does not follow the one before it"),
        1 => format!("COMMIT {expected} of lane {lane} is missing before {file}"),
        _ => format!("COMMITs {expected} to {} of lane {lane} are missing before {file}", first - 1),
    }
}
