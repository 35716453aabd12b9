//! Records as documents that others can verify.

use crate::schema_checker::assert_described;
use crate::support::{assert_told, document, tool};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use isobox_store_format::log::VerifierKey;
use isobox_tests::{Project, User};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

#[test]
fn a_record_is_exported_as_a_statement_that_others_can_verify() {
    let project = Project::initialised(User::Current);
    tool(&project, "echo said; echo more >> README.md");
    let key = project.isobox(&["audit", "init-key"]).stdout.trim_end().to_owned();
    let destination = project.scratch().join("out");
    let task = document(&project.isobox(&["show", "--json", "@latest"]));
    let id = task["id"].as_str().expect("an id");
    let export = |format: &str, destination: &Path| {
        project.isobox(&["export", "--format", format, "@latest", &destination.display().to_string()])
    };
    assert_eq!(export("in-toto", &destination).code, 0);
    assert_told(&export("in-toto", &destination), 1, &["is there already"]);
    let bytes = fs::read(destination.join(id).join("statement.json")).expect("a statement");
    let statement: Value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(
        (&statement["predicate"]["record"], &statement["predicate"]["schema"]),
        (&task["record"], &json!("isobox.record/v1"))
    );
    assert_described("record", &statement["predicate"]);
    let subjects = statement["subject"].as_array().expect("subjects");
    let names: Vec<_> = subjects.iter().map(|subject| subject["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["record", "stdout", "timeline", "change_set", "patch"]);
    let raw = project.isobox_command(&["show", "--raw", "@latest"]).output().expect("run isobox").stdout;
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let digests = |bytes: &[u8]| json!({ "sha256": hex(&Sha256::digest(bytes)), "blake3": blake3::hash(bytes).to_hex().as_str() });
    assert_eq!((&subjects[0]["digest"], &subjects[1]["digest"]), (&digests(&raw), &digests(b"said\n")));
    let signed = project.scratch().join("signed");
    assert_eq!(export("dsse", &signed).code, 0);
    let envelope = fs::read(signed.join(id).join("envelope.json")).expect("an envelope");
    let envelope: Value = serde_json::from_slice(&envelope).expect("JSON");
    let payload = STANDARD.decode(envelope["payload"].as_str().expect("text")).expect("Base64");
    assert_eq!(payload, bytes);
    let kind = envelope["payloadType"].as_str().expect("a type");
    let message = [format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).as_bytes(), &payload].concat();
    let signature = STANDARD.decode(envelope["signatures"][0]["sig"].as_str().expect("text")).expect("Base64");
    assert!(key.parse::<VerifierKey>().expect("a key").verifies(&message, &signature));
    assert_told(
        &project.isobox(&["export", "--format", "dsse", "@all", &signed.display().to_string()]),
        2,
        &["one task"],
    );
    let without_key = Project::initialised(User::Current);
    tool(&without_key, "true");
    assert_told(&without_key.isobox(&["export", "--format=dsse", "@latest", "out"]), 1, &["audit init-key"]);
}
