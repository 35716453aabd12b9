//! Where each value of a policy comes from, file and line, and what enforces it here.

use super::text;
use crate::output::record_json;
use crate::use_case::effective_policy::{Origin, PolicyValue};
use crate::use_case::held_here::{HeldHere, Subject};
use isobox_domain::enforcement::Control;
use isobox_ports::PolicyFile;
use serde_json::{Value, json};

/// Both files, by their paths for people, and what holds here.
pub(crate) struct Origins {
    /// The project's.
    pub(crate) project: (String, Option<PolicyFile>),
    /// The user's own.
    pub(crate) user: (String, Option<PolicyFile>),
    /// What enforces them.
    pub(crate) held: HeldHere,
}

/// A file, and the line of a key in it.
fn line_of((path, file): &(String, Option<PolicyFile>), key: &str) -> Option<(String, u64)> {
    let place = file.as_ref()?.place_of(key)?;
    Some((place.extended.clone().unwrap_or_else(|| path.clone()), place.position.line))
}

impl Origins {
    /// Where a value comes from, in words.
    pub(crate) fn place(&self, value: &PolicyValue) -> String {
        let of = |place: Option<(String, u64)>| place.map(|(path, line)| format!("{path}:{line}"));
        let (project, user) = (of(line_of(&self.project, value.key)), of(line_of(&self.user, value.key)));
        let own = project.unwrap_or_else(|| "the default".to_owned());
        match (value.origin, &value.narrowed, user) {
            (Origin::User, Some(narrowed), Some(user)) => format!("{user}, in place of {narrowed} of {own}"),
            (Origin::Project | Origin::User, _, _) => own,
            (Origin::Default, _, _) => "no file says it".to_owned(),
        }
    }

    /// What enforces a key here, in words.
    pub(crate) fn enforcement(&self, key: &str) -> String {
        Subject::of(key).map_or_else(|| "isobox itself sees to it".to_owned(), |subject| self.held(subject))
    }

    /// What enforces something here, in words.
    pub(crate) fn held(&self, subject: Subject) -> String {
        match (self.held.of(subject), subject) {
            (Ok((backend, Some(held))), _) => {
                format!("{} here, by {}: {}", subject.name(), backend.name(), text::enforcement(held))
            }
            (Ok((_, None)), Subject::Limit(_)) => "there is nothing to enforce".to_owned(),
            (Ok((backend, None)), Subject::Control(_)) => format!("{} says nothing about it", backend.name()),
            (Err(refusal), _) => format!("nothing starts here: {refusal}"),
        }
    }

    /// The same for programs: fields of a value.
    pub(crate) fn fields(&self, value: &PolicyValue) -> Value {
        let place = |place: Option<(String, u64)>| place.map(|(path, line)| json!({ "path": path, "line": line }));
        let is_narrowed = value.origin == Origin::User;
        json!({
            "project": place(line_of(&self.project, value.key)),
            "user": place(line_of(&self.user, value.key)).filter(|_| is_narrowed),
            "narrowed": value.narrowed,
            "enforcement": self.enforcement_document(value.key),
        })
    }

    /// What enforces a key here, for programs; null for what isobox itself sees to, for what is not limited, or where nothing
    /// starts.
    pub(crate) fn enforcement_document(&self, key: &str) -> Value {
        Subject::of(key).map_or(Value::Null, |subject| self.held_document(subject))
    }

    /// The same of a control or a limit.
    pub(crate) fn held_document(&self, subject: Subject) -> Value {
        let Ok((backend, Some(held))) = self.held.of(subject) else { return Value::Null };
        let mut document = record_json::enforcement(held);
        match subject {
            Subject::Control(control) => document["control"] = control.name().into(),
            Subject::Limit(limit) => {
                document["control"] = Control::Limits.name().into();
                document["limit"] = limit.name().into();
            }
        }
        document["backend"] = backend.name().into();
        document
    }
}
