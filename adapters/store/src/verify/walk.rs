//! From records to everything that they refer to.

use super::part::{Hurt, Lost, Part};
use super::told::Told;
use crate::error::failed;
use crate::index::Location;
use crate::store::FsTaskStore;
use isobox_domain::change::{ChangeLine, ChangeSetRef};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::verification::{Affected, DefectKind, Thoroughness, Verification};
use isobox_ports::{ObjectStore, RecordLog, StoreError, StoreErrorKind};
use isobox_store_format::change_set::decode_index;
use isobox_store_format::entry::EntryKind;
use isobox_store_format::record::{ChildRole, children};
use std::io;

/// What is looked at of the objects that a record refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// Whether they are there, and undamaged as far as that was found out.
    Known,
    /// All of their content.
    Content,
}

/// Names the records that defects touch, and finds those that only the meaning of what is stored shows.
pub(super) struct Walk<'a> {
    store: &'a FsTaskStore,
    look: Look,
    told: Told<'a>,
    hurt: &'a [Hurt],
}

impl<'a> Walk<'a> {
    /// Walks from every record.
    pub(super) fn through_all(
        store: &'a FsTaskStore,
        how: Thoroughness,
        found: &'a mut Verification,
        (lost, hurt): (&[Lost], &'a [Hurt]),
    ) -> Result<(), StoreError> {
        // Where too many were lost for all to be known, each object has to be read.
        let are_known = lost.len() < Part::MOST_LOST && hurt.len() < Part::MOST_HURT;
        let look = if are_known { Look::Known } else { Look::Content };
        let mut walk = Self { hurt, ..Self::new(store, look, found) };
        walk.lose(lost);
        for entry in store.list()? {
            // What is damaged in a listing was found before.
            let Ok(entry) = entry else { continue };
            let who = Affected { task: entry.task, attempt: entry.attempt, record: entry.record };
            walk.record(who, how == Thoroughness::Deep)?;
        }
        Ok(())
    }

    /// Walks from one record.
    pub(super) fn of_one(store: &FsTaskStore, record: &ContentId) -> Result<Verification, StoreError> {
        let mut found = Verification { records: 1, ..Verification::default() };
        let mut walk = Walk::new(store, Look::Content, &mut found);
        let listed = store.list()?.filter_map(Result::ok).find(|entry| entry.record == *record);
        let who = listed.map(|entry| Affected { task: entry.task, attempt: entry.attempt, record: *record });
        match who {
            Some(who) => walk.record(who, true)?,
            // Only its COMMIT says of which Task it is, if the record itself cannot be read.
            None => walk.told.add(DefectKind::Missing { object: *record }, None),
        }
        Ok(found)
    }

    fn new(store: &'a FsTaskStore, look: Look, found: &'a mut Verification) -> Self {
        Self { store, look, told: Told::new(found), hurt: &[] }
    }

    /// Takes in what is lost with its block.
    fn lose(&mut self, lost: &[Lost]) {
        let layout = &self.store.shared.layout;
        self.told.lose(lost.iter().map(|lost| (lost.object, lost.pack.shown(layout).into(), lost.offset)));
    }

    fn record(&mut self, who: Affected, is_deep: bool) -> Result<(), StoreError> {
        for event in self.store.shared.ask(|index, layout| index.events(layout, &who.record))? {
            if !self.is_known(&event, |kind| kind == EntryKind::Record)? {
                self.own_bytes(&event, who)?;
            }
        }
        let Some(bytes) = self.own_bytes(&who.record, who)? else { return Ok(()) };
        let children = match children(&bytes) {
            Ok(children) => children,
            Err(error) => {
                self.touch(&who.record, who, &error.to_string());
                return Ok(());
            }
        };
        for child in &children {
            self.object(&child.reference.id, who)?;
            if child.role.is_change_set() {
                self.change_set(child.reference, who)?;
            }
        }
        let policy = children.iter().find(|child| child.role == ChildRole::Policy);
        if !is_deep || policy.is_some_and(|policy| self.told.knows(&policy.reference.id)) {
            return Ok(());
        }
        self.meaning(who, self.store.load(&who.record).map(drop), "")?;
        self.meaning(who, self.store.events(&who.record).map(drop), "an event about it: ")
    }

    /// The bytes of a record, or of an event about it.
    fn own_bytes(&mut self, id: &ContentId, who: Affected) -> Result<Option<Vec<u8>>, StoreError> {
        match self.store.read_small(id, EntryKind::Record) {
            Ok(None) => self.told.add(DefectKind::Missing { object: *id }, Some(who)),
            Err(error) if error.kind == StoreErrorKind::Damaged => self.touch(id, who, &error.source.to_string()),
            read => return read,
        }
        Ok(None)
    }

    fn meaning(&mut self, who: Affected, looked: Result<(), StoreError>, what: &str) -> Result<(), StoreError> {
        match looked {
            Err(error) if error.kind == StoreErrorKind::Damaged => {
                self.touch(&who.record, who, &format!("{what}{}", error.source));
                Ok(())
            }
            looked => looked,
        }
    }

    fn change_set(&mut self, root: ContentRef, who: Affected) -> Result<(), StoreError> {
        let index = match self.store.read_small(&root.id, EntryKind::Artifact) {
            Ok(Some(bytes)) => decode_index(&bytes),
            // That it is damaged or missing was told.
            Ok(None) => return Ok(()),
            Err(error) if error.kind == StoreErrorKind::Damaged => return Ok(()),
            Err(error) => return Err(error),
        };
        let index = match index {
            Ok(index) => index,
            Err(error) => {
                self.touch(&root.id, who, &error.to_string());
                return Ok(());
            }
        };
        index.chunks.iter().try_for_each(|chunk| self.object(&chunk.id, who))?;
        let change_set = ChangeSetRef { id: root.id, length: root.length, summary: index.summary };
        for line in self.store.changes(&change_set)? {
            match line {
                Ok(line) => content_of(&line).map_or(Ok(()), |content| self.object(&content, who))?,
                // The chunk that it stands in was told of.
                Err(_) if index.chunks.iter().any(|chunk| self.told.knows(&chunk.id)) => {}
                Err(error) => self.touch(&root.id, who, &error.to_string()),
            }
        }
        Ok(())
    }

    /// Looks at an object that `who` refers to.
    fn object(&mut self, id: &ContentId, who: Affected) -> Result<(), StoreError> {
        // A record that has the same bytes is not read for it.
        if self.is_known(id, |kind| kind != EntryKind::Record)? {
            return Ok(());
        }
        match self.read(id) {
            Ok(Some(bytes)) => {
                self.told.found.read += 1;
                self.told.found.read_bytes += bytes;
            }
            Ok(None) => self.told.add(DefectKind::Missing { object: *id }, Some(who)),
            Err(error) if error.kind == StoreErrorKind::Damaged => self.touch(id, who, &error.source.to_string()),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Whether an object is stored as an entry of such a kind, as far as need be looked.
    fn is_known(&self, id: &ContentId, is_kind: impl Fn(EntryKind) -> bool) -> Result<bool, StoreError> {
        if self.look == Look::Content || self.told.knows(id) {
            return Ok(false);
        }
        let is_whole = |found: &Location| is_kind(found.kind) && !self.is_hurt(found);
        Ok(self.store.shared.known_locations(id)?.iter().any(is_whole))
    }

    fn is_hurt(&self, found: &Location) -> bool {
        self.hurt.iter().any(|hurt| hurt.pack == found.pack && (hurt.offset..hurt.end).contains(&found.offset))
    }

    /// Reads the first whole copy of an object; how many bytes it has.
    fn read(&self, id: &ContentId) -> Result<Option<u64>, StoreError> {
        match self.store.open(id)? {
            Some(mut content) => {
                let read = io::copy(&mut content, &mut io::sink());
                read.map(Some).map_err(failed("read object", &id.to_string()))
            }
            None => Ok(None),
        }
    }

    /// Notes that what is wrong with `id` touches `who`.
    fn touch(&mut self, id: &ContentId, who: Affected, reason: &str) {
        let place = self.store.shared.known_locations(id).ok().and_then(|found| found.first().copied());
        let (file, offset) = place.map_or_else(
            || (id.to_string(), 0),
            |place| (place.pack.shown(&self.store.shared.layout).into(), place.offset),
        );
        self.told.add(DefectKind::Damaged { file, offset, reason: reason.to_owned(), object: Some(*id) }, Some(who));
    }
}

/// The content that a line says a path has now.
fn content_of(line: &ChangeLine) -> Option<ContentId> {
    match line {
        ChangeLine::Change(change) => change.after.as_ref().map(|after| after.content.id),
        ChangeLine::NotCaptured(_) => None,
    }
}
