//! What works here, found by bringing Sandboxes up, and remembered.

use crate::memory::{Memory, circumstances};
use crate::obstacles;
use crate::protocol::Privileges;
use crate::stage::devices;
use crate::supervision::reason_of;
use crate::view::ProcView;
use isobox_ports::LaunchError;
use std::path::PathBuf;

/// The version of Landlock from which truncation is a right that can be ruled on.
const TRUNCATES_SINCE: u64 = 3;

/// What was found by trying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Findings {
    /// The newest version of Landlock whose every right can be ruled on.
    pub(super) landlock_abi: u64,
    /// What there is besides Landlock and the filter.
    pub(super) walls: Walls,
}

/// What there is besides Landlock and the filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Walls {
    /// Every namespace, with a view of its own.
    Namespaces {
        /// By whose privileges.
        privileges: Privileges,
        /// Which `/proc` it has, and why not a fresh one.
        proc_view: ProcView,
        /// Why it has no fresh one.
        why_not_fresh: Option<String>,
    },
    /// Nothing: this is why there are no namespaces.
    Alone(String),
}

impl Findings {
    pub(super) const fn proc_view(&self) -> ProcView {
        match &self.walls {
            Walls::Namespaces { proc_view, .. } => *proc_view,
            Walls::Alone(_) => ProcView::OfHost,
        }
    }
}

/// What is remembered of `program` if it holds here, or what comes of trying.
pub(super) fn recall_or_find(
    memory: Option<&Memory>,
    program: &Result<PathBuf, String>,
    try_walls: &dyn Fn(&Findings) -> Result<(), LaunchError>,
) -> Result<Findings, String> {
    let here = program.as_ref().ok().and_then(|program| circumstances(program).ok());
    let memory = memory.zip(here);
    if let Some(found) = memory.as_ref().and_then(|(memory, here)| decode(&memory.recall(here)?)) {
        return Ok(found);
    }
    let found = find(try_walls)?;
    if let (Some((memory, here)), Some(known)) = (&memory, encode(&found)) {
        memory.keep(here, &known);
    }
    Ok(found)
}

fn find(try_walls: &dyn Fn(&Findings) -> Result<(), LaunchError>) -> Result<Findings, String> {
    let landlock_abi = crate::probe::landlock::newest()?;
    let is_root = devices::may_mount().unwrap_or(false);
    let privileges = is_root.then_some(Privileges::Root).into_iter().chain([Privileges::UserNamespace]);
    let mut refusal = None;
    for privileges in privileges {
        let mut why_not_fresh = None;
        for proc_view in [ProcView::Fresh, ProcView::OfHost] {
            let walls = Walls::Namespaces { privileges, proc_view, why_not_fresh: why_not_fresh.clone() };
            let found = Findings { landlock_abi, walls };
            match try_walls(&found) {
                Ok(()) => return Ok(found),
                Err(error) => why_not_fresh = Some(reason_of(&error)),
            }
        }
        refusal = refusal.or(why_not_fresh);
    }
    alone(obstacles::with_remedy(&refusal.unwrap_or_default(), obstacles::OWN_LAUNCHER), try_walls)
}

/// What works without namespaces, and why there are none.
pub(super) fn alone(why: String, try_walls: &dyn Fn(&Findings) -> Result<(), LaunchError>) -> Result<Findings, String> {
    let landlock_abi = crate::probe::landlock::newest()?;
    require_truncation(landlock_abi)?;
    let found = Findings { landlock_abi, walls: Walls::Alone(why) };
    try_walls(&found).map_err(|error| reason_of(&error))?;
    Ok(found)
}

/// Behind an older one, a workload could empty every file that the user may write.
fn require_truncation(landlock_abi: u64) -> Result<(), String> {
    match landlock_abi < TRUNCATES_SINCE {
        true => Err(format!(
            "without namespaces, which are refused here, it takes Landlock of ABI {TRUNCATES_SINCE} to keep a workload from \
             truncating files of the user, and this kernel has ABI {landlock_abi}"
        )),
        false => Ok(()),
    }
}

/// Only what is whole is worth believing: the rest is tried again.
fn encode(found: &Findings) -> Option<String> {
    let letter = match &found.walls {
        Walls::Namespaces { privileges: Privileges::Root, proc_view: ProcView::Fresh, .. } => 'R',
        Walls::Namespaces { privileges: Privileges::UserNamespace, proc_view: ProcView::Fresh, .. } => 'U',
        Walls::Namespaces { .. } | Walls::Alone(_) => return None,
    };
    Some(format!("{letter}{}", found.landlock_abi))
}

fn decode(known: &str) -> Option<Findings> {
    let privileges = match known.get(..1)? {
        "R" => Privileges::Root,
        "U" => Privileges::UserNamespace,
        _ => return None,
    };
    let walls = Walls::Namespaces { privileges, proc_view: ProcView::Fresh, why_not_fresh: None };
    Some(Findings { landlock_abi: known.get(1..)?.parse().ok()?, walls })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_namespaces_a_landlock_that_does_not_rule_on_truncation_is_refused() {
        let refused = [1, 2, 3, 4].map(|abi| require_truncation(abi).err());
        assert_eq!(refused.each_ref().map(Option::is_some), [true, true, false, false]);
        let why = refused[1].as_deref().unwrap_or_default();
        assert!(why.contains("truncating files") && why.ends_with("this kernel has ABI 2"), "{why}");
    }
}
