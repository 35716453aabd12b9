//! The turning points of a Promotion, and what a later start does about one that was killed.

use super::dir::Dir;
use super::journal::JournalReader;
use super::permissions::create_own_file;
use super::reference::Move;
use super::site::{self, DONE, JOURNAL, JOURNAL_DRAFT, Place, STATE, Site};
use super::target::Target;
use super::trouble::{while_doing, while_settling};
use super::{index, perform, reference};
use crate::GixRepository;
use crate::repository::failure;
use isobox_domain::escape::Escaped;
use isobox_ports::{ApplyError, RepositoryError, Unfinished};
use std::io;

/// What a Promotion changes beside files.
pub(super) struct Prepared {
    /// Whether files are.
    pub(super) has_files: bool,
    /// Whether the index is made to match.
    pub(super) has_index: bool,
    /// The reference that is moved.
    pub(super) moved: Option<Move>,
}

/// Takes a prepared Promotion to its point of no return.
pub(super) fn perform(site: &Site, landing: &Prepared, target: &Target<'_>) -> Result<(), ApplyError> {
    let published = site.state.replace(JOURNAL_DRAFT, JOURNAL).and_then(|()| site.state.sync());
    published.map_err(while_doing("publish the journal"))?;
    perform::perform(site)?;
    if landing.has_index {
        index::take(target, site)?;
    }
    if let Some(moved) = &landing.moved {
        reference::take(target.git(), site, moved)?;
    }
    let marked = create_own_file(&site.state, DONE).and_then(|_| site.state.sync());
    marked.map_err(while_doing("mark the promotion as done"))
}

/// Takes a Promotion that failed, or was killed, before its point of no return back to nothing.
pub(super) fn undo(site: &Site, home: &Dir) -> Result<(), ApplyError> {
    site.state.remove_file(DONE).map_err(while_doing("take back the mark of the promotion"))?;
    if site.state.stat(JOURNAL).map_err(while_doing("look for the journal"))?.is_some() {
        reference::give_back(site)?;
        index::give_back(site)?;
        perform::undo(site)?;
    }
    site.forget(home).map_err(while_doing("forget an undone promotion"))
}

/// Does what is left to do after the point of no return; doing it again changes nothing.
pub(super) fn complete(site: &Site) -> Result<(), ApplyError> {
    index::replace(site)?;
    reference::replace(site)?;
    perform::remove_emptied_directories(site)
}

/// Settles what a killed Promotion left: undone, or finished and handed back.
pub(super) fn settle(home: &Dir, repository: &GixRepository) -> Result<Option<(Unfinished, Site)>, RepositoryError> {
    let looking = "look for an interrupted promotion";
    if home.stat(STATE).map_err(|e| failure(looking, e))?.is_none() {
        return Ok(None);
    }
    let state = home.open_below(STATE).map_err(|e| failure(looking, e))?;
    if state.stat(JOURNAL).map_err(|e| failure(looking, e))?.is_none() {
        let cleared = clear(home, repository).map_err(|e| failure("remove what an interrupted promotion staged", e));
        return cleared.map(|()| None);
    }
    let site = reopen(home, &state, repository)?;
    let receipt = verified_receipt(&site).map_err(|e| failure("read the journal of an interrupted promotion", e))?;
    if state.stat(DONE).map_err(|e| failure(looking, e))?.is_none() {
        return undo(&site, home).map_err(while_settling).map(|()| None);
    }
    complete(&site).map_err(while_settling)?;
    Ok(Some((Unfinished { receipt }, site)))
}

/// Removes everything of a Promotion that has no journal.
pub(super) fn clear(home: &Dir, repository: &GixRepository) -> io::Result<()> {
    if home.stat(STATE)?.is_none() {
        return Ok(());
    }
    let Some(place) = Place::load(&home.open_below(STATE)?)? else { return site::clear(home, None) };
    let root = place.find_root(repository.root())?;
    site::clear(home, Some((&place, root.as_ref())))
}

fn reopen(home: &Dir, state: &Dir, repository: &GixRepository) -> Result<Site, RepositoryError> {
    let opening = "open an interrupted promotion";
    let place = Place::load(state).map_err(|e| failure(opening, e))?;
    let place = place.ok_or_else(|| failure(opening, "it does not say for which working tree it is"))?;
    let root = place.find_root(repository.root()).map_err(|e| failure(opening, e))?;
    let root = root.ok_or_else(|| gone(repository, &place))?;
    Site::reopen(home, repository.common_dir(), root, place).map_err(|e| failure(opening, e))
}

fn gone(repository: &GixRepository, place: &Place) -> RepositoryError {
    let was = Escaped::path(&place.root_path);
    let here = Escaped::path(repository.common_dir());
    RepositoryError::Refused {
        reason: format!("a promotion into {was} was interrupted, and that working tree is not there any more"),
        hint: Some(format!("bring it back, or remove {here}/isobox/promotion to forget that promotion")),
    }
}

/// Reads the whole journal, so that nothing is done by a damaged one.
fn verified_receipt(site: &Site) -> io::Result<Vec<u8>> {
    let mut journal = JournalReader::new(site.journal()?)?;
    journal.by_ref().try_for_each(|entry| entry.map(drop))?;
    Ok(journal.into_receipt())
}
