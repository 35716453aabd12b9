//! What every implementation of [`V1Format`] keeps.

use crate::{V1Format, V1ParseError};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::v1::{V1Output, V1Policy, V1Record};
use libtest_mimic::{Failed, Trial};

type Case = fn(&dyn V1Format) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("outputs_are_files_or_inline_or_absent", outputs),
    ("paths_that_lead_out_are_refused", paths_stay_inside),
    ("only_version_one_is_read", only_version_one),
    ("what_is_not_whole_is_told_from_what_is_refused", torn_is_no_refusal),
    ("duplicate_keys_and_wrong_types_are_refused_wherever_they_are", strict),
    ("nesting_ends_at_sixty_four", nesting_ends),
    ("what_is_written_is_read_back", written_is_read_back),
];

/// The suite, as tests of `name`. `format` is called once a case.
pub fn cases<F: V1Format + 'static>(name: &str, format: fn() -> F) -> Vec<Trial> {
    let trial =
        |&(case, check): &(&str, Case)| Trial::test(format!("{name}::v1_format::{case}"), move || check(&format()));
    CASES.iter().map(trial).collect()
}

fn file(path: &str) -> Result<V1Output, Failed> {
    Ok(V1Output::File(RepoPath::parse(path)?))
}

fn with_result(format: &dyn V1Format, result: &str) -> Result<V1Record, V1ParseError> {
    format.parse(format!(r#"{{"schema_version":"v1","result":{result}}}"#).as_bytes())
}

fn reason(parsed: Result<V1Record, V1ParseError>) -> Result<String, Failed> {
    match parsed {
        Err(V1ParseError::Refused { reason }) => Ok(reason),
        other => Err(format!("not refused: {other:?}").into()),
    }
}

fn outputs(format: &dyn V1Format) -> Result<(), Failed> {
    let parsed = with_result(
        format,
        r#"{"stdout":"in","stderr":"both","exit_status":3,"artifacts":{"stderr":{"path":"a/e"},"diff":{},
            "untracked_files":[{"path":"u/1","target_path":"x"},{"path":"u/2","target_path":"y"}]}}"#,
    );
    let parsed = parsed.map_err(|error| format!("{error:?}"))?;
    let outputs = (parsed.stdout, parsed.stderr, parsed.diff);
    assert_eq!(outputs, (V1Output::Inline("in".into()), file("a/e")?, V1Output::Absent));
    assert_eq!((parsed.untracked.len(), parsed.exit_status), (2, Some(3)));
    Ok(())
}

fn paths_stay_inside(format: &dyn V1Format) -> Result<(), Failed> {
    for path in ["../x", "/etc/passwd", "a/../b", "a//b", "./a", ".git/config", "a/.GIT/b", "a\\u0000b"] {
        let parsed = with_result(format, &format!(r#"{{"artifacts":{{"stdout":{{"path":"{path}"}}}}}}"#));
        assert!(reason(parsed)?.contains("of `stdout` is refused"), "{path}");
        let parsed = with_result(format, &format!(r#"{{"artifacts":{{"untracked_files":[{{"path":"{path}"}}]}}}}"#));
        assert!(reason(parsed)?.contains("of `untracked_files` is refused"), "{path}");
    }
    Ok(())
}

fn only_version_one(format: &dyn V1Format) -> Result<(), Failed> {
    assert_eq!(format.parse(br#"{"schema_version":"v2","outcome":"success"}"#), Err(V1ParseError::View));
    for json in ["{}", r#"{"schema_version":"v3"}"#, r#"{"schema_version":null}"#] {
        assert!(reason(format.parse(json.as_bytes()))?.contains("schema_version"), "{json}");
    }
    Ok(())
}

fn torn_is_no_refusal(format: &dyn V1Format) -> Result<(), Failed> {
    for torn in [&b""[..], b"{\"schema_version\":\"v1\"", b"\0", b"{\"schema_version\":\"v1\",\"id\":\"ta"] {
        assert!(matches!(format.parse(torn), Err(V1ParseError::NotImportable(_))), "{torn:?}");
    }
    Ok(())
}

fn strict(format: &dyn V1Format) -> Result<(), Failed> {
    let refused = [
        r#"{"schema_version":"v1","id":"a","id":"b"}"#,
        r#"{"schema_version":"v1","result":{"artifacts":{"x":1,"x":2}}}"#,
        r#"{"schema_version":"v1","unknown":[{"k":1,"k":1}]}"#,
        r#"{"schema_version":"v1","id":7}"#,
        r#"{"schema_version":"v1","result":[]}"#,
        r#"{"schema_version":"v1","result":{"exit_status":"3"}}"#,
    ];
    for json in refused {
        reason(format.parse(json.as_bytes())).map_err(|error| format!("{json}: {error:?}"))?;
    }
    Ok(())
}

fn nesting_ends(format: &dyn V1Format) -> Result<(), Failed> {
    let nested = |depth: usize| format!(r#"{{"schema_version":"v1","x":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    assert!(format.parse(nested(60).as_bytes()).is_ok());
    reason(format.parse(nested(65).as_bytes()))?;
    reason(format.parse(nested(1 << 20).as_bytes())).map(drop)
}

fn written_is_read_back(format: &dyn V1Format) -> Result<(), Failed> {
    let record = V1Record {
        id: "task-0123456789abcdef".into(),
        created_at: "2026-01-01T00:00:00Z".into(),
        policy: V1Policy {
            workspace_source: "/home/ana/app".into(),
            workload_command: vec!["sh".into(), String::new()],
            runtime_backend: "bubblewrap".into(),
            network: "deny".into(),
            reuse_inputs: vec![("path".into(), "/x".into())],
            limitations: vec!["one".into()],
        },
        source_type: "repository".into(),
        source_commit: "ab".repeat(20),
        retention: "retained".into(),
        workspace_path: "/w".into(),
        outcome: "workload_command_exit".into(),
        exit_code: Some(3),
        error: "e".into(),
        exit_status: Some(3),
        stdout: file("artifacts/stdout.txt")?,
        stderr: V1Output::Inline("x".into()),
        diff: V1Output::Absent,
        untracked: vec![RepoPath::parse("u/1")?],
        promotion_mode: "interactive".into(),
        changed_files: 0,
    };
    assert_eq!(format.parse(&format.encode(&record)), Ok(record));
    Ok(())
}
