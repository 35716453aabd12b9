//! What a policy adds to the view of a workload: what it shows of the host, what it hides, and what it keeps as it is.

mod hidden;
mod layers;
mod workspace;

use crate::supervision::{Recipe, RunningSandbox, io_error, start};
use crate::view::{self, Access, Entry, Item};
use hidden::Kind;
use isobox_domain::escape::Escaped;
use isobox_domain::policy::{Glob, HideRule, Standing, WorkspaceExposure};
use isobox_domain::system_directories::{SYSTEM_DIRECTORIES, is_of_system};
use isobox_ports::{Access as Allowed, Exposed, Filled, LaunchError, LaunchRequest, Layered, Place, Shown};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use workspace::Beyond;

/// What a policy adds to a view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Things of the host, in the order in which they are laid out, before the Workspace is.
    pub(crate) host: Vec<Entry>,
    /// Places in the Workspace, in the order in which they are laid out, after it.
    pub(crate) workspace: Vec<Entry>,
    /// Directories of the Workspace that are there only as places for something, the innermost first.
    pub(crate) made: Vec<PathBuf>,
}

/// Whether somebody has to fill the Workspace still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filling {
    /// It is filled.
    Done,
    /// Nobody did.
    Open,
}

/// Starts a Sandbox as `recipe` says for what the policy of `request` adds, and removes what was made for that at its end.
pub(crate) fn start_on(
    request: &LaunchRequest<'_>,
    fill: &mut dyn FnMut() -> Filled,
    recipe: impl FnOnce(&Layout) -> Result<Recipe, LaunchError>,
) -> Result<RunningSandbox, LaunchError> {
    let (layout, filling) = of(request, fill)?;
    let recipe = recipe(&layout)?;
    let mut fill = || if filling == Filling::Done { Filled::Whole } else { fill() };
    Ok(start(recipe, request, &mut fill)?.with_made(layout.made))
}

/// What the policy of `request` adds. What lies in the Workspace decides about some of it: it is filled before.
fn of(request: &LaunchRequest<'_>, fill: &mut dyn FnMut() -> Filled) -> Result<(Layout, Filling), LaunchError> {
    let asked = &request.policy.asked;
    let is_read_only = asked.workspace == WorkspaceExposure::ReadOnly;
    let protected = if is_read_only { &[][..] } else { &asked.files.protected };
    let hidden: Vec<Glob> = asked.files.hide.iter().filter_map(HideRule::within).collect();
    let of_host =
        |beyond: &Beyond<'_>| of_host(request.exposed, beyond).map_err(io_error("lay out what is shown of the host"));
    if protected.is_empty() && hidden.is_empty() {
        return Ok((Layout { host: of_host(&Beyond::default())?, ..Layout::default() }, Filling::Open));
    }
    if fill() == Filled::Not {
        return Err(LaunchError::NotFilled);
    }
    let ruled =
        workspace::ruled(request.mount, protected, &hidden).map_err(io_error("apply rules to the workspace"))?;
    let host = of_host(&ruled.beyond)?;
    Ok((Layout { host, workspace: ruled.entries, made: ruled.made }, Filling::Done))
}

/// What is shown of the host and what stays hidden in it: what the policy names, and what links of the Workspace lead to,
/// `beyond` it.
fn of_host(exposed: &Exposed, beyond: &Beyond<'_>) -> io::Result<Vec<Entry>> {
    let mut shown: Vec<Entry> = exposed.shown.iter().flat_map(entries_of).collect();
    shown.extend(exposed.layers.iter().map(entry_of_layer));
    // A place that lies in another comes after it, or it would be covered.
    shown.sort_by(|one, other| one.path.cmp(&other.path));
    let mut hidden = Vec::new();
    for path in to_hide(exposed, beyond)? {
        hidden.extend(exposed.shown.iter().flat_map(|shown| places_in(shown, &path)));
        if is_of_system(path.as_os_str().as_bytes()) {
            hidden.extend(Kind::at(&path).map(|kind| (path, kind)));
        }
    }
    let layers: Vec<PathBuf> = exposed.layers.iter().map(place_of_layer).collect();
    // An earlier workload may have put a link there, which would lead out while this is laid out.
    let is_in_layer = |path: &Path| layers.iter().any(|layer| path != layer && path.starts_with(layer));
    hidden.retain(|(path, _)| !is_in_layer(path));
    shown.retain(|entry| !is_in_layer(Path::new(OsStr::from_bytes(&entry.path))));
    let hidden = hidden::outermost(hidden);
    shown.retain(|entry| !hidden::lies_in(&hidden, Path::new(OsStr::from_bytes(&entry.path))));
    // What is hidden comes last: nothing that is shown uncovers it.
    Ok(shown.into_iter().chain(hidden::hiding(hidden)).chain(programs(exposed)).collect())
}

fn entry_of_layer(layered: &Layered) -> Entry {
    let mounted = layered.overlay.place.as_os_str().as_bytes().to_vec();
    entry(place_of_layer(layered), Item::Host(mounted, Access::ReadWrite))
}

fn place_of_layer(layered: &Layered) -> PathBuf {
    Path::new(view::HOME).join(&layered.below_home)
}

fn entries_of(shown: &Shown) -> impl Iterator<Item = Entry> {
    let access = match shown.access {
        Allowed::ReadOnly => Access::ReadOnly,
        Allowed::ReadWrite | Allowed::Captured => Access::ReadWrite,
    };
    let item = Item::Host(shown.source.as_os_str().as_bytes().to_vec(), access);
    shown.places.iter().map(place).map(move |place| entry(place, item.clone()))
}

/// Host paths of what stays hidden.
fn to_hide(exposed: &Exposed, beyond: &Beyond<'_>) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let shown: Vec<&Path> = exposed.shown.iter().map(origin).collect();
    for root in exposed.shown.iter().filter(|shown| shown.access == Allowed::ReadOnly).map(origin) {
        found.extend(hidden::find(root, standing(&exposed.hidden, root), &shown)?);
    }
    let of_system = exposed.hidden.iter().filter(|glob| is_of_system(start_of(glob).as_os_str().as_bytes()));
    let of_system: Vec<Glob> = of_system.cloned().collect();
    for path in of_system.iter().map(start_of) {
        found.extend(hidden::find(&path, standing(&of_system, &path), &SYSTEM_DIRECTORIES.map(Path::new))?);
    }
    for (path, standing) in &beyond.open {
        // Of the system, much is linked to and nothing is secret: what is to be hidden in it is named by its own path.
        let host = on_host(exposed, path).filter(|host| shown.iter().any(|shown| host.starts_with(shown)));
        found.extend(host.map_or(Ok(Vec::new()), |host| hidden::find(&host, standing.clone(), &shown))?);
    }
    for target in beyond.hidden.iter().filter_map(|path| on_host(exposed, path)) {
        require_file_of_system(&target)?;
        found.push(target);
    }
    Ok(found)
}

/// Refuses to hide a whole directory of the system: programs would not start, and nobody could tell why. Whoever means one names it
/// by its own path.
fn require_file_of_system(target: &Path) -> io::Result<()> {
    if !is_of_system(target.as_os_str().as_bytes()) || !target.is_dir() {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "a link in the workspace that `filesystem.hide` names leads to {}, a directory of the system in which programs may need \
         anything: remove the link, or narrow the rule",
        Escaped::path(target)
    )))
}

fn standing<'a>(patterns: &'a [Glob], path: &Path) -> Standing<'a> {
    Standing::of(patterns, path.as_os_str().as_bytes())
}

/// The path at which the search for what a pattern names begins.
fn start_of(glob: &Glob) -> PathBuf {
    glob.fixed_prefix().fold(PathBuf::from("/"), |path, name| path.join(OsStr::from_bytes(name)))
}

/// The host path of what the Sandbox sees at `path`, if that is in what is shown, or of the system.
fn on_host(exposed: &Exposed, path: &Path) -> Option<PathBuf> {
    let is_of_system = |path: &Path| is_of_system(path.as_os_str().as_bytes());
    let leads_to = |path: &Path| {
        let of_system = || is_of_system(path).then(|| fs::canonicalize(path).ok())?.filter(|path| is_of_system(path));
        exposed.shown.iter().find_map(|shown| source_of(shown, path)).or_else(of_system)
    };
    let reached = path.components().fold(PathBuf::from("/"), |mut reached, step| {
        match step {
            Component::ParentDir => {
                reached = leads_to(&reached).unwrap_or(reached);
                reached.pop();
            }
            Component::Normal(name) => reached.push(name),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
        reached
    });
    leads_to(&reached)
}

/// The host path of what the Sandbox sees at `path`, if that is in what is `shown`.
fn source_of(shown: &Shown, path: &Path) -> Option<PathBuf> {
    let below = shown.places.iter().find_map(|each| path.strip_prefix(place(each)).ok().map(Path::to_owned))?;
    fs::canonicalize(join(origin(shown), &below)).ok()
}

/// Where the Sandbox sees the host path `path`, by what is `shown`, and what is there.
fn places_in(shown: &Shown, path: &Path) -> Vec<(PathBuf, Kind)> {
    let Ok(below) = path.strip_prefix(origin(shown)) else { return Vec::new() };
    // Of what may be written there is a copy, which has nothing at most places of what is hidden.
    let Some(kind) = Kind::at(&join(&shown.source, below)) else { return Vec::new() };
    shown.places.iter().map(|each| (join(&place(each), below), kind)).collect()
}

/// The host path of what is shown, or of what was copied.
fn origin(shown: &Shown) -> &Path {
    match (shown.access, shown.places.first()) {
        (Allowed::ReadWrite | Allowed::Captured, Some(Place::At(path))) => path,
        _ => &shown.source,
    }
}

/// Links to the programs, in a directory of their own that is the first on PATH.
fn programs(exposed: &Exposed) -> Vec<Entry> {
    let directory = (!exposed.programs.is_empty()).then(|| entry(PathBuf::from(view::PROGRAMS), Item::Directory));
    let links = exposed.programs.iter().map(|program| {
        let place = Path::new(view::PROGRAMS).join(OsStr::from_bytes(&program.name));
        entry(place, Item::Link(program.target.as_os_str().as_bytes().to_vec()))
    });
    directory.into_iter().chain(links).collect()
}

fn place(place: &Place) -> PathBuf {
    match place {
        Place::At(path) => path.clone(),
        Place::BelowHome(path) => Path::new(view::HOME).join(path),
    }
}

fn entry(place: PathBuf, item: Item) -> Entry {
    Entry { path: place.into_os_string().into_vec(), item }
}

/// What hides a directory: an empty one that nobody can enter.
fn nothing_at(place: &Path, mode: u32) -> [Entry; 2] {
    [entry(place.to_owned(), Item::Memory(mode)), entry(place.to_owned(), Item::Sealed)]
}

/// `place` itself for an empty path, which `Path::join` would end with a slash.
fn join(place: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { place.to_owned() } else { place.join(path) }
}
