//! One line of a Change Set: an array of a number that says which kind of line it is, and what belongs to it.

use crate::cbor::{Decoder, Encoder, MapEncoder};
use crate::object::{DecodeError, Names};
use isobox_domain::change::{After, Before, Change, ChangeLine, Mode, NotCaptured, NotCapturedReason, RuleOrigin};
use isobox_domain::repo_path::RepoPath;

const CHANGE: u64 = 1;
const NOT_CAPTURED: u64 = 2;
const MODES: Names<'_, Mode> = &[
    ("file", Mode::File),
    ("executable", Mode::Executable),
    ("symlink", Mode::Symlink),
    ("submodule", Mode::Submodule),
];
const ORIGINS: Names<'_, RuleOrigin> = &[("commit", RuleOrigin::Commit), ("workload", RuleOrigin::Workload)];
const IGNORED: &str = "ignored";
const EMPTY_DIRECTORY: &str = "empty_directory";
const NESTED_REPOSITORY: &str = "nested_repository";
const FIFO: &str = "fifo";
const SOCKET: &str = "socket";
const DEVICE: &str = "device";
const UNREADABLE: &str = "unreadable";
const SPECIAL_MODE_BITS: &str = "special_mode_bits";
const TOO_LARGE: &str = "too_large";
const UNSUPPORTED_NAME: &str = "unsupported_name";
const OTHER_FILE_SYSTEM: &str = "other_file_system";

pub(super) fn encode(line: &ChangeLine) -> Vec<u8> {
    let mut encoder = Encoder::default();
    match line {
        ChangeLine::Change(change) => {
            encoder.array(2).uint(CHANGE).map(|map| encode_change(map, change));
        }
        ChangeLine::NotCaptured(left_out) => {
            encoder.array(3).uint(NOT_CAPTURED).bytes(&left_out.workspace_path);
            encode_reason(&mut encoder, &left_out.reason);
        }
    }
    encoder.into_bytes()
}

pub(super) fn decode(decoder: &mut Decoder<'_>) -> Result<ChangeLine, DecodeError> {
    let length = decoder.array()?;
    match (length, decoder.uint()?) {
        (2, CHANGE) => decode_change(decoder).map(ChangeLine::Change),
        (3, NOT_CAPTURED) => Ok(ChangeLine::NotCaptured(NotCaptured {
            workspace_path: decoder.bytes_without_nul()?.to_vec(),
            reason: decode_reason(decoder)?,
        })),
        _ => decoder.expected("a line of this version"),
    }
}

fn encode_change(map: &mut MapEncoder, change: &Change) {
    map.field(0).bytes(change.path.as_bytes());
    if let Some(before) = &change.before {
        map.field(1).map(|map| encode_before(map, before));
    }
    if let Some(after) = &change.after {
        map.field(2).map(|map| {
            map.field(0).named(MODES, &after.mode);
            map.field(1).reference(&after.content);
            map.field(2).bool(after.binary);
        });
    }
    if let Some(from) = &change.renamed_from {
        map.field(3).bytes(from.as_bytes());
    }
    if let Some(submodule) = &change.submodule {
        map.field(4).bytes(submodule.as_bytes());
    }
}

fn encode_before(map: &mut MapEncoder, before: &Before) {
    map.field(0).named(MODES, &before.mode);
    map.field(1).bytes(before.oid.as_bytes());
    if let Some(content) = &before.content {
        map.field(2).reference(content);
    }
}

fn decode_change(decoder: &mut Decoder<'_>) -> Result<Change, DecodeError> {
    let mut map = decoder.map()?;
    let change = Change {
        path: map.need(0, "a path")?.path()?,
        before: map.find(1)?.map(decode_before).transpose()?,
        after: map.find(2)?.map(decode_after).transpose()?,
        renamed_from: map.find(3)?.map(Decoder::path).transpose()?,
        submodule: map.find(4)?.map(Decoder::path).transpose()?,
    };
    map.end()?;
    broken_rule(&change).map_or(Ok(change), |rule| decoder.expected(rule))
}

// What a `Change` promises about its parts.
fn broken_rule(change: &Change) -> Option<&'static str> {
    let is_same = |before: &Before, after: &After| before.mode == after.mode && before.content == Some(after.content);
    match (&change.before, &change.after) {
        (None, None) => return Some("what was there before or after"),
        (Some(before), Some(after)) if is_same(before, after) => return Some("a difference between before and after"),
        _ => {}
    }
    if change.renamed_from.is_some() && change.before.is_some() {
        return Some("a rename of an added path");
    }
    let lies_in = |path: &RepoPath| change.path == *path || change.path.is_below(path);
    (!change.submodule.as_ref().is_none_or(lies_in)).then_some("a path in the submodule")
}

fn decode_before(decoder: &mut Decoder<'_>) -> Result<Before, DecodeError> {
    let mut map = decoder.map()?;
    let before = Before {
        mode: map.need(0, "the mode before")?.named(MODES, "a mode")?,
        oid: map.need(1, "the Git object")?.oid()?,
        content: map.find(2)?.map(Decoder::reference).transpose()?,
    };
    map.end()?;
    if before.mode == Mode::Submodule && before.content.is_some() {
        return decoder.expected("no content of a submodule");
    }
    Ok(before)
}

fn decode_after(decoder: &mut Decoder<'_>) -> Result<After, DecodeError> {
    let mut map = decoder.map()?;
    let after = After {
        mode: map.need(0, "the mode after")?.named(MODES, "a mode")?,
        content: map.need(1, "the content")?.reference()?,
        binary: map.need(2, "whether it is binary")?.bool()?,
    };
    map.end()?;
    if after.mode == Mode::Submodule {
        return decoder.expected("a file or a link");
    }
    Ok(after)
}

fn encode_reason(encoder: &mut Encoder, reason: &NotCapturedReason) {
    match reason {
        NotCapturedReason::Ignored { rule, rule_file, origin } => {
            encoder.array(4).text(IGNORED).bytes(rule).bytes(rule_file.as_bytes()).named(ORIGINS, origin)
        }
        NotCapturedReason::EmptyDirectory => encoder.array(1).text(EMPTY_DIRECTORY),
        NotCapturedReason::NestedRepository => encoder.array(1).text(NESTED_REPOSITORY),
        NotCapturedReason::Fifo => encoder.array(1).text(FIFO),
        NotCapturedReason::Socket => encoder.array(1).text(SOCKET),
        NotCapturedReason::Device => encoder.array(1).text(DEVICE),
        NotCapturedReason::Unreadable(why) => encoder.array(2).text(UNREADABLE).text(why),
        NotCapturedReason::SpecialModeBits(bits) => encoder.array(2).text(SPECIAL_MODE_BITS).uint((*bits).into()),
        NotCapturedReason::TooLarge { length } => encoder.array(2).text(TOO_LARGE).uint(*length),
        NotCapturedReason::UnsupportedName(rule) => encoder.array(2).text(UNSUPPORTED_NAME).text(rule),
        NotCapturedReason::OtherFileSystem => encoder.array(1).text(OTHER_FILE_SYSTEM),
    };
}

fn decode_reason(decoder: &mut Decoder<'_>) -> Result<NotCapturedReason, DecodeError> {
    let length = decoder.array()?;
    Ok(match (length, decoder.text()?) {
        (4, IGNORED) => NotCapturedReason::Ignored {
            rule: decoder.bytes()?.to_vec(),
            rule_file: decoder.path()?,
            origin: decoder.named(ORIGINS, "where a rule comes from")?,
        },
        (1, EMPTY_DIRECTORY) => NotCapturedReason::EmptyDirectory,
        (1, NESTED_REPOSITORY) => NotCapturedReason::NestedRepository,
        (1, FIFO) => NotCapturedReason::Fifo,
        (1, SOCKET) => NotCapturedReason::Socket,
        (1, DEVICE) => NotCapturedReason::Device,
        (2, UNREADABLE) => NotCapturedReason::Unreadable(decoder.text()?.to_owned()),
        (2, SPECIAL_MODE_BITS) => NotCapturedReason::SpecialModeBits(decode_bits(decoder)?),
        (2, TOO_LARGE) => NotCapturedReason::TooLarge { length: decoder.uint()? },
        (2, UNSUPPORTED_NAME) => NotCapturedReason::UnsupportedName(decoder.text()?.to_owned()),
        (1, OTHER_FILE_SYSTEM) => NotCapturedReason::OtherFileSystem,
        _ => return decoder.expected("a reason of this version"),
    })
}

fn decode_bits(decoder: &mut Decoder<'_>) -> Result<u32, DecodeError> {
    u32::try_from(decoder.uint()?).or_else(|_| decoder.expected("mode bits"))
}
