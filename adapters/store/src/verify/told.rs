//! Defects by the object that they are about, so that each is told once with everybody whom it touches.

use isobox_domain::content::ContentId;
use isobox_domain::verification::{Affected, Defect, DefectKind, Verification};
use std::collections::HashMap;

/// What was found so far.
pub(crate) struct Told<'a> {
    pub(crate) found: &'a mut Verification,
    /// Damaged and missing objects, and which defect tells of each.
    told: HashMap<ContentId, usize>,
}

impl<'a> Told<'a> {
    /// Goes on from what was found before.
    pub(crate) fn new(found: &'a mut Verification) -> Self {
        let objects = found.defects.iter().enumerate().filter_map(|(at, defect)| Some((object_of(&defect.kind)?, at)));
        Self { told: objects.collect(), found }
    }

    /// Whether a defect tells of `id`.
    pub(crate) fn knows(&self, id: &ContentId) -> bool {
        self.told.contains_key(id)
    }

    /// Takes in objects that are lost with a file that is damaged from an offset on: the defect there tells of them.
    pub(crate) fn lose(&mut self, lost: impl Iterator<Item = (ContentId, String, u64)>) {
        let all = self.found.defects.iter().enumerate();
        let places = all.filter_map(|(at, defect)| match &defect.kind {
            DefectKind::Damaged { file, offset, object: None, .. } => Some(((file.clone(), *offset), at)),
            _ => None,
        });
        let places: HashMap<(String, u64), usize> = places.collect();
        for (object, file, offset) in lost {
            if let Some(at) = places.get(&(file, offset)) {
                self.told.insert(object, *at);
            }
        }
    }

    /// Adds a defect, or what it touches to the one that tells of the same object.
    pub(crate) fn add(&mut self, kind: DefectKind, who: Option<Affected>) {
        let object = object_of(&kind);
        let known = object.and_then(|object| self.told.get(&object)).and_then(|at| self.found.defects.get_mut(*at));
        match known {
            Some(defect) => who.into_iter().for_each(|who| defect.touch(who)),
            None => {
                if let Some(object) = object.filter(|_| self.found.defects.len() < Verification::TOLD) {
                    self.told.insert(object, self.found.defects.len());
                }
                self.found.add(Defect::new(kind, who.into_iter().collect()));
            }
        }
    }
}

fn object_of(kind: &DefectKind) -> Option<ContentId> {
    match kind {
        DefectKind::Damaged { object, .. } => *object,
        DefectKind::Missing { object } => Some(*object),
        DefectKind::Gap { .. } | DefectKind::History { .. } | DefectKind::Signature { .. } => None,
    }
}
