//! Probe results of a Task Record: what was tried from inside, and what came of it.

use crate::cbor::{Decoder, Encoder};
use crate::object::{DecodeError, Names};
use isobox_domain::enforcement::Control;
use isobox_domain::probe::{ProbeOutcome, ProbeResult};

/// Each is an array: the control, what was tried, the word for what came of it, and that in words.
pub(super) fn encode_probes(encoder: &mut Encoder, probes: &[ProbeResult]) {
    let list = encoder.array(probes.len());
    for ProbeResult { control, tried, outcome } in probes {
        list.array(4).text(control.name()).text(tried).text(outcome.name()).text(outcome.detail());
    }
}

pub(super) fn decode_probes(decoder: &mut Decoder<'_>) -> Result<Vec<ProbeResult>, DecodeError> {
    let probes = decoder.list(decode_probe)?;
    if probes.is_empty() { decoder.expected("a probe result") } else { Ok(probes) }
}

fn decode_probe(decoder: &mut Decoder<'_>) -> Result<ProbeResult, DecodeError> {
    decoder.array_of(4, "a control, what was tried, what came of it, and that in words")?;
    let control = decoder.named(&Control::ALL.map(|control| (control.name(), control)), "a control")?;
    let tried = decoder.text()?.to_owned();
    let made = decoder.named(OUTCOMES, "what came of a probe")?;
    let outcome = made(decoder.text()?.to_owned());
    Ok(ProbeResult { control, tried, outcome })
}

type Made = fn(String) -> ProbeOutcome;

const OUTCOMES: Names<'_, Made> =
    &[("held", ProbeOutcome::Held), ("got_through", ProbeOutcome::GotThrough), ("not_tried", ProbeOutcome::NotTried)];
