//! Brings the Update Target to the newest release, or says what that would be.

use isobox_domain::release::{Choice, Identity, Platform, Version};
use isobox_domain::update_target::{KeyFrom, Refusal, UpdateTarget, refused_build};
use isobox_ports::{Installation, ReleaseSource, UpdateError, UpdateTargets};

/// What it touches.
pub(crate) struct Ports<'a> {
    /// Finds the program.
    pub(crate) targets: &'a dyn UpdateTargets,
    /// Replaces it.
    pub(crate) installation: &'a dyn Installation,
}

/// Where releases come from, and on whose word.
pub(crate) struct Publisher<'a> {
    /// The releases.
    pub(crate) source: &'a dyn ReleaseSource,
    /// Who named the key that they must be signed with.
    pub(crate) key: KeyFrom,
    /// What they must run on.
    pub(crate) platform: Platform,
}

/// Why nothing was replaced.
#[derive(Debug)]
pub(crate) enum Refused {
    /// There is no `isobox` on PATH.
    NoTarget,
    /// The program must not be replaced by isobox.
    Target(Box<UpdateTarget>, Refusal),
    /// Something did not work.
    Error(UpdateError),
}

impl From<UpdateError> for Refused {
    fn from(error: UpdateError) -> Self {
        Self::Error(error)
    }
}

/// What was found, and what follows from it.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The program.
    pub(crate) target: UpdateTarget,
    /// What it says of itself.
    pub(crate) installed: Identity,
    /// What the releases mean for it.
    pub(crate) step: Choice,
}

/// Looks whether there is a newer release. Nothing but the index is fetched, and nothing is replaced.
pub(crate) fn check(ports: &Ports<'_>, publisher: &Publisher<'_>) -> Result<Plan, Refused> {
    let target = find(ports)?;
    // Before anything is fetched: what is never replaced needs no release.
    let installed = ports.installation.identify(&target)?;
    if let Some(refusal) = refused_build(&installed, publisher.key) {
        return Err(Refused::Target(Box::new(target), refusal));
    }
    let index = publisher.source.index()?;
    let step = Choice::of(&index, &installed.version, publisher.platform);
    Ok(Plan { target, installed, step })
}

/// Does what a plan of [`check`] says: where the program before is kept, if there was anything to do.
pub(crate) fn perform(ports: &Ports<'_>, publisher: &Publisher<'_>, plan: &Plan) -> Result<Option<String>, Refused> {
    let Choice::Newer(release) = &plan.step else { return Ok(None) };
    allowed(&plan.target)?;
    let fetch = |into: &mut dyn std::io::Write| publisher.source.fetch(release, into);
    Ok(Some(ports.installation.replace(&plan.target, release, &fetch)?))
}

/// Goes back to the program that the last update replaced: the program's place, and the version that is there now.
pub(crate) fn roll_back(ports: &Ports<'_>) -> Result<(UpdateTarget, Version), Refused> {
    let target = find(ports)?;
    allowed(&target)?;
    let version = ports.installation.roll_back(&target)?;
    Ok((target, version))
}

/// The program, if nobody else looks after it.
fn find(ports: &Ports<'_>) -> Result<UpdateTarget, Refused> {
    let target = ports.targets.find()?.ok_or(Refused::NoTarget)?;
    match target.managed() {
        Some(refusal) => Err(Refused::Target(Box::new(target), refusal)),
        None => Ok(target),
    }
}

fn allowed(target: &UpdateTarget) -> Result<(), Refused> {
    let refused = |refusal| Err(Refused::Target(Box::new(target.clone()), refusal));
    target.denied().map_or(Ok(()), refused)
}

#[cfg(test)]
mod tests;
