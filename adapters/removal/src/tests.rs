use super::*;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::cell::Cell;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use tempfile::TempDir;

/// A directory to be removed beside one that has to stay.
struct Site(TempDir);

impl Site {
    fn new() -> Self {
        let site = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(site.outside().join("deep")).unwrap();
        fs::write(site.outside().join("file"), "kept").unwrap();
        fs::write(site.outside().join("deep/file"), "kept").unwrap();
        fs::create_dir(site.left()).unwrap();
        site
    }

    fn outside(&self) -> PathBuf {
        self.0.path().join("outside")
    }

    fn left(&self) -> PathBuf {
        self.0.path().join("left")
    }

    fn close(&self, path: &str) {
        fs::set_permissions(self.left().join(path), Permissions::from_mode(0o000)).unwrap();
    }

    fn assert_outside_is_whole(&self) {
        for file in ["file", "deep/file"] {
            assert_eq!(fs::read_to_string(self.outside().join(file)).unwrap(), "kept");
        }
    }

    fn is_gone(&self) -> bool {
        fs::symlink_metadata(self.left()).is_err()
    }
}

#[test]
fn what_is_closed_goes_and_what_links_lead_to_stays() {
    let site = Site::new();
    fs::create_dir_all(site.left().join("a/b/c")).unwrap();
    // Named as what is moved up.
    fs::create_dir_all(site.left().join(format!("moved-{}-0/x", std::process::id()))).unwrap();
    fs::write(site.left().join("a/b/file"), "x").unwrap();
    symlink(site.outside(), site.left().join("a/link")).unwrap();
    symlink(site.outside().join("file"), site.left().join("a/b/link")).unwrap();
    ["a/b/c", "a/b/file", "a/b", "a", ""].into_iter().for_each(|path| site.close(path));
    remove(&site.left()).unwrap();
    assert!(site.is_gone());
    site.assert_outside_is_whole();
    remove(&site.left()).unwrap();
    remove(&site.left().join("not/there")).unwrap();
}

#[test]
fn what_is_deeper_than_paths_and_open_files_go_is_removed() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most.min(256), most).unwrap();
    let site = Site::new();
    let deep = "directory/".repeat(300);
    for part in 0..5 {
        let next = site.left().join(format!("part-{part}"));
        fs::create_dir_all(next.join(&deep)).unwrap();
        if part > 0 {
            let before = site.left().join(format!("part-{}", part - 1));
            fs::rename(before, next.join(&deep).join("more")).unwrap();
        }
    }
    empty(&site.left()).unwrap();
    assert_eq!(fs::read_dir(site.left()).unwrap().count(), 0);
    remove(&site.left()).unwrap();
    assert!(site.is_gone());
}

#[test]
fn a_link_that_takes_the_place_of_a_directory_meanwhile_is_removed_and_not_followed() {
    let mut step = 0;
    loop {
        let site = Site::new();
        for path in ["a/deep", "b/deep"] {
            fs::create_dir_all(site.left().join(path)).unwrap();
            fs::write(site.left().join(path).join("file"), "x").unwrap();
        }
        let (now, aside) = (Cell::new(0), site.0.path().join("aside"));
        let swap = || {
            if now.replace(now.get() + 1) == step {
                for path in ["a", "b/deep"] {
                    // What is gone already cannot be swapped.
                    if fs::rename(site.left().join(path), aside.join(path.replace('/', "-"))).is_ok() {
                        symlink(site.outside(), site.left().join(path))?;
                    }
                }
            }
            Ok(())
        };
        fs::create_dir(&aside).unwrap();
        // It may say that something is not what it was; whoever removes it once more gets through.
        if remove_stepwise(&site.left(), &swap).is_err() {
            remove(&site.left()).unwrap();
        }
        assert!(site.is_gone(), "step {step}");
        site.assert_outside_is_whole();
        if now.get() <= step {
            return;
        }
        step += 1;
    }
}
