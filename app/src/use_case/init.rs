//! Sets up a repository: its policy, and an ignore rule for isobox's views.

use crate::failure::{Failure, FailureKind};
use isobox_domain::content::ContentId;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{PolicyPins, PolicyPinsError, PolicySource, ProjectFiles};
use std::path::Path;

/// What it touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) files: &'a dyn ProjectFiles,
    pub(crate) policy: &'a dyn PolicySource,
    pub(crate) pins: &'a dyn PolicyPins,
}

/// What `init` did.
#[derive(Debug)]
pub(crate) struct Done {
    /// The paths that were written; none when everything was there before.
    pub(crate) written: Vec<RepoPath>,
    /// Whether the policy that lies there now is trusted.
    pub(crate) trust: InitialTrust,
}

/// Whether the policy of a project that was set up is trusted.
#[derive(Debug)]
pub(crate) enum InitialTrust {
    /// It is.
    Given,
    /// Somebody wrote it, and the user has not said yet that it is trusted.
    NotYet,
    /// It was written here, but that could not be kept.
    NotKept(PolicyPinsError),
}

/// Where isobox's files lie in a project.
const IGNORE_FILE: &str = ".gitignore";
/// The rule that keeps views out of Git.
const IGNORE_RULE: &str = ".isobox/tasks/";

/// Writes the policy `policy_text` at `policy_path`, unless there is one, and the ignore rule, unless it is there.
///
/// A policy that is there must be valid. What is written here is trusted in the project with the common Git directory
/// `host_path`; what others wrote is not.
pub(crate) fn init(
    ports: &Ports<'_>,
    host_path: &Path,
    (policy_path, policy_text): (&str, &str),
) -> Result<Done, Failure> {
    let has_policy = ports.policy.read()?.is_some();
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
    let own = (!has_policy).then(|| ContentId::new(*blake3::hash(policy_text.as_bytes()).as_bytes()));
    Ok(Done { written: files.into_iter().map(|(path, _)| path).collect(), trust: trust(ports, host_path, own)? })
}

/// Trusts the policy that lies there now if its digest is `own`.
fn trust(ports: &Ports<'_>, host_path: &Path, own: Option<ContentId>) -> Result<InitialTrust, Failure> {
    let trusted = ports.pins.load(host_path);
    Ok(match ports.policy.read()? {
        Some(file) if trusted.contains(&file.digest) => InitialTrust::Given,
        Some(file) if own == Some(file.digest) => {
            let policy = file.written.resolved();
            let kept = ports.pins.change(host_path, &mut |trusted| trusted.with(file.digest, &policy));
            kept.map_or_else(InitialTrust::NotKept, |()| InitialTrust::Given)
        }
        Some(_) | None => InitialTrust::NotYet,
    })
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
    use isobox_ports::contract::project_files::{LinkTarget, Project};
    use isobox_ports::fake::{InMemoryPolicyPins, InMemoryProjectFiles};
    use isobox_ports::{PolicyError, PolicyFile};

    const POLICY: &str = ".isobox/config.yaml";

    /// A policy is there if its file is.
    struct Policy<'a>(&'a InMemoryProjectFiles);

    impl PolicySource for Policy<'_> {
        fn read(&self) -> Result<Option<PolicyFile>, PolicyError> {
            let text = path(POLICY).ok().and_then(|path| self.0.read(&path).ok().flatten());
            let digest = text.map(|text| ContentId::new(*blake3::hash(&text).as_bytes()));
            Ok(digest.map(|digest| PolicyFile { digest, written: WrittenPolicy::default(), places: Vec::new() }))
        }
    }

    fn done(files: &InMemoryProjectFiles, pins: &InMemoryPolicyPins) -> Result<Done, Failure> {
        let ports = Ports { files, policy: &Policy(files), pins };
        init(&ports, Path::new("/home/ana/app/.git"), (POLICY, "the policy\n"))
    }

    fn initialised(files: &InMemoryProjectFiles) -> Result<Vec<RepoPath>, Failure> {
        done(files, &InMemoryPolicyPins::default()).map(|done| done.written)
    }

    #[test]
    fn what_is_written_here_is_trusted_and_what_others_wrote_is_not() {
        let (files, pins) = (InMemoryProjectFiles::default(), InMemoryPolicyPins::default());
        assert!(matches!(done(&files, &pins).expect("written").trust, InitialTrust::Given));
        assert!(matches!(done(&files, &pins).expect("there already").trust, InitialTrust::Given));
        // Even the very same bytes, when they came from somebody else.
        assert!(matches!(
            done(&files, &InMemoryPolicyPins::default()).expect("there already").trust,
            InitialTrust::NotYet
        ));
        files.write(&[(path(POLICY).expect("a path"), b"another\n".to_vec())]).expect("written");
        assert!(matches!(done(&files, &pins).expect("there already").trust, InitialTrust::NotYet));
    }

    #[test]
    fn a_second_time_writes_nothing() {
        let files = InMemoryProjectFiles::default();
        assert_eq!(initialised(&files).expect("written").len(), 2);
        assert_eq!(initialised(&files).expect("nothing to do"), []);
        let policy = files.read(&path(POLICY).expect("a path")).expect("readable");
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
