//! Performing a Promotion on the trusted repository, all or nothing.
//!
//! 1. Every change is looked at; contents are staged beside the Git directory and the journal is written and flushed.
//! 2. From here on a later start undoes: old files are moved into the stage, new ones out of it.
//!    Where an index or a reference changes, Git's own lock of it is taken, with what it is to hold.
//! 3. The marker `done` is the point of no return. From here on a later start finishes: index, reference, emptied directories.
//! 4. `finish` forgets the journal, once the caller has recorded the Promotion.

mod changed_tree;
mod commit;
mod commit_aside;
mod compare;
mod dir;
mod index;
mod journal;
mod kept;
mod paths;
mod perform;
mod permissions;
mod prepare;
mod reference;
mod result_commits;
mod settle;
mod site;
mod survey;
pub(crate) mod target;
mod three_way;
mod trouble;

use crate::repository::failure;
use crate::{GixRepository, oid};
use changed_tree::ChangedTree;
use dir::Dir;
use isobox_domain::change::ChangeLine;
use isobox_domain::git_oid::GitOid;
use isobox_ports::{
    Applied, ApplyError, ChangeLines, CommitText, Landing, MergeRequest, Merged, ObjectStore, Promotion,
    RepositoryError, Route, Unfinished,
};
use kept::Kept;
use nix::fcntl::{Flock, FlockArg};
use settle::Prepared;
use site::{HOME, LOCK, STATE, Site};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use target::Target;
use trouble::while_doing;

pub use result_commits::GixResultCommits;

impl GixRepository {
    /// Whether a Promotion into this repository is in progress, or was killed and is to be settled by
    /// `begin_promotion`. One look at the file system.
    pub fn has_unfinished_promotion(&self) -> bool {
        let state = [HOME, STATE].join(&b'/');
        self.common_dir().join(std::ffi::OsStr::from_bytes(&state)).symlink_metadata().is_ok()
    }
}

/// Takes the lock on `repository`, after settling what a killed Promotion left.
pub(crate) fn begin(repository: &GixRepository) -> Result<Box<dyn Promotion + '_>, RepositoryError> {
    let home = open_home(repository.common_dir())
        .map_err(|e| failure("open isobox's own directory in the Git directory", e))?;
    let lock = take_lock(repository, &home)?;
    let (unfinished, site) = match settle::settle(&home, repository)? {
        Some((unfinished, site)) => (Some(unfinished), Some(site)),
        None => (None, None),
    };
    Ok(Box::new(GixPromotion { repository, home, _lock: lock, unfinished, site }))
}

/// Opens isobox's own directory; root makes it for the owner of the repository.
fn open_home(common_dir: &Path) -> io::Result<Dir> {
    let common = Dir::open(common_dir)?;
    match permissions::make_own_dir(&common, HOME) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    common.open_below(HOME)
}

fn take_lock(repository: &GixRepository, home: &Dir) -> Result<Flock<File>, RepositoryError> {
    let operation = "lock the repository for a promotion";
    let file = home.open_lock(LOCK).map_err(|e| failure(operation, e))?;
    permissions::give_to_owner(home, LOCK).map_err(|e| failure(operation, e))?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| match error {
        nix::Error::EWOULDBLOCK => RepositoryError::Locked { host_path: repository.shown() },
        error => failure(operation, error),
    })
}

/// The lock on a repository.
struct GixPromotion<'a> {
    repository: &'a GixRepository,
    home: Dir,
    _lock: Flock<File>,
    unfinished: Option<Unfinished>,
    /// A Promotion past its point of no return, to be forgotten by `finish`.
    site: Option<Site>,
}

impl Promotion for GixPromotion<'_> {
    fn unfinished(&self) -> Option<&Unfinished> {
        self.unfinished.as_ref()
    }

    fn merge<'o>(
        &mut self,
        changes: ChangeLines<'_>,
        objects: &'o dyn ObjectStore,
        request: &MergeRequest<'_>,
    ) -> Result<Box<dyn Merged + 'o>, ApplyError> {
        let head = self.head()?;
        // What has to be written to convert by the attributes of the result is written nowhere.
        let git = self.repository.gix().with_object_memory();
        let merged = three_way::merge(&git, oid::to_gix(&head), changes, objects, request)?;
        Ok(Box::new(merged))
    }

    fn rehearse(&mut self, changes: ChangeLines<'_>, route: &Route) -> Result<Applied, ApplyError> {
        let git = self.repository.gix();
        if let Route::Branch { name, parent } = route {
            reference::check_free(&git, name)?;
            return commit::rehearse(&git, oid::to_gix(parent), changes).map(|paths| Applied { paths });
        }
        let target = self.target(&git)?;
        if *route != Route::Commit {
            return prepare::survey(&target, changes, |_, _| Ok(())).map(|paths| Applied { paths });
        }
        commit::check_identity(&git)?;
        let (tree, mut clash) = (ChangedTree::of(&git, oid::to_gix(&self.head()?))?, Ok(()));
        // What is in the files can be something else than what is in the commit that they are on.
        let watched = changes.inspect(|line| {
            if let (Ok(()), Ok(ChangeLine::Change(change))) = (&clash, line) {
                clash = tree.check(change);
            }
        });
        let paths = prepare::survey(&target, Box::new(watched), |_, _| Ok(()))?;
        clash.map(|()| Applied { paths })
    }

    fn commit(
        &mut self,
        changes: ChangeLines<'_>,
        objects: &dyn ObjectStore,
        route: &Route,
        text: &CommitText,
    ) -> Result<GitOid, ApplyError> {
        let git = self.repository.gix();
        let parent = match route {
            Route::Branch { parent, .. } => *parent,
            _ => self.head()?,
        };
        commit::make(&git, oid::to_gix(&parent), changes, objects, text)
    }

    fn apply(
        &mut self,
        changes: ChangeLines<'_>,
        objects: &dyn ObjectStore,
        landing: Landing<'_>,
        receipt: &[u8],
    ) -> Result<Applied, ApplyError> {
        let git = self.repository.gix();
        let prepared = self.prepared(&git, landing)?;
        self.perform(&git, changes, objects, &prepared, receipt)
    }

    fn last(&mut self) -> Result<Option<Vec<u8>>, ApplyError> {
        Ok(self.kept()?.map(|kept| kept.receipt))
    }

    fn take_back(&mut self, landing: Landing<'_>, receipt: &[u8]) -> Result<Applied, ApplyError> {
        let kept = self.kept()?.ok_or_else(|| {
            trouble::refused("nothing is kept of a promotion into this working tree", "use git to go back")
        })?;
        let git = self.repository.gix();
        let mut prepared = match (landing.route, landing.made) {
            (Route::Branch { name, .. }, Some(made)) => {
                let moved = reference::removal_of_branch(&git, name, made)?;
                Prepared { has_files: false, has_index: false, moved }
            }
            _ => self.prepared(&git, landing)?,
        };
        if let (Route::Commit, Some(moved)) = (landing.route, &mut prepared.moved) {
            let head = self.head()?;
            moved.log = commit::log_of(&git, &head, "isobox undo")?;
        }
        self.perform(&git, kept.lines(), &kept, &prepared, receipt)
    }

    fn finish(&mut self) -> Result<(), ApplyError> {
        if let Some(site) = self.site.take() {
            let kept = kept::keep(&self.home, &site).map_err(while_doing("keep what the promotion replaced"));
            kept.map_err(trouble::unsettled)?;
            let forgotten = site.forget(&self.home).map_err(while_doing("forget a finished promotion"));
            forgotten.map_err(trouble::unsettled)?;
        }
        self.unfinished = None;
        Ok(())
    }
}

impl GixPromotion<'_> {
    fn head(&self) -> Result<GitOid, ApplyError> {
        let head = self.repository.head();
        head.map(|(commit, _)| commit).map_err(|e| ApplyError::Io { operation: "read HEAD".into(), source: e.into() })
    }

    fn kept(&self) -> Result<Option<Kept>, ApplyError> {
        let root = Dir::open(self.repository.root()).map_err(while_doing("open the working tree"))?;
        Kept::load(&self.home, &root).map_err(while_doing("read what the last promotion replaced"))
    }

    fn perform(
        &mut self,
        git: &gix::Repository,
        changes: ChangeLines<'_>,
        objects: &dyn ObjectStore,
        prepared: &Prepared,
        receipt: &[u8],
    ) -> Result<Applied, ApplyError> {
        if self.site.is_some() {
            return Err(incomplete("an earlier promotion has not been finished"));
        }
        let target = self.target(git)?;
        let site = self.make_site(git)?;
        let prepare = match prepared.has_files {
            true => prepare::prepare(&target, &site, changes, objects, receipt),
            false => prepare::without_files(&site, changes, receipt),
        };
        let paths = prepare.inspect_err(|_| self.abandon())?;
        if let Err(error) = settle::perform(&site, prepared, &target) {
            settle::undo(&site, &self.home).map_err(trouble::unsettled)?;
            return Err(error);
        }
        settle::complete(&site).map_err(trouble::unsettled)?;
        self.site = Some(site);
        Ok(Applied { paths })
    }

    /// What is changed beside files.
    fn prepared(&self, git: &gix::Repository, landing: Landing<'_>) -> Result<Prepared, ApplyError> {
        let has_index = matches!(landing.route, Route::Index | Route::Commit);
        let mut moved = match (landing.route, landing.made) {
            (Route::Commit, Some(made)) => {
                let head = landing.head.ok_or_else(|| incomplete("it is not said where HEAD is"))?;
                Some(reference::of_head(git, head, made)?)
            }
            (Route::Branch { name, .. }, Some(made)) => {
                reference::check_free(git, name)?;
                Some(reference::of_branch(name, made))
            }
            (Route::Commit | Route::Branch { .. }, None) => return Err(incomplete("no commit was made for it")),
            (Route::Files | Route::Index, _) => None,
        };
        if let (Some(moved), Some(made)) = (&mut moved, landing.made) {
            moved.log = commit::log_of(git, made, "isobox promote")?;
        }
        let has_files = !matches!(landing.route, Route::Branch { .. });
        Ok(Prepared { has_files, has_index, moved })
    }

    fn target<'git>(&self, git: &'git gix::Repository) -> Result<Target<'git>, ApplyError> {
        Target::open(git, self.repository.root()).map_err(while_doing("open the working tree"))
    }

    fn make_site(&self, git: &gix::Repository) -> Result<Site, ApplyError> {
        let git_dir = git.git_dir().canonicalize().map_err(while_doing("find the Git directory"))?;
        let made = Site::create(&self.home, self.repository.common_dir(), &git_dir, self.repository.root());
        made.inspect_err(|_| self.abandon()).map_err(while_doing("begin a promotion beside the Git directory"))
    }

    /// Removes what was staged before there was a journal. What cannot be removed harms nobody: the next
    /// `begin_promotion` removes it, and the error that led here is the one to tell.
    fn abandon(&self) {
        settle::clear(&self.home, self.repository).ok();
    }
}

fn incomplete(why: &str) -> ApplyError {
    ApplyError::Io { operation: "begin a promotion".into(), source: why.into() }
}

#[cfg(test)]
mod tests;
