//! Which Landlock this kernel has, found by building rulesets.

use isobox_domain::fact::Trial;
use landlock::{ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetError, Scope};

/// The versions that rulesets can tell apart, oldest first. Later ones add flags of other calls.
const ABIS: [(u32, ABI); 6] = [(1, ABI::V1), (2, ABI::V2), (3, ABI::V3), (4, ABI::V4), (5, ABI::V5), (6, ABI::V6)];

/// Builds a ruleset per ABI with every right of that ABI required. Nobody is restricted by them.
pub(super) fn probe() -> Trial {
    let mut newest = None;
    for (number, abi) in ABIS {
        match build(abi) {
            Ok(()) => newest = Some(number),
            Err(error) if newest.is_none() => return Trial::Fails(format!("no ruleset can be built: {error}")),
            Err(_) => break,
        }
    }
    let or_newer = if newest == ABIS.last().map(|(number, _)| *number) { " or newer" } else { "" };
    Trial::Works(format!("ABI {}{or_newer}", newest.unwrap_or_default()))
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
