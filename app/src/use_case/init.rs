//! Sets up a repository: its policy, and an ignore rule for isobox's views.

use crate::failure::{Failure, FailureKind};
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{PolicySource, ProjectFiles};

/// What it touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) files: &'a dyn ProjectFiles,
    pub(crate) policy: &'a dyn PolicySource,
}

/// Where isobox's files lie in a project.
const IGNORE_FILE: &str = ".gitignore";
/// The rule that keeps views out of Git.
const IGNORE_RULE: &str = ".isobox/tasks/";

/// Writes the policy at `policy_path` with `policy_text`, unless there is one, and the ignore rule, unless it is there.
///
/// The paths that were written; none when everything was there before. A policy that is there must be valid.
pub(crate) fn init(ports: &Ports<'_>, policy_path: &str, policy_text: &str) -> Result<Vec<RepoPath>, Failure> {
    let has_policy = ports.policy.load()?.is_some();
    let ignore_file = path(IGNORE_FILE)?;
    let ignored = ports.files.read(&ignore_file)?.unwrap_or_default();
    let mut files = Vec::new();
    if !has_rule(&ignored) {
        files.push((ignore_file, with_rule(ignored)));
    }
    if !has_policy {
        files.push((path(policy_path)?, policy_text.as_bytes().to_vec()));
    }
    if !files.is_empty() {
        ports.files.write(&files)?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

fn path(text: &str) -> Result<RepoPath, Failure> {
    RepoPath::parse(text).map_err(|error| Failure::new(FailureKind::General, text.to_owned()).because(error))
}

fn has_rule(ignored: &[u8]) -> bool {
    let rules = [IGNORE_RULE, "/.isobox/tasks/", ".isobox/tasks", "/.isobox/tasks"];
    ignored.split(|&byte| byte == b'\n').any(|line| rules.iter().any(|rule| rule.as_bytes() == line.trim_ascii_end()))
}

fn with_rule(mut ignored: Vec<u8>) -> Vec<u8> {
    let uses_crlf = ignored.ends_with(b"\r\n");
    let end: &[u8] = if uses_crlf { b"\r\n" } else { b"\n" };
    if !ignored.is_empty() && !ignored.ends_with(b"\n") {
        ignored.extend_from_slice(end);
    }
    ignored.extend_from_slice(IGNORE_RULE.as_bytes());
    ignored.extend_from_slice(end);
    ignored
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::policy::WrittenPolicy;
    use isobox_ports::PolicyError;
    use isobox_ports::contract::project_files::{LinkTarget, Project};
    use isobox_ports::fake::InMemoryProjectFiles;

    /// A policy is there if its file is.
    struct Policy<'a>(&'a InMemoryProjectFiles);

    impl PolicySource for Policy<'_> {
        fn written(&self) -> Result<Option<WrittenPolicy>, PolicyError> {
            Ok(self.0.is_there(".isobox/config.yaml").then(WrittenPolicy::default))
        }
    }

    fn initialised(files: &InMemoryProjectFiles) -> Result<Vec<RepoPath>, Failure> {
        init(&Ports { files, policy: &Policy(files) }, ".isobox/config.yaml", "the policy\n")
    }

    #[test]
    fn a_second_time_writes_nothing() {
        let files = InMemoryProjectFiles::default();
        assert_eq!(initialised(&files).expect("written").len(), 2);
        assert_eq!(initialised(&files).expect("nothing to do"), []);
        let policy = files.read(&path(".isobox/config.yaml").expect("a path")).expect("readable");
        assert_eq!(policy.as_deref(), Some(&b"the policy\n"[..]));
    }

    #[test]
    fn a_link_in_the_way_leaves_everything_as_it_was() {
        let files = InMemoryProjectFiles::default();
        files.link(".isobox", LinkTarget::Directory);
        let refused = initialised(&files).expect_err("a refusal");
        assert!(refused.to_string().contains("isobox does not write through it"), "{refused}");
        assert!(!files.is_there(".gitignore"));
    }

    #[test]
    fn the_rule_is_added_as_a_line_of_its_own() {
        assert_eq!(with_rule(Vec::new()), b".isobox/tasks/\n");
        assert_eq!(with_rule(b"target".to_vec()), b"target\n.isobox/tasks/\n");
        assert_eq!(with_rule(b"target\r\n".to_vec()), b"target\r\n.isobox/tasks/\r\n");
    }

    #[test]
    fn a_rule_that_is_there_is_found_however_it_is_written() {
        for ignored in [&b".isobox/tasks/\n"[..], b"x\r\n/.isobox/tasks\r\n", b".isobox/tasks"] {
            assert!(has_rule(ignored));
        }
        assert!(!has_rule(b"# .isobox/tasks/\n.isobox/tasks/x\n"));
    }
}
