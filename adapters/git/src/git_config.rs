//! Which configuration gix reads, and what is taken out of it.

use gix::open::permissions::{Attributes, Config, Environment};
use gix::open::{Options, Permissions};
use gix::sec::{Permission, Trust};
use std::path::Path;

/// How every repository is opened: system, user and repository configuration as Git reads them, but no `GIT_*`
/// variable, and no `git` program to ask where its configuration lies.
fn options(trust: Trust) -> Options {
    let allow = Permission::Allow;
    let permissions = Permissions {
        env: Environment { xdg_config_home: allow, home: allow, ..Environment::isolated() },
        config: Config { git_binary: false, system: true, git: true, user: true, env: false, includes: true },
        attributes: Attributes { git_binary: false, system: true, git: true },
    };
    // A commit is what its objects are, wherever it is looked at: replacements hold in the one repository that has them.
    Options::default().permissions(permissions).config_overrides(["core.useReplaceRefs=false"]).with(trust)
}

/// Opens the repository at `host_path` (its working tree or its Git directory) without anything that names a program to
/// execute.
pub(crate) fn open(host_path: &Path, trust: Trust) -> gix::Result<gix::Repository> {
    let mut repository = gix::open_opts(host_path, options(trust))?;
    remove_drivers(&mut repository)?;
    Ok(repository)
}

/// Forgets every filter driver, so that comparing a file with its blob executes nothing.
fn remove_drivers(repository: &mut gix::Repository) -> gix::Result<()> {
    let mut config = repository.config_snapshot_mut();
    let filters: Vec<_> = config.sections_and_ids_by_name("filter").into_iter().flatten().map(|(_, id)| id).collect();
    for id in filters {
        config.remove_section_by_id(id);
    }
    config.commit()?;
    Ok(())
}
