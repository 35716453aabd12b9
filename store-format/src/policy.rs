//! The Effective Policy as an object of its own, so that equal policies are stored once.

use crate::cbor::{Decoder, Encoder, MapEncoder};
use crate::object::{self, DecodeError, EncodeError, Names};
use crate::sandbox_limits::{decode_limit_reports, decode_limits, encode_limit_reports, encode_limits};
use isobox_domain::enforcement::{Control, ControlReport, Enforcement};
use isobox_domain::policy::{
    BackendChoice, BackendName, CopyChanges, DependencyCache, EffectivePolicy, Exposure, FileRules, HideRule,
    NetworkAccess, PathMode, Requirement, Requirements, ReuseInput, ReuseKind, SandboxPolicy, UnsafeOverride,
    WorkspaceExposure, WorkspaceKind, WriteRule,
};
use isobox_domain::repo_path::RepoPath;

const KIND: &str = "isobox.policy";
/// The schema number of a policy with a field that came later, so that an older reader says that it does not know it.
const EXTENDED: u64 = 2;

const BACKENDS: Names<'_, BackendName> = &[
    (BackendName::Host.name(), BackendName::Host),
    (BackendName::Bubblewrap.name(), BackendName::Bubblewrap),
    (BackendName::Landlock.name(), BackendName::Landlock),
];
const CHOICES: Names<'_, BackendChoice> = &[
    ("auto", BackendChoice::Auto),
    (BackendName::Host.name(), BackendChoice::Named(BackendName::Host)),
    (BackendName::Bubblewrap.name(), BackendChoice::Named(BackendName::Bubblewrap)),
    (BackendName::Landlock.name(), BackendChoice::Named(BackendName::Landlock)),
];
const NETWORKS: Names<'_, NetworkAccess> =
    &[(NetworkAccess::Deny.name(), NetworkAccess::Deny), (NetworkAccess::Inherited.name(), NetworkAccess::Inherited)];
const PATH_MODES: Names<'_, PathMode> =
    &[(PathMode::Default.name(), PathMode::Default), (PathMode::Inherited.name(), PathMode::Inherited)];
const EXPOSURES: Names<'_, WorkspaceExposure> =
    &[("read_write", WorkspaceExposure::ReadWrite), ("read_only", WorkspaceExposure::ReadOnly)];
const WORKSPACES: Names<'_, WorkspaceKind> = &[
    (WorkspaceKind::Copy.name(), WorkspaceKind::Copy),
    (WorkspaceKind::Overlay.name(), WorkspaceKind::Overlay),
    (WorkspaceKind::Reflink.name(), WorkspaceKind::Reflink),
];
/// What becomes of the changes of a private copy.
const COPY_CHANGES: Names<'_, CopyChanges> = &[("discard", CopyChanges::Discarded), ("capture", CopyChanges::Captured)];
pub(crate) const ENFORCED: &str = "enforced";
pub(crate) const PARTIALLY_ENFORCED: &str = "partially_enforced";
pub(crate) const NOT_ENFORCED: &str = "not_enforced";

/// The object of an Effective Policy. Equal policies have equal bytes.
pub fn encode_policy(policy: &EffectivePolicy) -> Result<Vec<u8>, EncodeError> {
    object::checked(KIND, encode_unchecked(policy), decode_policy)
}

/// The Effective Policy that `bytes` say.
pub fn decode_policy(bytes: &[u8]) -> Result<EffectivePolicy, DecodeError> {
    let mut decoder = Decoder::new(bytes)?;
    let mut map = decoder.map()?;
    object::open_up_to(&mut map, KIND, EXTENDED)?;
    let policy = EffectivePolicy {
        backend: map.need(2, "the backend")?.named(BACKENDS, "a backend")?,
        asked: decode_asked(map.need(3, "what was asked for")?)?,
        controls: decode_controls(map.need(4, "the controls")?)?,
        limitations: map.need(5, "the limitations")?.texts()?,
        workspace: map.find(6)?.map(|kind| kind.named(WORKSPACES, "a kind of workspace")).transpose()?,
        limits: map.find(7)?.map(decode_limit_reports).transpose()?.unwrap_or_default(),
        exposures: map.find(8)?.map(|found| found.list(decode_exposure)).transpose()?.unwrap_or_default(),
        why_this_backend: map.find(9)?.map(|why| why.text()).transpose()?.map(str::to_owned),
    };
    map.end()?;
    decoder.end()?;
    object::require_equal(bytes, &encode_unchecked(&policy))?;
    Ok(policy)
}

/// Whether the policy has a field that [`EXTENDED`] has and the first schema has not.
fn is_extended(policy: &EffectivePolicy) -> bool {
    let asked = &policy.asked;
    !asked.require.is_empty()
        || !asked.unsafe_overrides.is_empty()
        || !asked.files.is_empty()
        || !asked.caches.is_empty()
        || asked.reuse_inputs.iter().any(|input| input.digest.is_some())
        || !policy.exposures.is_empty()
        || policy.why_this_backend.is_some()
        || !asked.limits.is_empty()
        || !policy.limits.is_empty()
}

fn encode_unchecked(policy: &EffectivePolicy) -> Vec<u8> {
    let schema = if is_extended(policy) { EXTENDED } else { object::SCHEMA };
    object::encode_as(KIND, schema, |map| {
        map.field(2).named(BACKENDS, &policy.backend);
        map.field(3).map(|asked| encode_asked(asked, &policy.asked));
        let controls = map.field(4).array(policy.controls.len());
        policy.controls.iter().for_each(|report| encode_control(controls, report));
        map.field(5).texts(&policy.limitations);
        if let Some(kind) = &policy.workspace {
            map.field(6).named(WORKSPACES, kind);
        }
        if !policy.limits.is_empty() {
            encode_limit_reports(map.field(7), &policy.limits);
        }
        if !policy.exposures.is_empty() {
            let exposures = map.field(8).array(policy.exposures.len());
            policy.exposures.iter().for_each(|exposure| {
                exposures.array(3).text(&exposure.what).text(exposure.control.name()).text(&exposure.why);
            });
        }
        if let Some(why) = &policy.why_this_backend {
            map.field(9).text(why);
        }
    })
}

fn encode_asked(map: &mut MapEncoder, asked: &SandboxPolicy) {
    map.field(0).named(CHOICES, &asked.backend);
    map.field(1).named(NETWORKS, &asked.network);
    map.field(2).texts(&asked.network_allow);
    map.field(3).named(PATH_MODES, &asked.path_mode);
    map.field(4).named(EXPOSURES, &asked.workspace);
    let read = map.field(5).array(asked.read.len());
    asked.read.iter().for_each(|directory| {
        read.bytes(directory);
    });
    let inputs = map.field(6).array(asked.reuse_inputs.len());
    asked.reuse_inputs.iter().for_each(|input| {
        match &input.digest {
            None => inputs.array(2).text(input.kind.name()).text(&input.value),
            Some(digest) => inputs.array(3).text(input.kind.name()).text(&input.value).id(digest),
        };
    });
    if !asked.limits.is_empty() {
        map.field(7).map(|limits| encode_limits(limits, &asked.limits));
    }
    encode_files(map, &asked.files);
    if !asked.caches.is_empty() {
        let caches = map.field(11).array(asked.caches.len());
        asked.caches.iter().for_each(|cache| {
            caches.text(cache.name());
        });
    }
    if !asked.require.is_empty() {
        let require = map.field(12).array(asked.require.as_slice().len());
        asked.require.as_slice().iter().for_each(|required| {
            require.text(required.name());
        });
    }
    if !asked.unsafe_overrides.is_empty() {
        let overrides = map.field(13).array(asked.unsafe_overrides.len());
        asked.unsafe_overrides.iter().for_each(|override_| {
            overrides.text(override_.name());
        });
    }
    encode_paths(map, 14, asked.files.unsafe_shown.iter().map(Vec::as_slice).collect());
}

/// Each field where it has something.
fn encode_files(map: &mut MapEncoder, files: &FileRules) {
    if !files.write.is_empty() {
        let write = map.field(8).array(files.write.len());
        files.write.iter().for_each(|rule| {
            write.array(2).bytes(&rule.path).named(COPY_CHANGES, &rule.changes);
        });
    }
    if !files.hide.is_empty() {
        let hide = map.field(9).array(files.hide.len());
        files.hide.iter().for_each(|rule| {
            hide.text(rule.as_str());
        });
    }
    encode_paths(map, 10, files.protected.iter().map(RepoPath::as_bytes).collect());
}

fn encode_paths(map: &mut MapEncoder, key: u64, paths: Vec<&[u8]>) {
    if !paths.is_empty() {
        let list = map.field(key).array(paths.len());
        paths.iter().for_each(|path| {
            list.bytes(path);
        });
    }
}

fn decode_asked(decoder: &mut Decoder<'_>) -> Result<SandboxPolicy, DecodeError> {
    let mut map = decoder.map()?;
    let mut asked = SandboxPolicy {
        backend: map.need(0, "the choice of backend")?.named(CHOICES, "a choice of backend")?,
        network: map.need(1, "the network")?.named(NETWORKS, "a network access")?,
        network_allow: map.need(2, "the network rules")?.texts()?,
        path_mode: map.need(3, "the path mode")?.named(PATH_MODES, "a path mode")?,
        workspace: map.need(4, "the exposure")?.named(EXPOSURES, "a workspace exposure")?,
        read: map.need(5, "the readable directories")?.list(|item| item.bytes().map(<[u8]>::to_vec))?,
        reuse_inputs: map.need(6, "the reuse inputs")?.list(decode_reuse_input)?,
        limits: map.find(7)?.map(decode_limits).transpose()?.unwrap_or_default(),
        files: FileRules {
            write: map.find(8)?.map(|found| found.list(decode_write)).transpose()?.unwrap_or_default(),
            hide: map.find(9)?.map(|found| found.list(decode_hide)).transpose()?.unwrap_or_default(),
            protected: map.find(10)?.map(|found| found.list(Decoder::path)).transpose()?.unwrap_or_default(),
            unsafe_shown: Vec::new(),
        },
        caches: map.find(11)?.map(decode_caches).transpose()?.unwrap_or_default(),
        require: map.find(12)?.map(decode_require).transpose()?.unwrap_or_default(),
        unsafe_overrides: map.find(13)?.map(decode_overrides).transpose()?.unwrap_or_default(),
    };
    if let Some(paths) = map.find(14)? {
        asked.files.unsafe_shown = paths.list(|item| item.bytes().map(<[u8]>::to_vec))?;
    }
    map.end()?;
    Ok(asked)
}

fn decode_reuse_input(decoder: &mut Decoder<'_>) -> Result<ReuseInput, DecodeError> {
    let length = decoder.array()?;
    if !(2..=3).contains(&length) {
        return decoder.expected("a kind and a value");
    }
    let kinds = ReuseKind::ALL.map(|kind| (kind.name(), kind));
    let (kind, value) = (decoder.named(&kinds, "a kind of reuse input")?, decoder.text()?.to_owned());
    let digest = (length == 3).then(|| decoder.id()).transpose()?;
    Ok(ReuseInput { kind, value, digest })
}

fn decode_write(decoder: &mut Decoder<'_>) -> Result<WriteRule, DecodeError> {
    decoder.array_of(2, "a path and what becomes of its changes")?;
    let path = decoder.bytes()?.to_vec();
    Ok(WriteRule { path, changes: decoder.named(COPY_CHANGES, "what becomes of changes")? })
}

fn decode_hide(decoder: &mut Decoder<'_>) -> Result<HideRule, DecodeError> {
    let text = decoder.text()?;
    HideRule::parse(text).or_else(|_| decoder.expected("a rule that hides files"))
}

fn decode_exposure(decoder: &mut Decoder<'_>) -> Result<Exposure, DecodeError> {
    decoder.array_of(3, "what is exposed, a control and why")?;
    let what = decoder.text()?.to_owned();
    let control = decoder.named(&Control::ALL.map(|control| (control.name(), control)), "a control")?;
    Ok(Exposure { what, control, why: decoder.text()?.to_owned() })
}

// What is in another order, or there twice, does not encode to the same bytes again.
fn decode_require(decoder: &mut Decoder<'_>) -> Result<Requirements, DecodeError> {
    let required = decoder.list(|item| {
        let name = item.text()?;
        Requirement::parse(name).map_or_else(|| item.expected("something that can be required"), Ok)
    })?;
    Ok(required.into_iter().collect())
}

fn decode_caches(decoder: &mut Decoder<'_>) -> Result<Vec<DependencyCache>, DecodeError> {
    let names = DependencyCache::ALL.map(|cache| (cache.name(), cache));
    let caches = decoder.list(|item| item.named(&names, "a cache"))?;
    match DependencyCache::in_order(&caches) == caches {
        true => Ok(caches),
        false => decoder.expected("caches in their order, each once"),
    }
}

fn decode_overrides(decoder: &mut Decoder<'_>) -> Result<Vec<UnsafeOverride>, DecodeError> {
    let names = UnsafeOverride::ALL.map(|override_| (override_.name(), override_));
    let mut last = None;
    decoder.list(|item| {
        let found = item.named(&names, "what was overridden")?;
        if last >= Some(found) {
            return item.expected("overrides in their order, each once");
        }
        last = Some(found);
        Ok(found)
    })
}

fn encode_control(encoder: &mut Encoder, report: &ControlReport) {
    let name = report.control.name();
    match &report.enforcement {
        Enforcement::Enforced { mechanism } => encoder.array(3).text(name).text(ENFORCED).text(mechanism),
        Enforcement::PartiallyEnforced { mechanism, reason } => {
            encoder.array(4).text(name).text(PARTIALLY_ENFORCED).text(mechanism).text(reason)
        }
        Enforcement::NotEnforced { reason } => encoder.array(3).text(name).text(NOT_ENFORCED).text(reason),
    };
}

// Every control at most once, in the one order: two spellings of one policy would be stored twice.
fn decode_controls(decoder: &mut Decoder<'_>) -> Result<Vec<ControlReport>, DecodeError> {
    let mut last = None;
    decoder.list(|item| {
        let report = decode_control(item)?;
        if last >= Some(report.control) {
            return item.expected("controls in their order, each once");
        }
        last = Some(report.control);
        Ok(report)
    })
}

fn decode_control(decoder: &mut Decoder<'_>) -> Result<ControlReport, DecodeError> {
    let length = decoder.array()?;
    let control = decoder.named(&Control::ALL.map(|control| (control.name(), control)), "a control")?;
    let word = decoder.text()?;
    let mut next = || decoder.text().map(str::to_owned);
    let enforcement = match (length, word) {
        (3, ENFORCED) => Enforcement::Enforced { mechanism: next()? },
        (4, PARTIALLY_ENFORCED) => Enforcement::PartiallyEnforced { mechanism: next()?, reason: next()? },
        (3, NOT_ENFORCED) => Enforcement::NotEnforced { reason: next()? },
        _ => return decoder.expected("an enforcement"),
    };
    Ok(ControlReport { control, enforcement })
}
