//! The `/etc` of a Sandbox: what ordinary programs need, and nothing about this machine or its users.

use isobox_domain::policy::NetworkAccess;
use nix::unistd::{getegid, geteuid};
use std::io;

use super::view::HOME;

/// Files and directories of the host's `/etc` that are shown as they are: what the dynamic loader, TLS and the clock
/// need, and names of protocols. None is secret on any distribution.
pub(super) const SHOWN: [&str; 16] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/crypto-policies",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/os-release",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
];

const RESOLV_CONF: &str = "/etc/resolv.conf";

/// The name of the Sandbox's only user.
pub(super) fn user_name() -> &'static str {
    if geteuid().is_root() { "root" } else { "isobox" }
}

/// Generated files: path and content.
pub(super) fn generated(network: NetworkAccess) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let (name, uid, gid) = (user_name(), geteuid(), getegid());
    let group = if gid.as_raw() == 0 { "root" } else { "isobox" };
    let mut files = vec![
        ("/etc/passwd", format!("{name}:x:{uid}:{gid}::{HOME}:/bin/sh\nnobody:x:65534:65534::/:/usr/sbin/nologin\n")),
        ("/etc/group", format!("{group}:x:{gid}:\nnogroup:x:65534:\n")),
        ("/etc/hosts", "127.0.0.1\tlocalhost isobox\n::1\tlocalhost\n".to_owned()),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n".to_owned()),
    ];
    if network == NetworkAccess::Inherited {
        files.push((RESOLV_CONF, resolver()?));
    }
    Ok(files.into_iter().map(|(path, content)| (path, content.into_bytes())).collect())
}

/// The host's resolver settings; it is often a link into `/run`, which a Sandbox does not have.
fn resolver() -> io::Result<String> {
    match std::fs::read_to_string(RESOLV_CONF) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        other => other,
    }
}
