//! The `/etc` of a Sandbox: what ordinary programs need, and nothing about this machine or its users.

use crate::descriptors::file_of;
use isobox_domain::policy::NetworkAccess;
use nix::unistd::{getegid, geteuid};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;

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

/// Files: path, and a descriptor from which the content can be read.
pub(super) fn files(network: NetworkAccess) -> io::Result<Vec<(&'static str, OwnedFd)>> {
    let (name, uid, gid) = (user_name(), geteuid(), getegid());
    let group = if gid.as_raw() == 0 { "root" } else { "isobox" };
    let generated = [
        ("/etc/passwd", format!("{name}:x:{uid}:{gid}::{HOME}:/bin/sh\nnobody:x:65534:65534::/:/usr/sbin/nologin\n")),
        ("/etc/group", format!("{group}:x:{gid}:\nnogroup:x:65534:\n")),
        ("/etc/hosts", "127.0.0.1\tlocalhost isobox\n::1\tlocalhost\n".to_owned()),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n".to_owned()),
    ];
    let made = generated.into_iter().map(|(path, content)| Ok((path, file_of(content.as_bytes())?)));
    let mut files = made.collect::<io::Result<Vec<_>>>()?;
    files.extend(COPIED.into_iter().filter_map(as_it_is));
    if network == NetworkAccess::Inherited {
        // It is often a link into `/run`, which a Sandbox does not have.
        files.extend(as_it_is(RESOLV_CONF));
    }
    Ok(files)
}

/// A file of the host; what cannot be read is not there.
fn as_it_is(path: &'static str) -> Option<(&'static str, OwnedFd)> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    file.metadata().is_ok_and(|metadata| metadata.is_file()).then(|| (path, file.into()))
}
