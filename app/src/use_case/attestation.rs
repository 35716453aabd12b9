//! Exports what a record says as an in-toto Statement, by itself or in a signed DSSE envelope.

use crate::failure::{Failure, FailureKind};
use crate::output::{record_json, report_json};
use crate::use_case::export::Exported;
use crate::use_case::select::Selected;
use crate::use_case::verify::gone;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use isobox_domain::change::ChangeSetRef;
use isobox_domain::content::{ContentId, ContentRef, hex};
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{ExportError, Exports, ObjectStore, RecordLog};
use isobox_store_format::log::SigningKey;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::io::{self, Read};

const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// What the predicate is: the document of `show --json`. `docs/audit.md` says so.
const PREDICATE_TYPE: &str = "https://isobox.dev/attestations/task-record/v1";
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// What it touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) records: &'a dyn RecordLog,
    pub(crate) objects: &'a dyn ObjectStore,
    pub(crate) exports: &'a dyn Exports,
}

/// How a Statement is exported.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form<'a> {
    /// As it is.
    Statement,
    /// In an envelope that this key signs.
    Envelope(&'a SigningKey),
}

/// Exports the Statement of a record, as a file in a directory that is named after its Task.
pub(crate) fn export(ports: &Ports<'_>, selected: &Selected, form: Form<'_>) -> Result<Exported, Failure> {
    let task = selected.record.task.to_string();
    let statement = statement(ports, selected)?.to_string();
    let (name, document) = match form {
        Form::Statement => ("statement.json", statement),
        Form::Envelope(key) => ("envelope.json", envelope(&statement, key).to_string()),
    };
    let path = RepoPath::parse(name).map_err(|error| Failure::new(FailureKind::General, error.to_string()))?;
    let write = || -> Result<(), ExportError> {
        let mut export = ports.exports.begin(&task)?;
        export.write(&path, &mut document.as_bytes())?;
        export.finish()
    };
    match write() {
        Ok(()) => Ok(Exported::Made),
        Err(ExportError::Exists { .. }) => Ok(Exported::There),
        Err(error) => Err(Failure::from(error).while_doing(format!("export {task}"))),
    }
}

fn statement(ports: &Ports<'_>, selected: &Selected) -> Result<Value, Failure> {
    let Selected { digest, record } = selected;
    let bytes = ports.records.bytes(digest)?.ok_or_else(|| gone(digest))?;
    let mut subjects = vec![subject("record", digest, &Sha256::digest(&bytes))];
    let artifacts = &record.artifacts;
    let of_set = |set: ChangeSetRef| ContentRef { id: set.id, length: set.length };
    let named = [
        ("stdout", artifacts.stdout),
        ("stderr", artifacts.stderr),
        ("timeline", artifacts.timeline),
        ("change_set", artifacts.change_set.map(of_set)),
        ("patch", artifacts.patch),
        ("source_snapshot", artifacts.source_snapshot.map(of_set)),
        ("host_copies", artifacts.host_copies.map(of_set)),
    ];
    for (name, artifact) in named {
        if let Some(artifact) = artifact {
            subjects.push(subject(name, &artifact.id, &hashed(ports.objects, &artifact.id)?));
        }
    }
    let events = crate::use_case::list::events(ports.records, digest)?;
    let report = report_json::document(ports.objects, record)?;
    Ok(json!({
        "_type": STATEMENT_TYPE,
        "subject": subjects,
        "predicateType": PREDICATE_TYPE,
        "predicate": record_json::show_document(record, digest, &events, report),
    }))
}

fn subject(name: &str, id: &ContentId, sha256: &[u8]) -> Value {
    json!({ "name": name, "digest": { "sha256": hex(sha256), "blake3": id.to_hex() } })
}

fn hashed(objects: &dyn ObjectStore, id: &ContentId) -> Result<Vec<u8>, Failure> {
    let missing = || Failure::new(FailureKind::Store, format!("{id} is not in the task store"));
    let mut content = objects.open(id)?.ok_or_else(missing)?;
    let (mut hasher, mut piece) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        match content.read(&mut piece) {
            Ok(0) => return Ok(hasher.finalize().to_vec()),
            Ok(length) => hasher.update(&piece[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::new(FailureKind::Store, format!("read {id}")).because(error)),
        }
    }
}

fn envelope(statement: &str, key: &SigningKey) -> Value {
    let verifier = key.verifier();
    let signature = key.sign(&pre_authentication_encoding(PAYLOAD_TYPE, statement));
    json!({
        "payload": STANDARD.encode(statement),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{ "keyid": format!("{}+{}", verifier.name(), hex(&verifier.id())), "sig": STANDARD.encode(signature) }],
    })
}

/// What DSSE signs.
fn pre_authentication_encoding(payload_type: &str, body: &str) -> Vec<u8> {
    format!("DSSEv1 {} {payload_type} {} {body}", payload_type.len(), body.len()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    // From the protocol of DSSE, "Test Vectors".
    #[test]
    fn what_is_signed_is_encoded_as_dsse_says() {
        let encoded = pre_authentication_encoding("http://example.com/HelloWorld", "hello world");
        assert_eq!(encoded, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    }

    #[test]
    fn an_envelope_is_verified_by_the_key_that_signed_it_and_by_no_other() {
        let key = |seed| SigningKey::from_seed("example.com/log", [seed; 32]).expect("a key");
        let envelope = envelope("{}", &key(1));
        let signature = STANDARD.decode(envelope["signatures"][0]["sig"].as_str().expect("text")).expect("Base64");
        let signed = pre_authentication_encoding(PAYLOAD_TYPE, "{}");
        assert_eq!(envelope["payload"], STANDARD.encode("{}"));
        assert!(key(1).verifier().verifies(&signed, &signature) && !key(2).verifier().verifies(&signed, &signature));
    }
}
