//! What a policy file says, key by key, and what a user's own file leaves of what a project's asks for.

use super::{
    BackendChoice, BackendName, DependencyCache, FileRules, HideRule, NetworkAccess, PathMode, ProjectPolicy,
    Requirements, ReuseInput, SandboxPolicy, TaskLimit, ToolCalls, ViewLimit, WorkspaceExposure, WriteRule,
};
use crate::limit::Limits;
use crate::preflight::PreflightRule;
use crate::promotion::{BlockedRisk, PromotionGate, PromotionRequirement};
use crate::repo_path::RepoPath;

/// The keys of a policy file, as written; `None` where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenPolicy {
    /// `tool_call.enabled`.
    pub tool_calls: Option<ToolCalls>,
    /// `runtime_backend`.
    pub backend: Option<BackendChoice>,
    /// `development_environment.path_mode`.
    pub path_mode: Option<PathMode>,
    /// `network.default`.
    pub network: Option<NetworkAccess>,
    /// `network.allow`.
    pub network_allow: Option<Vec<String>>,
    /// `filesystem.expose_workspace`.
    pub workspace: Option<WorkspaceExposure>,
    /// `filesystem.read`.
    pub read: Option<Vec<Vec<u8>>>,
    /// `require`.
    pub require: Option<Requirements>,
    /// `filesystem.write`.
    pub write: Option<Vec<WriteRule>>,
    /// `filesystem.hide`.
    pub hide: Option<Vec<HideRule>>,
    /// `workspace.protected`.
    pub protected: Option<Vec<RepoPath>>,
    /// `reuse_inputs`.
    pub reuse_inputs: Option<Vec<ReuseInput>>,
    /// `caches`, as [`DependencyCache::in_order`] gives them.
    pub caches: Option<Vec<DependencyCache>>,
    /// `preflight.rules`, with those that always hold.
    pub preflight: Option<Vec<PreflightRule>>,
    /// `records.views`.
    pub views: Option<ViewLimit>,
    /// `tasks.max`.
    pub tasks: Option<TaskLimit>,
    /// `promotion.require`.
    pub promotion_require: Option<Vec<PromotionRequirement>>,
    /// `promotion.block`.
    pub promotion_block: Option<Vec<BlockedRisk>>,
    /// `verification.commands`.
    pub verification: Option<Vec<String>>,
    /// `limits`; one that is written as `unlimited` is as good as one that is not.
    pub limits: Limits,
}

/// A value that a project asks for and a user's own policy does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widening {
    /// The key.
    pub key: &'static str,
}

impl WrittenPolicy {
    /// The policy of a project: what is not written has its most restrictive value.
    pub fn resolved(self) -> ProjectPolicy {
        let ProjectPolicy { tool_calls, sandbox, preflight, views, tasks, promotion: _, verification } =
            ProjectPolicy::default();
        ProjectPolicy {
            tool_calls: self.tool_calls.unwrap_or(tool_calls),
            sandbox: SandboxPolicy {
                backend: self.backend.unwrap_or(sandbox.backend),
                network: self.network.unwrap_or(sandbox.network),
                network_allow: self.network_allow.unwrap_or(sandbox.network_allow),
                path_mode: self.path_mode.unwrap_or(sandbox.path_mode),
                workspace: self.workspace.unwrap_or(sandbox.workspace),
                read: self.read.unwrap_or(sandbox.read),
                require: self.require.unwrap_or(sandbox.require),
                unsafe_overrides: sandbox.unsafe_overrides,
                reuse_inputs: self.reuse_inputs.unwrap_or(sandbox.reuse_inputs),
                files: FileRules {
                    write: self.write.unwrap_or(sandbox.files.write),
                    hide: self.hide.unwrap_or(sandbox.files.hide),
                    protected: self.protected.unwrap_or(sandbox.files.protected),
                    ..FileRules::default()
                },
                limits: self.limits,
                caches: self.caches.unwrap_or(sandbox.caches),
            },
            preflight: self.preflight.unwrap_or(preflight),
            views: self.views.unwrap_or(views),
            tasks: self.tasks.unwrap_or(tasks),
            promotion: PromotionGate::new(
                &self.promotion_require.unwrap_or_default(),
                &self.promotion_block.unwrap_or_default(),
            ),
            verification: self.verification.unwrap_or(verification),
        }
    }

    /// Narrows `asked` to what this policy, as a Ceiling, allows; the keys that had to be narrowed, in the order of the
    /// file. What this policy does not mention is not limited. Narrowing what was narrowed changes nothing.
    ///
    /// `network.allow`, `filesystem.read`, `filesystem.write` and `verification.commands` are not looked at: a user's own file does not have them.
    pub fn narrow(&self, asked: &mut ProjectPolicy) -> Vec<Widening> {
        let mut narrowed = Vec::new();
        let mut note = |key, is_wider: bool| {
            if is_wider {
                narrowed.push(Widening { key });
            }
        };
        let sandbox = &mut asked.sandbox;
        note(
            "tool_call.enabled",
            lower(&mut asked.tool_calls, self.tool_calls, &[ToolCalls::Disabled, ToolCalls::Enabled]),
        );
        note("runtime_backend", lower_backend(&mut sandbox.backend, self.backend));
        note("development_environment.path_mode", lower(&mut sandbox.path_mode, self.path_mode, &PathMode::ALL));
        note("network.default", lower(&mut sandbox.network, self.network, &NetworkAccess::ALL));
        let exposures = [WorkspaceExposure::ReadOnly, WorkspaceExposure::ReadWrite];
        note("filesystem.expose_workspace", lower(&mut sandbox.workspace, self.workspace, &exposures));
        note("require", self.require.as_ref().is_some_and(|require| sandbox.require.add(require)));
        let (hides_more, protects_more) = sandbox.files.add(self.hide.as_deref(), self.protected.as_deref());
        note("filesystem.hide", hides_more);
        note("workspace.protected", protects_more);
        note("reuse_inputs", lower_inputs(&mut sandbox.reuse_inputs, self.reuse_inputs.as_deref()));
        note("caches", lower_caches(&mut sandbox.caches, self.caches.as_deref()));
        note("records.views", lower_views(&mut asked.views, self.views));
        note("preflight.rules", add_rules(&mut asked.preflight, self.preflight.as_deref()));
        let required = self.promotion_require.as_deref().unwrap_or_default();
        note("promotion.require", asked.promotion.add_requirements(required));
        let blocked = self.promotion_block.as_deref().unwrap_or_default();
        note("promotion.block", asked.promotion.add_blocks(blocked));
        note("tasks.max", asked.tasks.lower(self.tasks));
        sandbox.limits.lower(&self.limits).into_iter().for_each(|limit| note(limit.key(), true));
        narrowed
    }
}

/// Lowers `asked` to `ceiling`; `ascending` has the most restrictive value first.
fn lower<T: Copy + PartialEq>(asked: &mut T, ceiling: Option<T>, ascending: &[T]) -> bool {
    let height = |value: T| ascending.iter().position(|known| *known == value);
    let Some(ceiling) = ceiling.filter(|ceiling| height(*asked) > height(*ceiling)) else { return false };
    *asked = ceiling;
    true
}

/// `host` contains nothing, so it is wider than everything. A backend that contains is allowed by itself and by `auto`.
fn lower_backend(asked: &mut BackendChoice, ceiling: Option<BackendChoice>) -> bool {
    const HOST: BackendChoice = BackendChoice::Named(BackendName::Host);
    let Some(ceiling) = ceiling else { return false };
    let is_allowed = ceiling == HOST || *asked == ceiling || (ceiling == BackendChoice::Auto && *asked != HOST);
    if is_allowed {
        return false;
    }
    // `auto` asks for none in particular: giving it the one that is allowed takes nothing away.
    let is_wider = *asked != BackendChoice::Auto;
    *asked = ceiling;
    is_wider
}

/// Those that a user's own policy does not name are not exposed. Of a variable its name counts, whatever its value.
fn lower_inputs(asked: &mut Vec<ReuseInput>, ceiling: Option<&[ReuseInput]>) -> bool {
    let Some(ceiling) = ceiling else { return false };
    let before = asked.len();
    asked.retain(|input| ceiling.iter().any(|known| (known.kind, &known.value) == (input.kind, &input.value)));
    asked.len() < before
}

/// Those that a user's own policy does not name are not lent.
fn lower_caches(asked: &mut Vec<DependencyCache>, ceiling: Option<&[DependencyCache]>) -> bool {
    let Some(ceiling) = ceiling else { return false };
    let before = asked.len();
    asked.retain(|cache| ceiling.contains(cache));
    asked.len() < before
}

fn lower_views(asked: &mut ViewLimit, ceiling: Option<ViewLimit>) -> bool {
    let is_wider = match (*asked, ceiling) {
        (_, None | Some(ViewLimit::All)) => false,
        (ViewLimit::All, Some(ViewLimit::Newest(_))) => true,
        (ViewLimit::Newest(asked), Some(ViewLimit::Newest(most))) => asked > most,
    };
    if let Some(ceiling) = ceiling.filter(|_| is_wider) {
        *asked = ceiling;
    }
    is_wider
}

fn add_rules(asked: &mut Vec<PreflightRule>, ceiling: Option<&[PreflightRule]>) -> bool {
    let missing = ceiling.unwrap_or_default().iter().any(|rule| !asked.contains(rule));
    if missing {
        let both = |rule: &PreflightRule| asked.contains(rule) || ceiling.unwrap_or_default().contains(rule);
        *asked = PreflightRule::ALL.into_iter().filter(both).collect();
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Requirement;
    use crate::policy::ReuseKind;

    const CHOICES: [BackendChoice; 4] = [
        BackendChoice::Auto,
        BackendChoice::Named(BackendName::Bubblewrap),
        BackendChoice::Named(BackendName::Landlock),
        BackendChoice::Named(BackendName::Host),
    ];

    fn wide() -> ProjectPolicy {
        let mut wide =
            ProjectPolicy { tool_calls: ToolCalls::Enabled, preflight: Vec::new(), ..ProjectPolicy::default() };
        wide.sandbox.network = NetworkAccess::Inherited;
        wide.sandbox.path_mode = PathMode::Inherited;
        wide.sandbox.backend = BackendChoice::Named(BackendName::Host);
        wide
    }

    #[test]
    fn a_policy_that_says_nothing_is_no_ceiling() {
        let mut asked = wide();
        assert_eq!(WrittenPolicy::default().narrow(&mut asked), []);
        assert_eq!(asked, wide());
    }

    #[test]
    fn what_is_wider_is_narrowed_and_named_and_what_is_narrower_stays() {
        let ceiling = WrittenPolicy {
            tool_calls: Some(ToolCalls::Enabled),
            backend: Some(BackendChoice::Auto),
            path_mode: Some(PathMode::Default),
            network: Some(NetworkAccess::Deny),
            workspace: Some(WorkspaceExposure::ReadOnly),
            preflight: Some(PreflightRule::ALL.to_vec()),
            ..WrittenPolicy::default()
        };
        let mut asked = wide();
        let keys: Vec<_> = ceiling.narrow(&mut asked).into_iter().map(|widening| widening.key).collect();
        let expected = [
            "runtime_backend",
            "development_environment.path_mode",
            "network.default",
            "filesystem.expose_workspace",
            "preflight.rules",
        ];
        assert_eq!(keys, expected);
        assert_eq!(asked.preflight, PreflightRule::ALL);
        assert_eq!(ceiling.narrow(&mut asked), []);
        let mut narrow = ProjectPolicy::default();
        narrow.sandbox.workspace = WorkspaceExposure::ReadOnly;
        let before = narrow.clone();
        assert_eq!(ceiling.narrow(&mut narrow), []);
        assert_eq!(narrow, before);
    }

    #[test]
    fn what_a_ceiling_requires_is_required_besides_what_a_project_does() {
        let of = |names: &[&str]| names.iter().filter_map(|name| Requirement::parse(name)).collect::<Requirements>();
        let ceiling = WrittenPolicy { require: Some(of(&["network", "ipc"])), ..WrittenPolicy::default() };
        let mut asked = ProjectPolicy::default();
        asked.sandbox.require = of(&["limits", "network"]);
        assert_eq!(ceiling.narrow(&mut asked), [Widening { key: "require" }]);
        assert_eq!(asked.sandbox.require, of(&["network", "ipc", "limits"]));
        assert_eq!(ceiling.narrow(&mut asked), []);
    }

    #[test]
    fn a_user_adds_what_is_hidden_and_protected_and_leaves_no_other_inputs() {
        let rule = HideRule::parse("**/.env").expect("a rule");
        let path = RepoPath::parse(&b".github"[..]).expect("a path");
        let input = |value: &str| ReuseInput { kind: ReuseKind::EnvVar, value: value.to_owned(), digest: None };
        let ceiling = WrittenPolicy {
            hide: Some(vec![rule.clone()]),
            protected: Some(vec![path.clone()]),
            reuse_inputs: Some(vec![input("A")]),
            caches: Some(vec![DependencyCache::Cargo]),
            ..WrittenPolicy::default()
        };
        let mut asked = ProjectPolicy::default();
        asked.sandbox.reuse_inputs = vec![input("A"), input("B")];
        asked.sandbox.caches = vec![DependencyCache::Cargo, DependencyCache::Npm];
        let keys: Vec<_> = ceiling.narrow(&mut asked).into_iter().map(|widening| widening.key).collect();
        assert_eq!(keys, ["filesystem.hide", "workspace.protected", "reuse_inputs", "caches"]);
        assert_eq!(
            (asked.sandbox.files.hide.as_slice(), asked.sandbox.files.protected.as_slice()),
            (&[rule][..], &[path][..])
        );
        assert_eq!(asked.sandbox.reuse_inputs, [input("A")]);
        assert_eq!(asked.sandbox.caches, [DependencyCache::Cargo]);
        assert_eq!(ceiling.narrow(&mut asked), []);
    }

    #[test]
    fn no_choice_of_backend_gets_past_a_ceiling_that_contains() {
        for ceiling in &CHOICES[..3] {
            for mut asked in CHOICES {
                lower_backend(&mut asked, Some(*ceiling));
                assert_ne!(asked, CHOICES[3], "{ceiling:?}");
                assert!(*ceiling == BackendChoice::Auto || asked == *ceiling, "{ceiling:?}: {asked:?}");
            }
        }
    }
}
