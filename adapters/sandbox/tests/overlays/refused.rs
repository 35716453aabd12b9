//! What is refused, and what is remembered of it.

use crate::stand::Stand;
use isobox_ports::{LaunchError, OverlayKind, RuntimeBackend};
use isobox_sandbox::{BubblewrapBackend, HostBackend};
use libtest_mimic::Failed;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub(crate) fn what_cannot_be_mounted_refuses_the_launch(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let whole = stand.overlay().clone();
    let cache = tempfile::TempDir::new()?;
    let backend = BubblewrapBackend::remembering(cache.path());
    backend.overlay(Some(&std::env::temp_dir()))?;
    for (missing, is_file) in [(&whole.lowers[0], false), (&whole.upper(), false), (&whole.work(), true)] {
        let aside = stand.host_path().join("aside");
        fs::rename(missing, &aside)?;
        if is_file {
            fs::write(missing, "")?;
        }
        assert!(is_remembered(cache.path()) || missing != &whole.lowers[0]);
        let mut on_overlay = Stand::new(&backend)?;
        on_overlay.mount = stand.mount.clone();
        let launched = on_overlay.launch(&["true"]).map(drop);
        let Err(LaunchError::Refused { reason, .. }) = launched else { return Err(format!("{launched:?}").into()) };
        assert!(reason.contains(&missing.display().to_string()), "{reason}");
        assert!(!is_remembered(cache.path()), "it is still believed that overlays can be mounted");
        fs::remove_file(missing).ok();
        fs::rename(&aside, missing)?;
    }
    Ok(())
}

/// Whether it is believed that overlays can be mounted.
fn is_remembered(cache: &Path) -> bool {
    let mut names = fs::read_dir(cache).into_iter().flatten().flatten().map(|file| file.file_name());
    names.any(|name| name.to_string_lossy().starts_with("overlays"))
}

pub(crate) fn refused_by_host() -> Result<(), Failed> {
    let backend = HostBackend::new();
    let stand = Stand::on_overlay(&backend, OverlayKind::Unprivileged, None)?;
    let launched = stand.launch(&["true"]).map(drop);
    assert!(matches!(&launched, Err(LaunchError::Refused { .. })), "{launched:?}");
    assert!(backend.overlay(None).is_err());
    Ok(())
}

/// What was found is not tried again, and a directory in which nothing can be made is refused.
pub(crate) fn remembered() -> Result<(), Failed> {
    let (cache, at) = (tempfile::TempDir::new()?, tempfile::TempDir::new()?);
    let first = BubblewrapBackend::remembering(cache.path()).overlay(Some(at.path()));
    let tried = at.path().metadata()?.mtime_nsec();
    assert_eq!(fs::read_dir(at.path())?.count(), 0);
    assert_eq!(BubblewrapBackend::remembering(cache.path()).overlay(Some(at.path())), first);
    assert_eq!(at.path().metadata()?.mtime_nsec(), tried);
    let in_memory = BubblewrapBackend::remembering(cache.path()).overlay(None);
    assert!(in_memory.is_ok() || first.is_err(), "{in_memory:?}");
    let kept =
        fs::read_dir(cache.path())?.flatten().filter(|file| file.file_name().to_string_lossy().contains("overlays"));
    assert_eq!(kept.count(), 2);
    let other = tempfile::TempDir::new()?;
    let made = other.path().join("a/b");
    assert_eq!(BubblewrapBackend::remembering(cache.path()).overlay(Some(&made)).is_ok(), first.is_ok());
    assert_eq!(made.metadata()?.mode() & 0o777, 0o700);
    let nowhere = BubblewrapBackend::new().overlay(Some(Path::new("/proc/nowhere")));
    assert!(nowhere.as_ref().is_err_and(|reason| reason.contains("/proc/nowhere")), "{nowhere:?}");
    Ok(())
}
