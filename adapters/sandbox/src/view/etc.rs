//! The `/etc` of a Sandbox: what ordinary programs need, and nothing about this machine or its users.

use super::{Content, HOME};
use isobox_domain::policy::NetworkAccess;
use nix::unistd::{getegid, geteuid};
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;

/// Directories and links of the host's `/etc` that are shown as they are: what commands are links into, and the
/// certificates that TLS trusts. None is secret on any distribution.
pub(crate) const SHOWN: [&str; 7] = [
    "/etc/alternatives",
    "/etc/crypto-policies",
    "/etc/localtime",
    "/etc/os-release",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/ssl/certs",
];

/// Small files of the host's `/etc` that are copied, which takes less time than a mount: for the dynamic loader, TLS, and
/// names of protocols.
pub(crate) const COPIED: [&str; 5] =
    ["/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/protocols", "/etc/services", "/etc/ssl/openssl.cnf"];

const RESOLV_CONF: &str = "/etc/resolv.conf";

/// The name of the Sandbox's only user.
pub(crate) fn user_name() -> &'static str {
    if geteuid().is_root() { "root" } else { "isobox" }
}

/// Files: path and content.
pub(super) fn files(network: NetworkAccess) -> Vec<(&'static str, Content)> {
    let (name, uid, gid) = (user_name(), geteuid(), getegid());
    let group = if gid.as_raw() == 0 { "root" } else { "isobox" };
    let generated = [
        ("/etc/passwd", format!("{name}:x:{uid}:{gid}::{HOME}:/bin/sh\nnobody:x:65534:65534::/:/usr/sbin/nologin\n")),
        ("/etc/group", format!("{group}:x:{gid}:\nnogroup:x:65534:\n")),
        ("/etc/hosts", "127.0.0.1\tlocalhost isobox\n::1\tlocalhost\n".to_owned()),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n".to_owned()),
    ];
    let mut files: Vec<_> =
        generated.into_iter().map(|(path, content)| (path, Content::Made(content.into_bytes()))).collect();
    // It is often a link into `/run`, which a Sandbox does not have.
    let of_network = (network == NetworkAccess::Inherited).then_some(RESOLV_CONF);
    let copied = COPIED.into_iter().chain(of_network).filter(|path| of_host(path).is_some());
    files.extend(copied.map(|path| (path, Content::OfHost)));
    files
}

/// A file of the host to copy; what cannot be read is not there.
pub(crate) fn of_host(path: impl AsRef<std::path::Path>) -> Option<File> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    file.metadata().is_ok_and(|metadata| metadata.is_file()).then_some(file)
}
