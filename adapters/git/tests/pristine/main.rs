//! Pristine copies: what overlays lie on, how they are made, shared, found damaged and made anew.

#[path = "../fixture/mod.rs"]
mod fixture;

mod eviction;
mod layers;
mod reflinks;
mod retained;
mod scale;
mod scene;
mod sharing;
mod trouble;
mod whole;

use libtest_mimic::Trial;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = sharing::made_to_be_killed() {
        return code;
    }
    fixture::run(|| {
        let all = [
            whole::trials(),
            sharing::trials(),
            trouble::trials(),
            retained::trials(),
            layers::trials(),
            reflinks::trials(),
            eviction::trials(),
            scale::trials(),
        ];
        all.into_iter().flatten().collect()
    })
}

/// A trial that mounts, which only root may here.
fn as_root(name: &'static str, test: fn()) -> Trial {
    let is_root = nix::unistd::geteuid().is_root();
    let name = if is_root { name.to_owned() } else { format!("{name} (only root can mount)") };
    let trial = Trial::test(name, move || {
        test();
        Ok(())
    });
    trial.with_ignored_flag(!is_root)
}
