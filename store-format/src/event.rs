//! Events: small objects about a record, each naming the one before it.

use crate::cbor::{Decoder, MapDecoder, MapEncoder};
use crate::object::{self, DecodeError, EncodeError, Names};
use isobox_domain::event::{Confirmation, Destination, Event, EventKind, Merged, Promoted};
use isobox_domain::promotion::{BlockedRisk, ChosenHunks, Overridden, PromotionRequirement, Selection};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::task_id::TaskId;
use std::collections::BTreeSet;

const KIND: &str = "isobox.event";
/// The schema number of an event that says where a Promotion went, what part it brought, that it was a merge, or that it was
/// taken back, so that an older reader says that it does not know it.
const WITH_PARTS: u64 = 2;
/// That of one that brought some hunks of a file alone.
const WITH_HUNKS: u64 = 3;
/// That of one that was verified before, or was made in spite of the policy.
const WITH_GATE: u64 = 4;
const PROMOTED: &str = "promoted";
const REJECTED: &str = "rejected";
const PINNED: &str = "pinned";
const UNPINNED: &str = "unpinned";
const PRUNED: &str = "pruned";
const UNDONE: &str = "undone";

const CONFIRMATIONS: Names<'_, Confirmation> = &[
    (Confirmation::Interactive.name(), Confirmation::Interactive),
    (Confirmation::Piped.name(), Confirmation::Piped),
    (Confirmation::Flag.name(), Confirmation::Flag),
    (Confirmation::Unknown.name(), Confirmation::Unknown),
];

/// The object of an event.
pub fn encode_event(event: &Event) -> Result<Vec<u8>, EncodeError> {
    object::checked(KIND, encode_unchecked(event), decode_event)
}

/// The event that `bytes` say.
pub fn decode_event(bytes: &[u8]) -> Result<Event, DecodeError> {
    let mut decoder = Decoder::new(bytes)?;
    let mut map = decoder.map()?;
    object::open_up_to(&mut map, KIND, WITH_GATE)?;
    let event = Event {
        task: TaskId::new(map.need(2, "the task")?.fixed("a task id of 8 bytes")?),
        subject: map.need(3, "the subject")?.id()?,
        previous: map.find(4)?.map(Decoder::id).transpose()?,
        at: map.need(5, "the time")?.time()?,
        kind: decode_kind(&mut map)?,
    };
    map.end()?;
    decoder.end()?;
    object::require_equal(bytes, &encode_unchecked(&event))?;
    Ok(event)
}

fn schema_of(kind: &EventKind) -> u64 {
    match kind {
        EventKind::Promoted(promoted) if promoted.overridden.is_some() || promoted.verified.is_some() => WITH_GATE,
        EventKind::Promoted(Promoted { part: Some(part), .. }) if !part.hunks.is_empty() => WITH_HUNKS,
        EventKind::Promoted(Promoted { part: None, destination: Destination::WorkingTree, merged: None, .. }) => {
            object::SCHEMA
        }
        EventKind::Promoted(_) | EventKind::Undone => WITH_PARTS,
        _ => object::SCHEMA,
    }
}

fn encode_unchecked(event: &Event) -> Vec<u8> {
    object::encode_as(KIND, schema_of(&event.kind), |map| {
        map.field(2).bytes(event.task.as_bytes());
        map.field(3).id(&event.subject);
        if let Some(previous) = &event.previous {
            map.field(4).id(previous);
        }
        map.field(5).time(event.at);
        match &event.kind {
            EventKind::Promoted(promoted) => {
                map.field(6).text(PROMOTED);
                map.field(7).map(|detail| encode_promoted(detail, promoted));
            }
            EventKind::Rejected { reason } => encode_reasoned(map, REJECTED, reason),
            EventKind::Pinned => {
                map.field(6).text(PINNED);
            }
            EventKind::Unpinned => {
                map.field(6).text(UNPINNED);
            }
            EventKind::Pruned { reason } => encode_reasoned(map, PRUNED, reason),
            EventKind::Undone => {
                map.field(6).text(UNDONE);
            }
        }
    })
}

fn encode_reasoned(map: &mut MapEncoder, what: &str, reason: &str) {
    map.field(6).text(what);
    map.field(7).map(|detail| {
        detail.field(0).text(reason);
    });
}

fn encode_promoted(map: &mut MapEncoder, promoted: &Promoted) {
    map.field(0).bytes(&promoted.host_path);
    map.field(1).bytes(promoted.commit.as_bytes());
    if let Some(branch) = &promoted.branch {
        map.field(2).bytes(branch);
    }
    map.field(3).named(CONFIRMATIONS, &promoted.confirmation);
    map.field(4).uint(promoted.paths);
    if let Some(part) = &promoted.part {
        map.field(5).map(|map| encode_part(map, part));
    }
    if promoted.destination != Destination::WorkingTree {
        map.field(6).text(promoted.destination.name());
    }
    if let Some(made) = promoted.destination.made() {
        map.field(7).bytes(made.as_bytes());
    }
    if let Destination::Branch { name, .. } = &promoted.destination {
        map.field(8).bytes(name);
    }
    if let Some(merged) = &promoted.merged {
        map.field(9).uint(merged.conflicts);
    }
    if let Some(overridden) = &promoted.overridden {
        map.field(10).map(|map| encode_overridden(map, overridden));
    }
    if let Some(verified) = &promoted.verified {
        map.field(11).id(verified);
    }
}

fn encode_overridden(map: &mut MapEncoder, overridden: &Overridden) {
    map.field(0).text(&overridden.reason);
    let require: Vec<&str> = overridden.require.iter().map(|entry| entry.name()).collect();
    let block: Vec<&str> = overridden.block.iter().map(|entry| entry.name()).collect();
    for (key, names) in [(1, require), (2, block)] {
        if !names.is_empty() {
            let list = map.field(key).array(names.len());
            names.iter().fold(list, |list, name| list.text(name));
        }
    }
}

fn encode_part(map: &mut MapEncoder, part: &Selection) {
    for (key, paths) in [(0, &part.only), (1, &part.except)] {
        if !paths.is_empty() {
            let list = map.field(key).array(paths.len());
            paths.iter().fold(list, |list, path| list.bytes(path.as_bytes()));
        }
    }
    if !part.hunks.is_empty() {
        let mut list = map.field(2).array(part.hunks.len());
        for chosen in &part.hunks {
            list = list.array(2).bytes(chosen.path.as_bytes());
            list =
                chosen.numbers.iter().fold(list.array(chosen.numbers.len()), |list, &number| list.uint(number.into()));
        }
    }
}

fn decode_kind(map: &mut MapDecoder<'_, '_>) -> Result<EventKind, DecodeError> {
    let decoder = map.need(6, "what happened")?;
    Ok(match decoder.text()? {
        PROMOTED => EventKind::Promoted(decode_detail(map, decode_promoted)?),
        REJECTED => EventKind::Rejected { reason: decode_detail(map, decode_reason)? },
        PINNED => EventKind::Pinned,
        UNPINNED => EventKind::Unpinned,
        UNDONE => EventKind::Undone,
        PRUNED => EventKind::Pruned { reason: decode_detail(map, decode_reason)? },
        _ => return decoder.expected("an event of this version"),
    })
}

fn decode_detail<T>(
    map: &mut MapDecoder<'_, '_>,
    decode: fn(&mut MapDecoder<'_, '_>) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let mut detail = map.need(7, "details")?.map()?;
    let decoded = decode(&mut detail)?;
    detail.end()?;
    Ok(decoded)
}

fn decode_reason(map: &mut MapDecoder<'_, '_>) -> Result<String, DecodeError> {
    Ok(map.need(0, "a reason")?.text()?.to_owned())
}

fn decode_promoted(map: &mut MapDecoder<'_, '_>) -> Result<Promoted, DecodeError> {
    Ok(Promoted {
        host_path: map.need(0, "a host path")?.host_path()?,
        commit: map.need(1, "a commit")?.oid()?,
        branch: map.find(2)?.map(|branch| branch.bytes_without_nul().map(<[u8]>::to_vec)).transpose()?,
        confirmation: map.need(3, "a confirmation")?.named(CONFIRMATIONS, "a confirmation")?,
        paths: map.need(4, "a number of paths")?.uint()?,
        part: map.find(5)?.map(decode_part).transpose()?.map(Box::new),
        destination: decode_destination(map)?,
        merged: map.find(9)?.map(Decoder::uint).transpose()?.map(|conflicts| Merged { conflicts }),
        overridden: map.find(10)?.map(decode_overridden).transpose()?.map(Box::new),
        verified: map.find(11)?.map(Decoder::id).transpose()?,
    })
}

fn decode_overridden(decoder: &mut Decoder<'_>) -> Result<Overridden, DecodeError> {
    let mut map = decoder.map()?;
    let reason = map.need(0, "a reason")?.text()?.to_owned();
    let requirements = PromotionRequirement::ALL.map(|known| (known.name(), known));
    let risks: Vec<_> = BlockedRisk::all().map(|known| (known.name(), known)).collect();
    let require = map.find(1)?.map(|names| decode_names(names, &requirements)).transpose()?.unwrap_or_default();
    let block = map.find(2)?.map(|names| decode_names(names, &risks)).transpose()?.unwrap_or_default();
    map.end()?;
    match require.is_empty() && block.is_empty() {
        true => decoder.expected("what the promotion was made in spite of"),
        false => Ok(Overridden { reason, require, block }),
    }
}

/// Some of what `known` names, in its order.
fn decode_names<T: Copy>(decoder: &mut Decoder<'_>, known: &[(&str, T)]) -> Result<Vec<T>, DecodeError> {
    let mut rest = known.iter();
    decoder.list(|decoder| {
        let name = decoder.text()?;
        match rest.find(|(known, _)| *known == name) {
            Some((_, value)) => Ok(*value),
            None => decoder.expected("names of this version, each once and in order"),
        }
    })
}

fn decode_part(decoder: &mut Decoder<'_>) -> Result<Selection, DecodeError> {
    let mut map = decoder.map()?;
    let only = map.find(0)?.map(decode_paths).transpose()?.unwrap_or_default();
    let except = map.find(1)?.map(decode_paths).transpose()?.unwrap_or_default();
    let hunks = map.find(2)?.map(decode_hunks).transpose()?.unwrap_or_default();
    map.end()?;
    let part = Selection { only, except, hunks };
    if part.is_everything() {
        return decoder.expected("a part that leaves something out");
    }
    let is_among = |chosen: &ChosenHunks| part.admits(&chosen.path);
    if !part.hunks.iter().all(is_among) || !part.hunks.is_sorted_by(|one, next| one.path < next.path) {
        return decoder.expected("hunks of chosen files, each once, in ascending order");
    }
    Ok(part)
}

fn decode_hunks(decoder: &mut Decoder<'_>) -> Result<Vec<ChosenHunks>, DecodeError> {
    decoder.list(|decoder| {
        decoder.array_of(2, "a file and its hunks")?;
        let chosen = ChosenHunks { path: decoder.path()?, numbers: decoder.list(decode_number)? };
        match chosen.numbers.is_empty() || !chosen.numbers.is_sorted_by(|one, next| one < next) {
            true => decoder.expected("numbers of hunks, ascending"),
            false => Ok(chosen),
        }
    })
}

fn decode_number(decoder: &mut Decoder<'_>) -> Result<u32, DecodeError> {
    match u32::try_from(decoder.uint()?) {
        Ok(number) => Ok(number),
        Err(_) => decoder.expected("the number of a hunk"),
    }
}

fn decode_paths(decoder: &mut Decoder<'_>) -> Result<BTreeSet<RepoPath>, DecodeError> {
    Ok(decoder.list(Decoder::path)?.into_iter().collect())
}

fn decode_destination(map: &mut MapDecoder<'_, '_>) -> Result<Destination, DecodeError> {
    let Some(decoder) = map.find(6)? else { return Ok(Destination::WorkingTree) };
    Ok(match decoder.text()? {
        "index" => Destination::Index,
        "commit" => Destination::Commit { made: map.need(7, "the commit that was made")?.oid()? },
        "branch" => Destination::Branch {
            made: map.need(7, "the commit that was made")?.oid()?,
            name: map.need(8, "a branch")?.bytes_without_nul()?.to_vec(),
        },
        _ => return decoder.expected("a destination of this version"),
    })
}
