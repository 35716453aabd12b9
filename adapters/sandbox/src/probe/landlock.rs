//! Which Landlock this kernel has, found by building rulesets.

use crate::stage::enclosure::ABIS;
use isobox_domain::fact::Trial;
use landlock::{ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetError, Scope};

/// Builds a ruleset per ABI with every right of that ABI required. Nobody is restricted by them.
pub(super) fn probe() -> Trial {
    let or_newer = |newest| if Some(newest) == ABIS.last().map(|(number, _)| *number) { " or newer" } else { "" };
    match newest() {
        Ok(newest) => Trial::Works(format!("ABI {newest}{}", or_newer(newest))),
        Err(reason) => Trial::Fails(reason),
    }
}

/// The newest version of those that can be told apart whose every right can be ruled on.
pub(crate) fn newest() -> Result<u64, String> {
    let mut newest = Err(String::new());
    for (number, abi) in ABIS {
        match build(abi) {
            Ok(()) => newest = Ok(number),
            Err(error) if newest.is_err() => return Err(format!("no Landlock ruleset can be built: {error}")),
            Err(_) => break,
        }
    }
    newest
}

fn build(abi: ABI) -> Result<(), RulesetError> {
    let required = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let mut ruleset = required.handle_access(AccessFs::from_all(abi))?;
    let (network, scope) = (AccessNet::from_all(abi), Scope::from_all(abi));
    if !network.is_empty() {
        ruleset = ruleset.handle_access(network)?;
    }
    if !scope.is_empty() {
        ruleset = ruleset.scope(scope)?;
    }
    ruleset.create().map(drop)
}
