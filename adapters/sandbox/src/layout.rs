//! What a policy adds to the view of a workload: what it shows of the host, what it hides, and what it keeps as it is.

mod hidden;
mod workspace;

use crate::supervision::{Recipe, RunningSandbox, io_error, start};
use crate::view::{self, Access, Entry, Item};
use isobox_domain::policy::WorkspaceExposure;
use isobox_ports::{Access as Allowed, Exposed, Filled, LaunchError, LaunchRequest, Place};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

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
    let host = of_host(request.exposed).map_err(io_error("lay out what is shown of the host"))?;
    let asked = &request.policy.asked;
    let mut rules = asked.files.clone();
    if asked.workspace == WorkspaceExposure::ReadOnly {
        rules.protected.clear();
    }
    if rules.protected.is_empty() && rules.hide.iter().all(|rule| rule.within().is_none()) {
        return Ok((Layout { host, ..Layout::default() }, Filling::Open));
    }
    if fill() == Filled::Not {
        return Err(LaunchError::NotFilled);
    }
    let ruled = workspace::ruled(request.mount, &rules).map_err(io_error("apply rules to the workspace"))?;
    Ok((Layout { host, workspace: ruled.entries, made: ruled.made }, Filling::Done))
}

fn of_host(exposed: &Exposed) -> io::Result<Vec<Entry>> {
    let (mut shown, mut hidden) = (Vec::new(), Vec::new());
    for each in &exposed.shown {
        let places: Vec<PathBuf> = each.places.iter().map(place).collect();
        if each.access == Allowed::ReadOnly {
            for found in hidden::find(&each.source, &exposed.hidden)? {
                hidden.extend(places.iter().flat_map(|place| found.at(&join(place, &found.path))));
            }
        }
        let access = match each.access {
            Allowed::ReadOnly => Access::ReadOnly,
            Allowed::ReadWrite => Access::ReadWrite,
        };
        let item = Item::Host(each.source.as_os_str().as_bytes().to_vec(), access);
        shown.extend(places.into_iter().map(|place| entry(place, item.clone())));
    }
    // A place that lies in another comes after it, or it would be covered.
    shown.sort_by(|one, other| one.path.cmp(&other.path));
    // What is hidden comes last: nothing that is shown uncovers it.
    Ok(shown.into_iter().chain(hidden).chain(programs(exposed)).collect())
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
