//! The adapters behind an update. Nothing of them is made before somebody asks for one.

use crate::cli::UpdateArguments;
use crate::failure::{Failure, FailureKind};
use crate::use_case::update::{Ports, Publisher};
use isobox_domain::release::{Build, Platform};
use isobox_domain::update_target::{KeyFrom, Refusal, keyless};
use isobox_host::{InstallationProbe, PathUpdateTargets};
use isobox_release::{FsInstallation, Place, SignedReleaseSource, TrustedKeys};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// The key of the releases that this program is one of; whoever builds a release sets it.
const BUILT_IN_KEY: Option<&str> = option_env!("ISOBOX_RELEASE_KEY");
/// Where the releases that this program is one of are published; whoever builds a release sets it.
const BUILT_IN_URL: Option<&str> = option_env!("ISOBOX_RELEASE_URL");

/// How this program was built.
pub(crate) const fn build() -> Build {
    if BUILT_IN_KEY.is_some() { Build::Release } else { Build::Development }
}

/// Hands the ports of an update to `act`.
pub(crate) fn with_update_ports<T>(act: impl FnOnce(&Ports<'_>) -> T) -> T {
    let probe = InstallationProbe::of_this_process(env!("CARGO_PKG_VERSION"));
    let targets = PathUpdateTargets::new(probe, Path::new("/"));
    act(&Ports { targets: &targets, installation: &FsInstallation })
}

/// Hands the publisher that `arguments`, the environment or this build name to `act`.
pub(crate) fn with_publisher<T>(
    arguments: &UpdateArguments,
    act: impl FnOnce(&Publisher<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (key, from) = match named(arguments.key.as_deref(), "ISOBOX_RELEASE_KEY")? {
        Some(key) => (key, KeyFrom::User),
        None => (BUILT_IN_KEY.ok_or_else(no_key)?.to_owned(), KeyFrom::Build),
    };
    let keys = TrustedKeys::parse(&key)
        .map_err(usage("read the key of releases", "copy it from where the publisher of the releases names it"))?;
    let url = named(arguments.url.as_deref(), "ISOBOX_RELEASE_URL")?.or(BUILT_IN_URL.map(str::to_owned));
    let place = Place::parse(&url.ok_or_else(no_url)?)
        .map_err(usage("read the URL of releases", "name the directory that has the releases.txt in it"))?;
    let source = SignedReleaseSource::new(place, keys, Duration::from_secs(arguments.timeout));
    let platform = Platform::of_this_program().ok_or_else(|| {
        Failure::new(FailureKind::General, "there are no releases for this kind of machine")
            .with_hint("build isobox from its source")
    })?;
    act(&Publisher { source: &source, key: from, platform })
}

/// What a flag says, else the variable `name`, unless that is empty.
fn named(flag: Option<&str>, name: &str) -> Result<Option<String>, Failure> {
    let no_text = |_: OsString| {
        Failure::new(FailureKind::Usage, format!("{name} is no text")).with_hint("unset it, or use the flag")
    };
    let variable = std::env::var_os(name).filter(|value| !value.is_empty());
    match flag {
        Some(flag) => Ok(Some(flag.to_owned())),
        None => variable.map(|value| value.into_string().map_err(no_text)).transpose(),
    }
}

fn usage<E: std::error::Error + Send + Sync + 'static>(what: &str, hint: &str) -> impl FnOnce(E) -> Failure {
    let failure = Failure::new(FailureKind::Usage, what).with_hint(hint);
    move |error| failure.because(error)
}

fn no_key() -> Failure {
    let Refusal { why, hint } = keyless();
    Failure::new(FailureKind::General, format!("this isobox {why}")).with_hint(hint)
}

fn no_url() -> Failure {
    Failure::new(FailureKind::Usage, "this isobox does not know where its releases are")
        .with_hint("name the place with --url or ISOBOX_RELEASE_URL")
}
