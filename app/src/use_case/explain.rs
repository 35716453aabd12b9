//! Whether the policy of a project allows something, and which of its rules says so.

use crate::use_case::held_here::Subject;
use isobox_domain::enforcement::Control;
use isobox_domain::limit::Limit;
use isobox_domain::policy::read::contains;
use isobox_domain::policy::{
    CopyChanges, DependencyCache, NetworkAccess, PathMode, ProjectPolicy, ReuseInput, ReuseKind, WorkspaceExposure,
};
use isobox_domain::variables::PASSED_ON;

/// What is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// Whether a workload reaches a host.
    Host(Host),
    /// What a workload may do with a host path.
    Path(Vec<u8>),
    /// Whether a variable is passed on.
    Variable(String),
    /// Whether something is limited.
    Limit(Limit),
}

/// Which host is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// The one that asks, by its loopback.
    Loopback,
    /// Another one.
    Other,
}

/// What is known besides the policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'a> {
    /// The root of the repository, a host path.
    pub(crate) root: &'a [u8],
    /// What the policy shows of the host.
    pub(crate) shown: &'a [ShownPath],
    /// The home directory of the user.
    pub(crate) home: Option<&'a [u8]>,
}

/// A host path that a policy shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShownPath {
    /// The path, links resolved.
    path: Vec<u8>,
    /// The key of the policy that shows it.
    key: &'static str,
    /// What a workload may do with it, as a sentence.
    access: &'static str,
}

/// What `policy` shows of the host, where it may be changed before where it may not. `resolve` finds what a path stands for:
/// one that cannot be shown here shows nothing.
pub(crate) fn shown_paths(policy: &ProjectPolicy, resolve: &dyn Fn(&[u8]) -> Option<Vec<u8>>) -> Vec<ShownPath> {
    let written = policy.sandbox.files.write.iter().map(|rule| {
        let access = match rule.changes {
            CopyChanges::Captured => "the workload has a copy of it to change, and what it changes is captured",
            CopyChanges::Discarded => "the workload has a copy of it to change, which is thrown away",
        };
        (rule.path.as_slice(), "filesystem.write", access)
    });
    let inputs = policy.sandbox.reuse_inputs.iter().filter(|input| input.kind == ReuseKind::Path);
    let (copied, exposed): (Vec<_>, Vec<_>) = inputs.map(ReuseInput::path).partition(|(_, is_copied)| *is_copied);
    let reused = |access: &'static str| move |(path, _)| (path, "reuse_inputs", access);
    let copied = copied.into_iter().map(reused("the workload has a copy of it to change, by choice"));
    let exposed = exposed.into_iter().map(reused("it is exposed by choice, to be read alone"));
    let read = policy.sandbox.read.iter();
    let read = read.map(|path| (path.as_slice(), "filesystem.read", "it may be read, and not be changed"));
    let all = written.chain(copied).chain(read).chain(exposed);
    all.filter_map(|(path, key, access)| Some(ShownPath { path: resolve(path)?, key, access })).collect()
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Whether it is allowed.
    pub(crate) is_allowed: bool,
    /// Why, as a sentence.
    pub(crate) why: String,
    /// The key of the policy that says so; `None` where no policy can say otherwise.
    pub(crate) key: Option<&'static str>,
    /// What of the policy it is about.
    pub(crate) subject: Subject,
}

/// Answers a question about `policy`, as it holds.
pub(crate) fn explain(policy: &ProjectPolicy, around: &Surroundings<'_>, question: &Question) -> Answer {
    match question {
        Question::Host(host) => host_is_reached(policy, *host),
        Question::Path(path) => path_is_shown(policy, around, path),
        Question::Variable(name) => variable_is_passed_on(policy, name),
        Question::Limit(limit) => limit_is_set(policy, *limit),
    }
}

fn host_is_reached(policy: &ProjectPolicy, host: Host) -> Answer {
    let (is_allowed, why) = match (policy.sandbox.network, host) {
        (NetworkAccess::Inherited, _) => (true, "the workload reaches whatever the host reaches"),
        (NetworkAccess::Deny, Host::Loopback) => {
            (true, "it is the sandbox's own loopback: what the workload serves there, and nothing of the host's")
        }
        (NetworkAccess::Deny, Host::Other) => (false, "the workload reaches nothing but its own loopback"),
    };
    let subject = Subject::Control(Control::Network);
    Answer { is_allowed, why: why.to_owned(), key: Some("network.default"), subject }
}

/// Directories of the system that every Sandbox shows.
const SYSTEM: [&[u8]; 7] = [b"/usr", b"/bin", b"/sbin", b"/lib", b"/lib32", b"/lib64", b"/libx32"];

/// Places that a Sandbox has of its own, and what is there.
const OWN: [(&[u8], &str); 5] = [
    (b"/tmp", "a sandbox has an empty one of its own"),
    (b"/etc", "a sandbox has a minimal one of its own"),
    (b"/dev", "a sandbox has its own, with the usual devices alone"),
    (b"/proc", "a sandbox has its own"),
    (b"/run", "a sandbox has none"),
];

/// The rule that hides a path, or a directory that it lies in.
fn hiding(policy: &ProjectPolicy, around: &Surroundings<'_>, path: &[u8]) -> Option<String> {
    let shown = around.shown.iter().map(|shown| shown.path.as_slice()).chain([around.root]);
    let shown: Vec<&[u8]> = shown.filter(|place| contains(place, path)).collect();
    let rules = policy.sandbox.files.hide.iter();
    let mut hiding = rules.filter(|rule| {
        let within = shown.iter().filter_map(|place| Some(rule.within()?.below(place)));
        rule.on_host(around.home).into_iter().chain(within).any(|glob| glob.covers(path))
    });
    hiding.next().map(|rule| rule.as_str().to_owned())
}

fn path_is_shown(policy: &ProjectPolicy, around: &Surroundings<'_>, path: &[u8]) -> Answer {
    let subject = Subject::Control(Control::Filesystem);
    let answer = |is_allowed, why: &str, key| Answer { is_allowed, why: why.to_owned(), key, subject };
    if let Some(rule) = hiding(policy, around, path) {
        return answer(false, &format!("the rule `{rule}` hides it"), Some("filesystem.hide"));
    }
    if contains(around.root, path) {
        let is_protected = |own: &&[u8]| contains(&[around.root, b"/", own].concat(), path);
        let protected = policy.sandbox.files.protected.iter().map(|own| own.as_bytes()).find(is_protected);
        return match (policy.sandbox.workspace, protected) {
            (_, Some(_)) => {
                answer(true, "the workload has a copy of it, which it may read alone", Some("workspace.protected"))
            }
            (WorkspaceExposure::ReadWrite, None) => answer(
                true,
                "the workload has a copy of what is committed there, which it may change",
                Some("filesystem.expose_workspace"),
            ),
            (WorkspaceExposure::ReadOnly, None) => answer(
                true,
                "the workload has a copy of what is committed there, which it may read alone",
                Some("filesystem.expose_workspace"),
            ),
        };
    }
    if let Some(shown) = around.shown.iter().find(|shown| contains(&shown.path, path)) {
        return answer(true, shown.access, Some(shown.key));
    }
    let lends = |cache: &&DependencyCache| cache.parts().iter().any(|part| is_in_cache(**cache, part, around, path));
    if let Some(cache) = policy.sandbox.caches.iter().find(lends) {
        let place = cache.directory();
        return answer(
            true,
            &format!("the workload has it in ~/{place}; what it writes there goes into a layer of the project's own"),
            Some("caches"),
        );
    }
    let is_reused = |value: &str| contains(value.as_bytes(), path);
    let inputs = policy.sandbox.reuse_inputs.iter();
    let others = [ReuseKind::HostBinary, ReuseKind::LocalIntegration];
    if inputs.filter(|input| others.contains(&input.kind)).any(|input| is_reused(&input.value)) {
        return answer(true, "it is exposed by choice", Some("reuse_inputs"));
    }
    if SYSTEM.iter().any(|system| contains(system, path)) {
        return answer(true, "every sandbox shows the system's programs, to be read alone", None);
    }
    match OWN.iter().find(|(own, _)| contains(own, path)) {
        Some((_, why)) => answer(false, why, None),
        None => answer(false, "no rule shows it", Some("filesystem.read")),
    }
}

fn is_in_cache(cache: DependencyCache, part: &str, around: &Surroundings<'_>, path: &[u8]) -> bool {
    let place = |home: &[u8]| [home, b"/", cache.directory().as_bytes(), b"/", part.as_bytes()].concat();
    around.home.is_some_and(|home| contains(&place(home), path))
}

fn variable_is_passed_on(policy: &ProjectPolicy, name: &str) -> Answer {
    let subject = Subject::Control(Control::Environment);
    let answer = |is_allowed, why: &str, key| Answer { is_allowed, why: why.to_owned(), key, subject };
    match (name, policy.sandbox.path_mode) {
        ("PATH", PathMode::Inherited) => answer(true, "it is the caller's", Some("development_environment.path_mode")),
        ("PATH", PathMode::Default) => {
            answer(false, "it is that of the standard directories", Some("development_environment.path_mode"))
        }
        _ if is_reused(policy, name) => answer(true, "it is exposed by choice", Some("reuse_inputs")),
        _ if PASSED_ON.contains(&name) => answer(true, "it is passed on if it is set", None),
        _ if OWN_VARIABLES.contains(&name) => answer(false, "a workload has one of its own", None),
        _ => answer(false, "it is not passed on", Some("reuse_inputs")),
    }
}

fn is_reused(policy: &ProjectPolicy, name: &str) -> bool {
    policy.sandbox.reuse_inputs.iter().any(|input| input.kind == ReuseKind::EnvVar && input.value == name)
}

/// What a workload has of its own.
const OWN_VARIABLES: [&str; 5] = ["HOME", "USER", "LOGNAME", "SHELL", "TMPDIR"];

fn limit_is_set(policy: &ProjectPolicy, limit: Limit) -> Answer {
    let why = match policy.sandbox.limits.of(limit) {
        Some(most) => format!("up to {}", limit.unit().shown(most)),
        None => format!("nothing limits {}", limit.name()),
    };
    Answer { is_allowed: true, why, key: Some(limit.key()), subject: Subject::Limit(limit) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::policy::WriteRule;

    fn answers(policy: &ProjectPolicy, question: &Question) -> (bool, Option<&'static str>) {
        let mut policy = policy.clone();
        policy.sandbox.read.push(b"/opt/go".to_vec());
        let shown = shown_paths(&policy, &|path| Some(path.to_vec()));
        let around = Surroundings { root: b"/home/ana/app", shown: &shown, home: None };
        let Answer { is_allowed, key, .. } = explain(&policy, &around, question);
        (is_allowed, key)
    }

    #[test]
    fn each_question_is_answered_by_the_rule_that_decides_it() {
        let policy = ProjectPolicy::default();
        let host = |host: Host| answers(&policy, &Question::Host(host));
        assert_eq!(host(Host::Other), (false, Some("network.default")));
        assert_eq!(host(Host::Loopback), (true, Some("network.default")));
        let path = |path: &str| answers(&policy, &Question::Path(path.as_bytes().to_vec()));
        assert_eq!(path("/home/ana/app/src"), (true, Some("filesystem.expose_workspace")));
        assert_eq!(path("/opt/go/bin"), (true, Some("filesystem.read")));
        assert_eq!(path("/opt/gopher"), (false, Some("filesystem.read")));
        assert_eq!((path("/usr/bin/make"), path("/etc/shadow")), ((true, None), (false, None)));
        let variable = |name: &str| answers(&policy, &Question::Variable(name.to_owned()));
        assert_eq!(
            (variable("TERM"), variable("HOME"), variable("AWS_SECRET")),
            ((true, None), (false, None), (false, Some("reuse_inputs")))
        );
        assert_eq!(variable("PATH"), (false, Some("development_environment.path_mode")));
    }

    #[test]
    fn what_may_be_changed_is_told_before_what_may_be_read() {
        let mut policy = ProjectPolicy::default();
        policy.sandbox.read = vec![b"/srv".to_vec()];
        policy.sandbox.files.write = vec![WriteRule::discarding(b"/srv/data".to_vec())];
        let input = |value: &str| ReuseInput { kind: ReuseKind::Path, value: value.to_owned(), digest: None };
        policy.sandbox.reuse_inputs = vec![input("/srv/input:rw"), input("/mnt/ro")];
        for (path, key, says) in [
            ("/srv/data/x", "filesystem.write", "thrown away"),
            ("/srv/input", "reuse_inputs", "copy of it to change"),
            ("/srv/other", "filesystem.read", "not be changed"),
            ("/mnt/ro", "reuse_inputs", "read alone"),
        ] {
            let shown = shown_paths(&policy, &|path| Some(path.to_vec()));
            let around = Surroundings { root: b"/home/ana/app", shown: &shown, home: None };
            let answer = explain(&policy, &around, &Question::Path(path.as_bytes().to_vec()));
            assert_eq!((answer.is_allowed, answer.key), (true, Some(key)), "{path}");
            assert!(answer.why.contains(says), "{}", answer.why);
        }
    }

    #[test]
    fn what_is_hidden_is_not_shown_wherever_it_lies() {
        let mut policy = ProjectPolicy::default();
        let rules = ["*.pem", "~/.cargo/credentials*"]
            .map(|rule| isobox_domain::policy::HideRule::parse(rule).expect("a rule"));
        policy.sandbox.files.hide = rules.to_vec();
        for (path, key) in [
            ("/home/ana/app/key.pem", Some("filesystem.hide")),
            ("/opt/go/key.pem/inner", Some("filesystem.hide")),
            ("/home/ana/app/key.pub", Some("filesystem.expose_workspace")),
        ] {
            assert_eq!(
                answers(&policy, &Question::Path(path.as_bytes().to_vec())),
                (key != Some("filesystem.hide"), key),
                "{path}"
            );
        }
    }

    #[test]
    fn what_was_downloaded_is_lent_and_what_lies_beside_it_is_not() {
        let mut policy = ProjectPolicy::default();
        policy.sandbox.caches = vec![DependencyCache::Cargo];
        let around = Surroundings { root: b"/home/ana/app", shown: &[], home: Some(b"/home/ana") };
        for (path, expected) in [
            ("/home/ana/.cargo/registry/cache/a", (true, Some("caches"))),
            ("/home/ana/.cargo/credentials.toml", (false, Some("filesystem.read"))),
            ("/home/ana/.npm/_cacache", (false, Some("filesystem.read"))),
        ] {
            let answer = explain(&policy, &around, &Question::Path(path.as_bytes().to_vec()));
            assert_eq!((answer.is_allowed, answer.key), expected, "{path}");
        }
    }

    #[test]
    fn what_is_inherited_is_allowed() {
        let mut policy = ProjectPolicy::default();
        policy.sandbox.network = NetworkAccess::Inherited;
        policy.sandbox.path_mode = PathMode::Inherited;
        assert!(answers(&policy, &Question::Host(Host::Other)).0);
        assert!(answers(&policy, &Question::Variable("PATH".to_owned())).0);
    }
}
