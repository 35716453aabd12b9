//! The `/etc` of a Sandbox: what ordinary programs need, and nothing about this machine or its users.

use isobox_domain::policy::NetworkAccess;
use nix::unistd::{getegid, geteuid};

use super::view::HOME;

/// Directories and links of the host's `/etc` that are shown as they are: what commands are links into, and the
/// certificates that TLS trusts. None is secret on any distribution.
pub(super) const SHOWN: [&str; 7] = [
    "/etc/alternatives",
    "/etc/crypto-policies",
    "/etc/localtime",
    "/etc/os-release",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/ssl/certs",
];

/// Small files of the host's `/etc` that are copied, which takes `bwrap` less time than a mount: for the dynamic
/// loader, TLS, and names of protocols.
const COPIED: [&str; 5] =
    ["/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/protocols", "/etc/services", "/etc/ssl/openssl.cnf"];

const RESOLV_CONF: &str = "/etc/resolv.conf";

/// The name of the Sandbox's only user.
pub(super) fn user_name() -> &'static str {
    if geteuid().is_root() { "root" } else { "isobox" }
}

/// Files: path and content.
pub(super) fn files(network: NetworkAccess) -> Vec<(&'static str, Vec<u8>)> {
    let (name, uid, gid) = (user_name(), geteuid(), getegid());
    let group = if gid.as_raw() == 0 { "root" } else { "isobox" };
    let generated = [
        ("/etc/passwd", format!("{name}:x:{uid}:{gid}::{HOME}:/bin/sh\nnobody:x:65534:65534::/:/usr/sbin/nologin\n")),
        ("/etc/group", format!("{group}:x:{gid}:\nnogroup:x:65534:\n")),
        ("/etc/hosts", "127.0.0.1\tlocalhost isobox\n::1\tlocalhost\n".to_owned()),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n".to_owned()),
    ];
    let mut files: Vec<_> = generated.into_iter().map(|(path, content)| (path, content.into_bytes())).collect();
    files.extend(COPIED.into_iter().filter_map(copy));
    if network == NetworkAccess::Inherited {
        // It is often a link into `/run`, which a Sandbox does not have.
        files.extend(copy(RESOLV_CONF));
    }
    files
}

/// A file of the host as it is; what cannot be read is not there.
fn copy(path: &'static str) -> Option<(&'static str, Vec<u8>)> {
    std::fs::read(path).ok().map(|content| (path, content))
}
