//! HTTP, as little as a download needs: redirects that never leave HTTPS, and a deadline over everything.

use isobox_ports::Cause;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};
use ureq::config::Config;
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};

/// How many redirects are followed.
const MAX_REDIRECTS: u32 = 5;
/// Longest wait for a connection: a host that is down shall not take all of the caller's patience.
const MAX_CONNECT: Duration = Duration::from_secs(20);

/// Whether a connection is encrypted, and stays so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// It is, whatever a server redirects to.
    Https,
    /// It need not be.
    Http,
}

/// The body of what a server sends for `url`, until `deadline`.
pub(crate) fn open(scheme: Scheme, url: &str, deadline: Instant) -> Result<Box<dyn Read>, Cause> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err("no time is left for it".into());
    }
    let config = Config::builder()
        .https_only(scheme == Scheme::Https)
        .max_redirects(MAX_REDIRECTS)
        .timeout_global(Some(left))
        .timeout_connect(Some(left.min(MAX_CONNECT)))
        .user_agent(concat!("isobox/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls()?)
        .build();
    let response = config.new_agent().get(url).header("cache-control", "no-cache").call()?;
    Ok(Box::new(response.into_body().into_reader()))
}

// The authorities that this machine trusts, and not those of the day on which isobox was built. A redirect may lead from
// HTTP to HTTPS, so that both need them; a machine without any can still read plain HTTP, which the signature covers.
fn tls() -> Result<TlsConfig, Cause> {
    let found = rustls_native_certs::load_native_certs();
    let roots: Vec<_> = found.certs.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(provider)
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .build())
}
