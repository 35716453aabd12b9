//! A Sandbox where the kernel refuses namespaces: Landlock and the filter of system calls hold it, at the host's own paths.

use super::findings::Findings;
use super::{refused, stage_arguments};
use crate::environment::{environment, value};
use crate::filter::Strictness;
use crate::limits::Containment;
use crate::private_directory::PrivateDirectory;
use crate::protocol::{Enclosure, Plan, Reach, Rule, Use};
use crate::supervision::{Recipe, io_error};
use crate::view::{Access, Entry, HOME, Item, View, etc};
use isobox_domain::escape::Escaped;
use isobox_domain::policy::{BackendName, NetworkAccess, WorkspaceExposure};
use isobox_domain::system_directories::SYSTEM_DIRECTORIES;
use isobox_ports::{LaunchError, LaunchRequest, WorkspaceMount};
use std::ffi::OsStr;
use std::fs::{create_dir, create_dir_all};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;

/// Why it has no overlays, and refuses what takes a mount.
pub(super) const MOUNTS_NOTHING: &str = "nothing can be mounted without namespaces, which are refused here";

/// Why it refuses what nobody asked to hide, such as notes of a password in a cache that is lent.
const KEEPS_NOTHING: &str = "is never shown, and lies in something that is to be shown, of which Landlock cannot take it out \
    without namespaces, and they are refused here; leave out the cache or the path that is to be shown around it";

/// Files of the host's `/etc` that have no copy of their own here, and tell of its users what everybody may read.
const OF_USERS: [&str; 5] = ["/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/resolv.conf"];

/// Nodes that programs expect.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// How to start a Sandbox for `request`; without one, it is only tried.
pub(super) fn recipe(
    findings: &Findings,
    view: &View<'_>,
    mount: &WorkspaceMount,
    request: Option<&LaunchRequest<'_>>,
) -> Result<Recipe, LaunchError> {
    let has_layers = request.is_some_and(|request| !request.exposed.layers.is_empty());
    if has_layers || matches!(mount, WorkspaceMount::Overlay(_)) {
        return Err(refused(MOUNTS_NOTHING.to_owned()));
    }
    if let Some(reason) = out_of_reach(view, request) {
        return Err(refused(reason));
    }
    let private = Private::make().map_err(io_error("make a private HOME and temporary directory"))?;
    private.link(&view.layout.host).map_err(io_error("show what is exposed below the private HOME"))?;
    let enclosure = Enclosure {
        inside: None,
        landlock_abi: findings.landlock_abi,
        rules: rules(view, &private),
        strictness: match view.network {
            NetworkAccess::Deny => Strictness::AloneDenyingNetwork,
            NetworkAccess::Inherited => Strictness::AloneOnHostNetwork,
        },
        own_directories: vec![bytes(private.0.path())],
    };
    Ok(Recipe {
        backend: BackendName::Landlock,
        // The program of this process, even if its file was replaced meanwhile: a started child shares its link.
        program: c"/proc/self/exe".to_owned(),
        arguments: stage_arguments(),
        descriptors: Vec::new(),
        namespaces: None,
        plan: plan(request, view, enclosure, &private),
        written: None,
        way_back: None,
        private: Some(private.0),
        // Its processes are among the user's others, so that no more is claimed than where nothing contains them.
        containment: Containment::None,
    })
}

/// A directory with a HOME and one for temporary files, for one Sandbox.
struct Private(PrivateDirectory);

impl Private {
    fn make() -> io::Result<Self> {
        let private = Self(PrivateDirectory::make()?);
        [private.home(), private.temporary()].iter().try_for_each(create_dir)?;
        Ok(private)
    }

    /// Leads from below HOME to what the view shows there. What lies in something else that is shown is there with that, and
    /// a directory made for it would be made on the host.
    fn link(&self, shown: &[Entry]) -> io::Result<()> {
        let mut linked: Vec<&Path> = Vec::new();
        for Entry { path, item } in shown {
            let place = Path::new(OsStr::from_bytes(path)).strip_prefix(HOME);
            let (Ok(place), Item::Host(source, _)) = (place, item) else { continue };
            if linked.iter().any(|other| place.starts_with(other)) {
                continue;
            }
            let link = self.home().join(place);
            link.parent().map_or(Ok(()), create_dir_all)?;
            symlink(OsStr::from_bytes(source), link)?;
            linked.push(place);
        }
        Ok(())
    }

    fn home(&self) -> std::path::PathBuf {
        self.0.path().join("home")
    }

    fn temporary(&self) -> std::path::PathBuf {
        self.0.path().join("tmp")
    }
}

fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

fn plan(request: Option<&LaunchRequest<'_>>, view: &View<'_>, enclosure: Enclosure, private: &Private) -> Plan {
    let mut directory = bytes(view.host_path);
    if let Some(path) = request.and_then(|request| request.working_directory) {
        directory.extend([b"/", path.as_bytes()].concat());
    }
    let own =
        [("HOME", bytes(&private.home())), ("TMPDIR", bytes(&private.temporary())), ("SHELL", b"/bin/sh".to_vec())];
    let user = ["USER", "LOGNAME"].into_iter().filter_map(|name| Some((name, value(name)?)));
    let own: Vec<_> = own.into_iter().chain(user).collect();
    let exposed = request.map(|request| &request.exposed.programs[..]).unwrap_or_default();
    let mut programs: Vec<&Path> = exposed.iter().filter_map(|program| program.found.parent()).collect();
    programs.dedup();
    Plan {
        reach: Reach::Tree,
        directory,
        arguments: request.map(|request| request.command.arguments().to_vec()).unwrap_or_default(),
        environment: request.map(|request| environment(request, &programs, &own)).unwrap_or_default(),
        enclosure: Some(enclosure),
        terminal: request.and_then(|request| request.terminal),
        rlimits: Vec::new(),
    }
}

/// Why what is asked for cannot be had, if it cannot.
fn out_of_reach(view: &View<'_>, request: Option<&LaunchRequest<'_>>) -> Option<String> {
    let shown = |is: fn(&Item) -> bool| view.layout.host.iter().any(|entry| is(&entry.item));
    let is_socket =
        |path: &[u8]| Path::new(OsStr::from_bytes(path)).metadata().is_ok_and(|of| of.file_type().is_socket());
    let sockets = view.layout.host.iter().any(|entry| matches!(&entry.item, Item::Host(path, _) if is_socket(path)));
    // Landlock allows whole trees, and takes nothing of one back.
    let kept =
        view.layout.host.iter().find(|entry| matches!(entry.item, Item::Masked | Item::Memory(_) | Item::Sealed));
    let copies = shown(|item| matches!(item, Item::Host(_, Access::ReadWrite)));
    let takes_mounts =
        copies || sockets || request.is_some_and(|request| request.policy.asked.takes_mounts().is_some());
    let kept = kept.map(|entry| format!("{} {KEEPS_NOTHING}", Escaped(&entry.path)));
    takes_mounts.then(|| MOUNTS_NOTHING.to_owned()).or(kept)
}

/// What a view shows, at the host's paths.
fn rules(view: &View<'_>, private: &Private) -> Vec<Rule> {
    let rule = |path: &str, allowed| Rule { path: path.as_bytes().to_vec(), allowed };
    let workspace = match view.exposure {
        WorkspaceExposure::ReadWrite => Use::Everything,
        WorkspaceExposure::ReadOnly => Use::Execute,
    };
    let mut rules = vec![Rule { path: bytes(view.host_path), allowed: workspace }, rule("/proc", Use::Read)];
    rules.extend(
        [private.home(), private.temporary()].map(|path| Rule { path: bytes(&path), allowed: Use::Everything }),
    );
    rules.extend(SYSTEM_DIRECTORIES.map(|path| rule(path, Use::Execute)));
    rules.extend(etc::SHOWN.into_iter().chain(etc::COPIED).chain(OF_USERS).map(|path| rule(path, Use::Read)));
    rules.extend(DEVICES.map(|path| rule(path, Use::Devices)));
    rules.extend(view.layout.host.iter().filter_map(|entry| match &entry.item {
        Item::Host(path, Access::ReadOnly) => Some(Rule { path: path.clone(), allowed: Use::Execute }),
        _ => None,
    }));
    rules
}
