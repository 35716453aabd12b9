//! Limits in policies and records: what was asked for, what held, and what was exceeded.

use crate::cbor::{Decoder, Encoder, MapEncoder};
use crate::object::{DecodeError, Names};
use crate::policy::{ENFORCED, NOT_ENFORCED, PARTIALLY_ENFORCED};
use isobox_domain::enforcement::Enforcement;
use isobox_domain::limit::{ExceededLimit, Limit, LimitEffect, LimitReport, Limits};

const EFFECTS: Names<'_, LimitEffect> = &[
    (LimitEffect::Ended.name(), LimitEffect::Ended),
    (LimitEffect::Refused.name(), LimitEffect::Refused),
    (LimitEffect::Unnoticed.name(), LimitEffect::Unnoticed),
];

/// A map from the number of each limit to its value.
pub(crate) fn encode_limits(map: &mut MapEncoder, limits: &Limits) {
    for (limit, value) in limits.iter() {
        map.field(limit.number()).uint(value);
    }
}

pub(crate) fn decode_limits(decoder: &mut Decoder<'_>) -> Result<Limits, DecodeError> {
    let mut map = decoder.map()?;
    let mut limits = Limits::NONE;
    for limit in Limit::ALL {
        if let Some(value) = map.find(limit.number())? {
            limits = limits.with(limit, Some(decode_value(value)?));
        }
    }
    map.end()?;
    Ok(limits)
}

fn decode_value(decoder: &mut Decoder<'_>) -> Result<u64, DecodeError> {
    match decoder.uint()? {
        0 => decoder.expected("a limit above 0"),
        value => Ok(value),
    }
}

/// A list of the limit, what was asked, what is applied or 0, and an enforcement.
pub(crate) fn encode_limit_reports(encoder: &mut Encoder, reports: &[LimitReport]) {
    let list = encoder.array(reports.len());
    for LimitReport { limit, asked, applied, enforcement } in reports {
        list.array(4).text(limit.name()).uint(*asked).uint(applied.unwrap_or_default());
        match enforcement {
            Enforcement::Enforced { mechanism } => list.array(2).text(ENFORCED).text(mechanism),
            Enforcement::PartiallyEnforced { mechanism, reason } => {
                list.array(3).text(PARTIALLY_ENFORCED).text(mechanism).text(reason)
            }
            Enforcement::NotEnforced { reason } => list.array(2).text(NOT_ENFORCED).text(reason),
        };
    }
}

// Every limit at most once, in the one order: two spellings of one policy would be stored twice.
pub(crate) fn decode_limit_reports(decoder: &mut Decoder<'_>) -> Result<Vec<LimitReport>, DecodeError> {
    let mut last = None;
    decoder.list(|item| {
        let report = decode_limit_report(item)?;
        if last >= Some(report.limit) {
            return item.expected("limits in their order, each once");
        }
        last = Some(report.limit);
        Ok(report)
    })
}

fn decode_limit_report(decoder: &mut Decoder<'_>) -> Result<LimitReport, DecodeError> {
    decoder.array_of(4, "a limit, what was asked, what is applied and whether it holds")?;
    let (limit, asked) = (decode_limit(decoder)?, decode_value(decoder)?);
    let applied = Some(decoder.uint()?).filter(|applied| *applied > 0);
    Ok(LimitReport { limit, asked, applied, enforcement: decode_enforcement(decoder)? })
}

fn decode_limit(decoder: &mut Decoder<'_>) -> Result<Limit, DecodeError> {
    decoder.named(&Limit::ALL.map(|limit| (limit.name(), limit)), "a limit")
}

fn decode_enforcement(decoder: &mut Decoder<'_>) -> Result<Enforcement, DecodeError> {
    let length = decoder.array()?;
    let word = decoder.text()?;
    let mut next = || decoder.text().map(str::to_owned);
    Ok(match (length, word) {
        (2, ENFORCED) => Enforcement::Enforced { mechanism: next()? },
        (3, PARTIALLY_ENFORCED) => Enforcement::PartiallyEnforced { mechanism: next()?, reason: next()? },
        (2, NOT_ENFORCED) => Enforcement::NotEnforced { reason: next()? },
        _ => return decoder.expected("an enforcement"),
    })
}

/// A list of the limit, its value, what was observed, the evidence and the effect.
pub(crate) fn encode_exceeded(encoder: &mut Encoder, exceeded: &[ExceededLimit]) {
    let list = encoder.array(exceeded.len());
    for ExceededLimit { limit, value, observed, evidence, effect } in exceeded {
        list.array(5).text(limit.name()).uint(*value).uint(*observed).text(evidence).named(EFFECTS, effect);
    }
}

// None of them is an absent field.
pub(crate) fn decode_exceeded(decoder: &mut Decoder<'_>) -> Result<Vec<ExceededLimit>, DecodeError> {
    decoder.list(|item| {
        item.array_of(5, "a limit, its value, what was observed, the evidence and the effect")?;
        Ok(ExceededLimit {
            limit: decode_limit(item)?,
            value: decode_value(item)?,
            observed: item.uint()?,
            evidence: item.text()?.to_owned(),
            effect: item.named(EFFECTS, "an effect")?,
        })
    })
}
