//! Files of which some hunks are brought across: as earlier Promotions left them, and as this one does.

use super::{Ports, PromotionRequest};
use crate::failure::{Failure, FailureKind};
use crate::use_case::diff::unreadable;
use crate::use_case::patch_reader::PatchReader;
use crate::use_case::sides::{Sides, patch, sides_of};
use isobox_domain::change::{After, Before, Change, ChangeLine, ChangeSetRef};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::hunks::Hunks;
use isobox_domain::promotion::{Chosen, Meeting, Way, Wish};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::report::{ExaminedPart, examine_hunks};
use isobox_domain::source::Cleanliness;
use isobox_ports::{ChangeLines, Content, ObjectStore, StoreError, TrustedRepository};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Cursor;

/// How much of files in pieces is held in memory, in bytes.
const ROOM: usize = 16 << 20;

/// What is known of them. Empty where nothing was ever chosen by hunks.
#[derive(Default)]
pub(super) struct Pieces {
    files: BTreeMap<RepoPath, Piece>,
    contents: HashMap<ContentId, Vec<u8>>,
}

struct Piece {
    /// As it is before, if earlier Promotions brought some hunks of it here.
    before: Option<Before>,
    /// As it is afterwards.
    after: After,
    /// What is found in the hunks that are brought.
    examined: Option<ExaminedPart>,
}

/// A changed file that has hunks.
pub(in crate::use_case) struct Splittable {
    pub(in crate::use_case) hunks: Hunks,
    /// What its part of the patch says before the first of them.
    pub(in crate::use_case) header: Vec<u8>,
    /// What it is with all of them.
    after: Vec<u8>,
}

impl Pieces {
    /// What `chosen` makes of the files of the record, where the repository is as `cleanliness` says.
    pub(super) fn of(
        ports: &Ports<'_>,
        request: &PromotionRequest,
        chosen: &Chosen,
        cleanliness: &Cleanliness,
    ) -> Result<Self, Failure> {
        let mut pieces = Self::default();
        let mut wanted = chosen.files_in_hunks();
        let record = &request.record;
        let (Some(change_set), false) = (&record.artifacts.change_set, wanted.is_empty()) else { return Ok(pieces) };
        let mut patch = patch(ports.objects, record)?;
        for line in ports.objects.changes(change_set)? {
            let ChangeLine::Change(change) = line.map_err(|cause| unreadable(record, cause))? else { continue };
            if wanted.remove(&change.path) {
                let file = splittable(ports.objects, &mut patch, &change)?.ok_or_else(|| no_such_hunk(&change.path))?;
                let in_place = match is_on_start(&request.wish) {
                    true => BTreeSet::new(),
                    false => chosen.hunks_in_place(&change.path, cleanliness),
                };
                pieces.add(ports.repository, chosen, &change, (&file, in_place))?;
            }
        }
        wanted.first().map_or(Ok(pieces), |path| Err(no_such_hunk(path)))
    }

    fn add(
        &mut self,
        repository: &dyn TrustedRepository,
        chosen: &Chosen,
        change: &Change,
        (file, in_place): (&Splittable, BTreeSet<u32>),
    ) -> Result<(), Failure> {
        let (path, none) = (&change.path, || no_such_hunk(&change.path));
        let after = change.after.as_ref().ok_or_else(none)?;
        let mut taken: BTreeSet<u32> = match chosen.selection.hunks_of(path) {
            Some(numbers) => numbers.iter().copied().collect(),
            None => file.open(&chosen.hunks_brought(path)).into_iter().collect(),
        };
        taken.extend(&in_place);
        if taken.last().is_some_and(|last| *last >= file.hunks.count()) {
            return Err(none());
        }
        let before = match in_place.is_empty() {
            true => None,
            false => {
                let content = file.with(&in_place).ok_or_else(none)?;
                let oid = repository.blob_name(path, &content)?;
                Some(Before { mode: after.mode, oid, content: Some(self.hold(content)?) })
            }
        };
        let examined = examine_hunks(&file.header, &file.hunks, taken.difference(&in_place).copied());
        let content = self.hold(file.with(&taken).ok_or_else(none)?)?;
        let after = After { content, ..after.clone() };
        self.files.insert(path.clone(), Piece { before, after, examined });
        Ok(())
    }

    fn hold(&mut self, content: Vec<u8>) -> Result<ContentRef, Failure> {
        let held: usize = self.contents.values().map(Vec::len).sum();
        if held + content.len() > ROOM {
            let message = format!("the files of which hunks were chosen are larger than {} MiB together", ROOM >> 20);
            return Err(Failure::new(FailureKind::PromotionRefused, message)
                .with_hint("promote some of them as a whole, with --only PATH"));
        }
        let id = ContentId::new(*blake3::hash(&content).as_bytes());
        let length = content.len() as u64;
        self.contents.insert(id, content);
        Ok(ContentRef { id, length })
    }

    /// A change as it is brought across.
    pub(super) fn across(&self, mut change: Change) -> Change {
        if let Some(piece) = self.files.get(&change.path) {
            change.before = piece.before.clone().or(change.before);
            change.after = Some(piece.after.clone());
        }
        change
    }

    /// What is found in what is brought of a change, if that is some of its hunks.
    pub(super) fn examined(&self, path: &RepoPath) -> Option<ExaminedPart> {
        self.files.get(path)?.examined.clone()
    }

    /// A change as earlier Promotions left it here, if they brought only some hunks of it.
    pub(super) fn in_place(&self, mut change: Change) -> Option<Change> {
        let before = self.files.get(&change.path)?.before.as_ref()?;
        let after = change.after.take()?;
        change.after = Some(After { mode: before.mode, content: before.content?, ..after });
        Some(change)
    }

    /// `objects` with the contents of these.
    pub(super) fn over<'a>(&'a self, objects: &'a dyn ObjectStore) -> WithPieces<'a> {
        WithPieces { pieces: self, objects }
    }
}

impl Splittable {
    /// The hunks that are not among `brought`.
    pub(super) fn open(&self, brought: &BTreeSet<u32>) -> Vec<u32> {
        (0..self.hunks.count()).filter(|number| !brought.contains(number)).collect()
    }

    fn with(&self, numbers: &BTreeSet<u32>) -> Option<Vec<u8>> {
        self.hunks.taken(&self.after, &|number| numbers.contains(&number))
    }
}

/// The hunks of a change, if it is one of a text that was there and is there.
pub(super) fn splittable(
    objects: &dyn ObjectStore,
    patch: &mut PatchReader,
    change: &Change,
) -> Result<Option<Splittable>, Failure> {
    if change.before.is_none() || change.after.is_none() {
        return Ok(None);
    }
    patch.find(&change.path)?.map_or(Ok(None), |part| splittable_part(objects, part, change))
}

/// The same of what the patch says of the change.
pub(in crate::use_case) fn splittable_part(
    objects: &dyn ObjectStore,
    part: Vec<u8>,
    change: &Change,
) -> Result<Option<Splittable>, Failure> {
    let sides = sides_of(objects, part, change)?;
    let Some(Sides { part, hunks, before: Some(_), after: Some(after) }) = sides else { return Ok(None) };
    let header = part[..beginning(&part)].to_vec();
    Ok(Some(Splittable { hunks, header, after }))
}

/// Whether the changes meet the commit that the Task started from, whatever was brought since. A merge looks for itself.
fn is_on_start(wish: &Wish) -> bool {
    matches!(wish.way, Way::Branch(_)) || wish.meeting != Meeting::Exact
}

/// Where the first hunk begins.
fn beginning(part: &[u8]) -> usize {
    part.windows(4).position(|bytes| bytes == b"\n@@ ").map_or(part.len(), |end| end + 1)
}

fn no_such_hunk(path: &RepoPath) -> Failure {
    let message = format!("the record has not the hunks of {path} that were chosen");
    Failure::new(FailureKind::PromotionRefused, message).with_hint(
        "`isobox verify` says whether the record is whole; --three-way with --only PATH takes the file as a whole",
    )
}

/// A store with the contents of files in pieces.
pub(super) struct WithPieces<'a> {
    pieces: &'a Pieces,
    objects: &'a dyn ObjectStore,
}

impl ObjectStore for WithPieces<'_> {
    fn open(&self, id: &ContentId) -> Result<Option<Content>, StoreError> {
        match self.pieces.contents.get(id) {
            Some(content) => Ok(Some(Box::new(Cursor::new(content.clone())))),
            None => self.objects.open(id),
        }
    }

    fn changes(&self, change_set: &ChangeSetRef) -> Result<ChangeLines<'_>, StoreError> {
        self.objects.changes(change_set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::change::Mode;
    use isobox_domain::git_oid::GitOid;

    const PATCH: &str = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n";

    /// A store in which every content is the same.
    struct Same(&'static [u8]);

    impl ObjectStore for Same {
        fn open(&self, _: &ContentId) -> Result<Option<Content>, StoreError> {
            Ok(Some(Box::new(self.0)))
        }

        fn changes(&self, _: &ChangeSetRef) -> Result<ChangeLines<'_>, StoreError> {
            Ok(Box::new(std::iter::empty()))
        }
    }

    fn reference(content: &[u8]) -> ContentRef {
        ContentRef { id: ContentId::new(*blake3::hash(content).as_bytes()), length: content.len() as u64 }
    }

    fn has_hunks(before: &[u8], after: &'static [u8]) -> bool {
        let before = Before { mode: Mode::File, oid: GitOid::Sha1([1; 20]), content: Some(reference(before)) };
        let after_content = After { mode: Mode::File, content: reference(after), binary: false };
        let path = RepoPath::parse("f").unwrap();
        let (before, after_content) = (Some(before), Some(after_content));
        let change = Change { path, before, after: after_content, renamed_from: None, submodule: None };
        let mut patch = PatchReader::new(Box::new(Cursor::new(PATCH)));
        splittable(&Same(after), &mut patch, &change).unwrap().is_some()
    }

    #[test]
    fn a_patch_is_believed_where_it_leads_from_what_was_there_to_what_is() {
        assert!(has_hunks(b"one\ntwo\n", b"1\ntwo\n"));
        assert!(!has_hunks(b"another\ntwo\n", b"1\ntwo\n"));
        assert!(!has_hunks(b"one\ntwo\n", b"1\nthree\n"));
    }
}
