//! What the log, its signatures and older checkpoints say about a store: a part of its verification.

use super::{Ports, known_keys, vouching};
use crate::failure::Failure;
use isobox_domain::log::{Checkpoint, TreeHead};
use isobox_domain::verification::{Defect, DefectKind, LogLook, Verification};
use isobox_ports::{StoreErrorKind, TellAdvance};
use isobox_store_format::log::{SignedNote, VerifierKey, checkpoint_of};

/// What whoever verifies brings along.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known<'a> {
    /// A key in place of the log's own.
    pub(crate) key: Option<&'a VerifierKey>,
    /// A checkpoint that was copied elsewhere.
    pub(crate) older: Option<&'a (SignedNote, Checkpoint)>,
}

/// Adds to `found` what the log says.
pub(crate) fn compare(
    ports: &Ports<'_>,
    known: Known<'_>,
    found: &mut Verification,
    tell: TellAdvance<'_>,
) -> Result<(), Failure> {
    let keys = known_keys(ports, known.key)?;
    // In the reverse of the order in which an update writes them: one that goes on meanwhile is then newer than all of this,
    // and no checkpoint is kept of more than the newest is of.
    let kept_inside = ports.log.kept_checkpoints()?;
    let kept = kept_outside(ports, &keys)?;
    let older = known.older.map(|(_, checkpoint)| checkpoint.clone());
    if let Some((note, checkpoint)) = known.older
        && !keys.is_empty()
        && vouching(note, checkpoint, &keys).is_none()
    {
        add(
            found,
            DefectKind::Signature { reason: "the older checkpoint is not signed by the key that is known".into() },
        );
    }
    let older = kept.into_iter().chain(older).collect();
    let mut comparison = Comparison { ports, keys, found, older, kept_inside };
    match ports.log.checkpoint() {
        Ok(Some(note)) => comparison.with_log(&note, tell),
        Ok(None) => {
            comparison.without_log(known.key.is_some());
            Ok(())
        }
        Err(error) if error.kind == StoreErrorKind::Damaged => comparison.with_log(&[], tell),
        Err(error) => Err(error.into()),
    }
}

/// The newest checkpoint that is kept with the log's own key.
fn kept_outside(ports: &Ports<'_>, keys: &[VerifierKey]) -> Result<Option<Checkpoint>, Failure> {
    let Some(note) = ports.keys.newest(ports.name)? else { return Ok(None) };
    Ok(read(&note, keys).ok().map(|(checkpoint, _)| checkpoint))
}

/// A checkpoint and the name of the key that vouches for it; why that cannot be said.
fn read(note: &[u8], keys: &[VerifierKey]) -> Result<(Checkpoint, Option<String>), String> {
    let note = SignedNote::parse(note).map_err(|error| error.to_string())?;
    let checkpoint = checkpoint_of(&note).map_err(|error| error.to_string())?;
    match vouching(&note, &checkpoint, keys) {
        Some(key) => Ok((checkpoint, Some(key.name().to_owned()))),
        None if keys.is_empty() => Ok((checkpoint, None)),
        None => Err("it is not signed by the key that is known".to_owned()),
    }
}

fn add(found: &mut Verification, kind: DefectKind) {
    found.add(Defect::new(kind, Vec::new()));
}

struct Comparison<'a> {
    ports: &'a Ports<'a>,
    keys: Vec<VerifierKey>,
    found: &'a mut Verification,
    /// Checkpoints that are known from elsewhere.
    older: Vec<Checkpoint>,
    /// The names of those that the log kept before anything else was looked at.
    kept_inside: Vec<String>,
}

impl Comparison<'_> {
    fn without_log(&mut self, is_key_given: bool) {
        for older in std::mem::take(&mut self.older) {
            self.history(format!(
                "a checkpoint of {} COMMITs was signed, and there is no log any more",
                older.head.size
            ));
        }
        if is_key_given {
            let reason = "there is no checkpoint that the given key could have signed".to_owned();
            add(self.found, DefectKind::Signature { reason });
        }
        self.found.log = LogLook::Absent;
    }

    fn with_log(&mut self, note: &[u8], tell: TellAdvance<'_>) -> Result<(), Failure> {
        let read = read(note, &self.keys);
        if let Err(why) = &read {
            let reason = format!("the newest checkpoint is not what a key vouches for: {why}");
            add(self.found, DefectKind::Signature { reason });
        }
        let vouched = read.as_ref().ok().and_then(|(_, name)| name.clone()).into_iter().collect();
        let is_vouched = read.is_ok();
        // Nobody vouches for it, but what is known from elsewhere can still be held against it.
        let newest = read.or_else(|_| self::read(note, &[])).ok().map(|(checkpoint, _)| checkpoint.head);
        let known = self.older.iter().map(|older| older.head).max_by_key(|head| head.size);
        let mut look = match newest.or(known) {
            Some(newest) => self.with_head(newest, vouched, tell)?,
            None => {
                let unlogged = self.ports.log.commits()?;
                LogLook::Looked { size: 0, unlogged, is_whole: false, vouched: Vec::new() }
            }
        };
        if let LogLook::Looked { is_whole, .. } = &mut look {
            *is_whole &= is_vouched;
        }
        self.found.log = look;
        Ok(())
    }

    fn with_head(&mut self, newest: TreeHead, vouched: Vec<String>, tell: TellAdvance<'_>) -> Result<LogLook, Failure> {
        let head = self.longest(newest)?;
        for older in std::mem::take(&mut self.older) {
            self.require(&head, &older, "a checkpoint from elsewhere")?;
        }
        self.kept_inside(&head)?;
        let compared = self.ports.log.compare(&head, tell)?;
        compared.defects.into_iter().for_each(|defect| self.found.add(defect));
        self.found.untold += compared.untold;
        let unlogged = self.ports.log.commits()?.saturating_sub(head.size);
        Ok(LogLook::Looked { size: head.size, unlogged, is_whole: compared.is_whole, vouched })
    }

    /// The newest tree that was signed and is there: an update that was killed leaves one that is not published yet.
    fn longest(&self, newest: TreeHead) -> Result<TreeHead, Failure> {
        let longer = self.older.iter().map(|older| older.head).filter(|head| head.size > newest.size);
        let Some(longer) = longer.max_by_key(|head| head.size) else { return Ok(newest) };
        match self.ports.log.head_at(&longer, longer.size) {
            Ok(_) => Ok(longer),
            Err(error) if error.kind == StoreErrorKind::Damaged => Ok(newest),
            Err(error) => Err(error.into()),
        }
    }

    /// The checkpoints that the log keeps.
    fn kept_inside(&mut self, head: &TreeHead) -> Result<(), Failure> {
        for name in std::mem::take(&mut self.kept_inside) {
            let note = match self.ports.log.kept_checkpoint(&name) {
                Ok(note) => note.unwrap_or_default(),
                Err(error) if error.kind == StoreErrorKind::Damaged => Vec::new(),
                Err(error) => return Err(error.into()),
            };
            match read(&note, &self.keys) {
                Ok((checkpoint, _)) if checkpoint.head.size.to_string() == name => {
                    self.require(head, &checkpoint, "a checkpoint that the log keeps")?;
                }
                Ok(_) => self.signature(&name, "it is of another size"),
                Err(why) => self.signature(&name, &why),
            }
        }
        Ok(())
    }

    /// Whether `older` is of the beginning of the tree of `head`.
    fn require(&mut self, head: &TreeHead, older: &Checkpoint, which: &str) -> Result<(), Failure> {
        let size = older.head.size;
        if size > head.size {
            self.history(format!("{which} is of {size} COMMITs, and the log ends with {}", head.size));
            return Ok(());
        }
        if size == 0 {
            return Ok(());
        }
        match self.ports.log.head_at(head, size) {
            Ok(there) if there == older.head => {}
            Ok(_) => self.history(format!("{which} is of {size} COMMITs that are not the first {size} of the log")),
            // The comparison names what is damaged.
            Err(error) if error.kind == StoreErrorKind::Damaged => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn history(&mut self, reason: String) {
        add(self.found, DefectKind::History { reason });
    }

    fn signature(&mut self, name: &str, why: &str) {
        add(
            self.found,
            DefectKind::Signature { reason: format!("checkpoints/{name} is not what a key vouches for: {why}") },
        );
    }
}
