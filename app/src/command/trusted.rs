//! The policy of a project for commands that run something, trusted by whoever runs them.

use crate::cli::TrustFlag;
use crate::failure::Failure;
use crate::output::console::Console;
use crate::output::trust;
use crate::use_case::trusted_policy::{self, Untrusted};
use crate::wiring::Project;
use isobox_domain::policy::{ProjectPolicy, ViewLimit};

/// The project's policy, once it is trusted: before, by the flag, or by an answer on a terminal. `None` where there is none.
pub(super) fn policy(console: Console, project: &Project, flag: TrustFlag) -> Result<Option<ProjectPolicy>, Failure> {
    let path = project.policy_path();
    load(project, &mut |untrusted| match flag.trust_policy {
        true => Ok(()),
        false => trust::ask(console, &path, untrusted),
    })
}

/// The same, with `ask` in place of the person.
pub(super) fn load(
    project: &Project,
    ask: &mut dyn FnMut(&Untrusted) -> Result<(), Failure>,
) -> Result<Option<ProjectPolicy>, Failure> {
    project.with_policy_ports(|ports| trusted_policy::load(ports, project.common_dir(), ask))
}

/// How many Views the project keeps, for commands that run nothing.
pub(super) fn views(project: &Project) -> ViewLimit {
    project.with_policy_ports(|ports| trusted_policy::views(ports, project.common_dir()))
}
