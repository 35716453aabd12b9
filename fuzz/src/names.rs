//! What people, projects and publishers write: paths, names of Tasks, policy files, releases.

use isobox_domain::escape::is_deceptive;
use isobox_domain::release::{MAX_RELEASE_FILE_BYTES, ReleaseIndex};
use isobox_domain::repo_path::{MAX_PATH_BYTES, RepoPath};
use isobox_domain::task_id::TaskSelector;
use isobox_host::{PolicyProblem, parse_policy};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

pub(crate) fn repo_path(bytes: &[u8]) {
    let Ok(path) = RepoPath::parse(bytes) else { return };
    assert_eq!(path.as_bytes(), bytes);
    assert!(bytes.len() <= MAX_PATH_BYTES && !bytes.contains(&0));
    // The standard library's view of the same bytes: one plain name after the other.
    let names: Vec<_> = Path::new(OsStr::from_bytes(bytes)).components().collect();
    let plain =
        |component: &Component<'_>| matches!(component, Component::Normal(name) if !name.eq_ignore_ascii_case(".git"));
    assert!(names.iter().all(plain));
    assert!(names.iter().map(|name| name.as_os_str().as_bytes()).eq(path.components()));
}

pub(crate) fn task_selector(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(selector) = text.parse() else { return };
    match &selector {
        TaskSelector::Full(task) => assert!(text == task.to_string() || text == task.to_hex()),
        TaskSelector::Prefix(digits) => {
            assert!((1..16).contains(&digits.len()));
            assert!(text == digits || text.strip_prefix("task-") == Some(digits));
        }
        TaskSelector::Latest(back) => assert_eq!(format!("@latest~{back}").parse(), Ok(selector.clone())),
        TaskSelector::Record(id) => assert_eq!(text, id.to_string()),
        TaskSelector::Attempt { of, attempt } => {
            assert!(!matches!(**of, TaskSelector::Attempt { .. }));
            assert!(text.ends_with(&format!("#{attempt}")));
        }
        TaskSelector::ViewDirectory { path, task } => {
            assert!(path.ends_with(&task.to_string()));
            assert_eq!(text.trim_end_matches('/'), path);
        }
    }
}

// Lines that are passed over have any spelling; those that are understood have one.
pub(crate) fn release_index(bytes: &[u8]) {
    let Ok(index) = ReleaseIndex::parse(bytes) else { return };
    let mut text = "isobox-releases/v1\n".to_owned();
    for file in index.files() {
        assert!((1..=MAX_RELEASE_FILE_BYTES).contains(&file.bytes));
        assert!(Path::new(&file.name).components().eq([Component::Normal(file.name.as_ref())]));
        let (version, platform) = (&file.version, file.platform.name());
        let line = format!("archive {version} {platform} {} {} {}\n", file.bytes, file.sha256, file.name);
        text.push_str(&line);
    }
    assert_eq!(ReleaseIndex::parse(text.as_bytes()), Ok(index));
}

// A policy has no one spelling. What must hold: a comment changes nothing, and no message drives a terminal.
pub(crate) fn policy_file(bytes: &[u8]) {
    match parse_policy(bytes) {
        Ok(policy) => assert_eq!(parse_policy(&[bytes, b"\n# a comment\n"].concat()), Ok(policy)),
        Err(problem) => check_problem(bytes, &problem),
    }
}

fn check_problem(bytes: &[u8], problem: &PolicyProblem) {
    let texts = [Some(&problem.problem), problem.excerpt.as_ref(), problem.hint.as_ref()];
    for character in texts.into_iter().flatten().flat_map(|text| text.chars()) {
        let is_harmless = character == '\n' || !(character.is_control() || is_deceptive(character));
        assert!(is_harmless, "{character:?} in {problem:?}");
    }
    if let Some(position) = problem.position {
        // A carriage return by itself ends a line in YAML too.
        let lines = bytes.split(|byte| b"\r\n".contains(byte)).count() as u64;
        assert!((1..=lines + 1).contains(&position.line) && position.column >= 1, "{problem:?}");
    }
}
