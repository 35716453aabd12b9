//! What an update found and did, for people and for programs.

use crate::output::record_json::bytes;
use crate::use_case::update::Plan;
use isobox_domain::escape::Escaped;
use isobox_domain::release::{Choice, Version};
use isobox_domain::update_target::UpdateTarget;
use serde_json::{Value, json};

/// What was done with a plan.
#[derive(Clone, Debug)]
pub(crate) enum Done {
    /// It was only looked at.
    Checked,
    /// It was carried out; where the program before is kept.
    Updated(String),
}

/// For people: one sentence on how things stand now.
pub(crate) fn text(plan: &Plan, done: &Done) -> String {
    let (installed, file) = (&plan.installed.version, Escaped(&plan.target.file));
    match (&plan.step, done) {
        (Choice::Newer(release), Done::Checked) => {
            format!("isobox {} can replace {installed} at {file}: run `isobox update`", release.version)
        }
        (Choice::Newer(release), Done::Updated(kept)) => format!(
            "isobox {} has replaced {installed} at {file}\n{kept} is the one before; `isobox update --rollback` puts it back",
            release.version
        ),
        (Choice::Current, _) => format!("isobox {installed} at {file} is the newest release"),
        (Choice::Ahead(newest), _) => {
            format!("isobox {installed} at {file} is newer than the newest release, {newest}, and stays")
        }
        (Choice::Unavailable, _) => {
            format!("isobox {installed} at {file} stays: there is no release for this kind of machine")
        }
    }
}

/// For people: where a roll-back led.
pub(crate) fn rolled_back(target: &UpdateTarget, version: &Version) -> String {
    format!(
        "isobox {version} is back at {}; a second `isobox update --rollback` goes forth again\n\
         it stays until the next `isobox update`: `isobox update --check` says what that would install",
        Escaped(&target.file)
    )
}

/// For programs: a document of schema `isobox.update/v1`.
pub(crate) fn document(plan: &Plan, done: &Done) -> Value {
    let (state, newest) = match &plan.step {
        Choice::Newer(release) => ("newer", Some(&release.version)),
        Choice::Current => ("current", Some(&plan.installed.version)),
        Choice::Ahead(newest) => ("ahead", Some(newest)),
        Choice::Unavailable => ("none", None),
    };
    let release = match &plan.step {
        Choice::Newer(release) => Some(release),
        _ => None,
    };
    let kept = match done {
        Done::Checked => None,
        Done::Updated(kept) => Some(kept),
    };
    json!({
        "schema": "isobox.update/v1",
        "action": if kept.is_some() { "updated" } else { "none" },
        "state": state,
        "installed": plan.installed.version.to_string(),
        "newest": newest.map(Version::to_string),
        "release_file": release.map(|file| json!({
            "name": file.name,
            "bytes": file.bytes,
            "sha256": file.sha256.to_string(),
        })),
        "kept": kept,
        "target": target(&plan.target),
    })
}

/// For programs: the same for a roll-back.
pub(crate) fn rolled_back_document(found: &UpdateTarget, version: &Version) -> Value {
    json!({
        "schema": "isobox.update/v1",
        "action": "rolled_back",
        "state": null,
        "installed": version.to_string(),
        "newest": null,
        "release_file": null,
        "kept": null,
        "target": target(found),
    })
}

fn target(target: &UpdateTarget) -> Value {
    json!({ "on_path": bytes(&target.on_path), "file": bytes(&target.file), "remarks": target.remarks() })
}
