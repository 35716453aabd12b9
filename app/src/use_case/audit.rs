//! Keys, checkpoints and proofs of the transparency log.

pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod prove;
mod signer;

use crate::failure::{Failure, FailureKind, one_line};
use isobox_domain::fact::Fact;
use isobox_domain::log::Checkpoint;
use isobox_ports::{
    AuditKeyError, AuditKeys, Extended, Gaps, HostProbe, KeyKept, LogUpdates, Rebuilt, StoreError, StoreErrorKind,
    TransparencyLog,
};
use isobox_store_format::log::{SignedNote, SigningKey, VerifierKey, Vouched, checkpoint_of};
use signer::StoreSigner;

/// What the commands about a log touch.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    /// What tells the log from others.
    pub(crate) name: &'a str,
    pub(crate) log: &'a dyn TransparencyLog,
    pub(crate) updates: &'a dyn LogUpdates,
    pub(crate) keys: &'a dyn AuditKeys,
}

/// What every name of a log starts with that nobody chose.
const ORIGIN: &str = "isobox.dev/log/";

/// Makes the key of a log, called `origin` or after the log.
pub(crate) fn init_key(ports: &Ports<'_>, origin: Option<&str>) -> Result<VerifierKey, Failure> {
    let default = format!("{ORIGIN}{}", ports.name);
    let origin = origin.unwrap_or(&default);
    let key = SigningKey::from_seed(origin, ports.keys.seed())
        .map_err(|error| Failure::new(FailureKind::Usage, "make a key of that name").because(error))?;
    match ports.keys.keep(ports.name, &key.secret_text())? {
        KeyKept::Now => Ok(key.verifier().clone()),
        KeyKept::Before => {
            let what = "this store has a key already, and nothing was changed";
            let there = load_key(ports.keys, ports.name)?.map(|key| key.verifier().to_string()).unwrap_or_default();
            Err(Failure::new(FailureKind::General, what)
                .with_hint(format!("it is verified with {there}; a key is never replaced")))
        }
    }
}

/// The key of a log, if there is one.
pub(crate) fn load_key(keys: &dyn AuditKeys, name: &str) -> Result<Option<SigningKey>, Failure> {
    let Some(text) = keys.load(name)? else { return Ok(None) };
    let unusable = |error| Failure::new(FailureKind::General, "read the key of the log").because(error);
    SigningKey::parse(&text).map(Some).map_err(unusable)
}

/// The key of a log, which must be there.
pub(crate) fn require_key(keys: &dyn AuditKeys, name: &str) -> Result<SigningKey, Failure> {
    load_key(keys, name)?.ok_or_else(|| {
        Failure::new(FailureKind::General, "there is no key to sign with for this store")
            .with_hint("`isobox audit init-key` makes one")
    })
}

/// The keys by which checkpoints of a log are verified: the one that was given, else the log's own.
pub(crate) fn known_keys(ports: &Ports<'_>, given: Option<&VerifierKey>) -> Result<Vec<VerifierKey>, Failure> {
    match given {
        Some(key) => Ok(vec![key.clone()]),
        None => Ok(load_key(ports.keys, ports.name)?.map(|key| key.verifier().clone()).into_iter().collect()),
    }
}

/// Every key of this user.
pub(crate) fn all_keys(keys: &dyn AuditKeys) -> Result<Vec<VerifierKey>, Failure> {
    let mut all = Vec::new();
    for name in keys.logs()? {
        all.extend(load_key(keys, &name)?.map(|key| key.verifier().clone()));
    }
    Ok(all)
}

/// Brings the log up to date, and signs it.
pub(crate) fn checkpoint(ports: &Ports<'_>, gaps: Gaps) -> Result<Extended, Failure> {
    let key = require_key(ports.keys, ports.name)?;
    let signer = StoreSigner { key: &key, keys: ports.keys, name: ports.name };
    ports.updates.extend(&signer, gaps).map_err(unusable_log)
}

/// Writes what is damaged of the log anew.
pub(crate) fn rebuild(ports: &Ports<'_>) -> Result<(Checkpoint, Rebuilt), Failure> {
    let keys = known_keys(ports, None)?;
    let newest = newest(ports, &keys)?;
    let rebuilt = ports.updates.rebuild(&newest.1.head).map_err(unusable_log)?;
    Ok((newest.1, rebuilt))
}

/// The newest checkpoint of the log, which one of `keys` vouches for unless there are none.
pub(crate) fn newest(ports: &Ports<'_>, keys: &[VerifierKey]) -> Result<(SignedNote, Checkpoint), Failure> {
    let bytes = ports.log.checkpoint().map_err(unusable_log)?.ok_or_else(|| {
        Failure::new(FailureKind::General, "this store has no transparency log yet")
            .with_hint("`isobox audit init-key` makes a key, and `isobox audit checkpoint` the log")
    })?;
    let damaged = || {
        Failure::new(FailureKind::Store, "read the newest checkpoint of the log")
            .with_hint("`isobox verify` says what else is wrong; copies are in `checkpoints` beside it")
    };
    let note = SignedNote::parse(&bytes).map_err(|error| damaged().because(error))?;
    let checkpoint = checkpoint_of(&note).map_err(|error| damaged().because(error))?;
    if keys.is_empty() || vouching(&note, &checkpoint, keys).is_some() {
        return Ok((note, checkpoint));
    }
    Err(damaged().because("it is not signed by the key of this store"))
}

/// The key among `keys` that vouches for a checkpoint of its own log. One forged signature, and none does.
pub(crate) fn vouching<'a>(
    note: &SignedNote,
    checkpoint: &Checkpoint,
    keys: &'a [VerifierKey],
) -> Option<&'a VerifierKey> {
    if keys.iter().any(|key| note.vouched_by(key) == Vouched::Forged) {
        return None;
    }
    keys.iter().find(|key| note.vouched_by(key) == Vouched::Yes && key.name() == checkpoint.origin)
}

/// What a failure of the log means for whoever called.
pub(crate) fn unusable_log(error: StoreError) -> Failure {
    match error.kind {
        StoreErrorKind::Damaged => {
            let failure = Failure::new(FailureKind::Store, error.to_string()).because(error.source);
            failure.with_hint(
                "`isobox verify` names everything that is wrong; `isobox audit rebuild` mends the log where it can",
            )
        }
        _ => error.into(),
    }
}

impl From<AuditKeyError> for Failure {
    fn from(error: AuditKeyError) -> Self {
        Self::new(FailureKind::General, "use the keys of logs")
            .because(error)
            .with_hint("they lie in `isobox/keys` of XDG_CONFIG_HOME, and have to be this user's alone")
    }
}

/// Looks how far a log lags behind, where there is a key for it.
pub(crate) struct LogProbe<'a>(pub(crate) Ports<'a>);

impl HostProbe for LogProbe<'_> {
    fn facts(&self) -> Vec<Fact> {
        let look = || -> Result<Option<Fact>, Failure> {
            let keys = known_keys(&self.0, None)?;
            if keys.is_empty() {
                return Ok(None);
            }
            let logged = match self.0.log.checkpoint().map_err(unusable_log)? {
                Some(_) => newest(&self.0, &keys)?.1.head.size,
                None => 0,
            };
            Ok(Some(Fact::Log { commits: self.0.log.commits()?, logged }))
        };
        match look() {
            Ok(fact) => fact.into_iter().collect(),
            Err(failure) => vec![Fact::BadLog(one_line(&failure))],
        }
    }
}
