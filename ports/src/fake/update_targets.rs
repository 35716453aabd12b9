//! Programs on a PATH in memory.

use crate::{UpdateError, UpdateTargets};
use isobox_domain::fact::{Duplicate, Relation};
use isobox_domain::update_target::UpdateTarget;
use std::cell::RefCell;

/// The programs called `isobox`, in the order of PATH.
#[derive(Debug, Default)]
pub struct InMemoryUpdateTargets {
    programs: RefCell<Vec<UpdateTarget>>,
}

impl InMemoryUpdateTargets {
    /// Puts a program behind the others.
    pub fn put(&self, program: UpdateTarget) {
        self.programs.borrow_mut().push(program);
    }
}

impl UpdateTargets for InMemoryUpdateTargets {
    fn find(&self) -> Result<Option<UpdateTarget>, UpdateError> {
        let programs = self.programs.borrow();
        let Some((first, others)) = programs.split_first() else { return Ok(None) };
        let others = others.iter().map(|other| Duplicate {
            host_path: String::from_utf8_lossy(&other.on_path).into_owned(),
            relation: if other.file == first.file { Relation::SymbolicLink } else { Relation::OtherFile },
        });
        Ok(Some(UpdateTarget { others: others.collect(), ..first.clone() }))
    }
}
