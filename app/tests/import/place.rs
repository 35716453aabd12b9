//! Record directories as version 1 leaves them, and what the tests ask about them.

use isobox_tests::{Outcome, Project};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The directory in a project that version 1 leaves its records in.
pub(crate) fn old(project: &Project) -> PathBuf {
    project.scratch().join("old")
}

/// The n-th Task.
pub(crate) fn task(n: u64) -> String {
    format!("task-{n:016x}")
}

/// The record of Task `n` as version 1 writes it, with an output and a patch.
pub(crate) fn record(n: u64) -> Value {
    json!({
        "schema_version": "v1",
        "id": task(n),
        "created_at": format!("2026-01-01T00:{:02}:00.123456789Z", n % 60),
        "effective_policy": {
            "schema_version": "v1",
            "workspace_source": "/home/ana/app",
            "workload_command": ["agent", "--fix", format!("bug {n}")],
            "runtime_backend": "bubblewrap",
            "retention_default": "disposable",
            "resource_limits": {},
            "network": { "default": "deny", "allow": [{ "origin": "a.invalid" }] },
            "network_enforcement": { "runtime_backend": "bubblewrap", "rules": [] },
            "reuse_inputs": [{ "kind": "path", "value": "/usr/share" }],
            "limitations": ["network is not enforced"],
        },
        "workspace": { "source_type": "repository", "source_commit": "ab".repeat(20), "retention": "disposable" },
        "result": { "exit_status": n % 3, "artifacts": {
            "stdout": { "path": "artifacts/stdout.txt" },
            "stderr": {},
            "diff": { "path": "artifacts/diff.patch" },
        } },
        "outcome": match n % 3 {
            0 => json!({ "type": "success" }),
            code => json!({ "type": "workload_command_exit", "exit_code": code }),
        },
        "promotion": { "confirmation": {} },
    })
}

/// Writes a record directory of `files`.
pub(crate) fn write(place: &Path, name: &str, files: &[(&str, &[u8])]) {
    for (path, content) in files {
        let host_path = place.join(name).join(path);
        fs::create_dir_all(host_path.parent().expect("a parent")).expect("directories");
        fs::write(host_path, content).expect("write a file");
    }
}

/// Writes the record directory of Task `n`: `record`, and the artifacts that [`record`] names.
pub(crate) fn write_record(place: &Path, n: u64, record: &Value) {
    let json = format!("{record:#}\n");
    let stdout = format!("output of {n}\n").repeat(1 + n as usize % 50);
    let patch = format!("diff --git a/f b/f\n+{n}\n");
    let files: [(&str, &[u8]); 3] = [
        ("record.json", json.as_bytes()),
        ("artifacts/stdout.txt", stdout.as_bytes()),
        ("artifacts/diff.patch", patch.as_bytes()),
    ];
    write(place, &task(n), &files);
}

/// Every file below `place`, by its path from there.
pub(crate) fn files(place: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![place.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("list a folder") {
            let path = entry.expect("list a folder").path();
            let name = path.strip_prefix(place).expect("below").to_string_lossy().into_owned();
            let metadata = path.symlink_metadata().expect("look");
            if metadata.is_dir() {
                open.push(path);
            } else if metadata.is_file() && metadata.size() < 1 << 24 {
                found.insert(name, fs::read(path).expect("read"));
            } else {
                found.insert(name, Vec::new());
            }
        }
    }
    found
}

/// Runs an import of `place` that prints a document; the document, and the exit code.
pub(crate) fn import(project: &Project, place: &Path) -> (Value, i32) {
    let outcome = project.isobox(&["import".as_ref(), "--json".as_ref(), place.as_os_str()]);
    (document(&outcome), outcome.code)
}

/// The document that a command printed.
pub(crate) fn document(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

/// The totals of an import: imported, unchanged, not importable, refused.
pub(crate) fn totals(document: &Value) -> [u64; 4] {
    ["imported", "unchanged", "not_importable", "refused"].map(|name| document[name].as_u64().expect("a number"))
}
