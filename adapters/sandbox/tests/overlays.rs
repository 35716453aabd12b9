//! A workload in an overlay sees one directory, changes none of the lower ones, and leaves no mount.
//!
//! The program of this test is its own workload where a shell has no command for what is tried.
#![allow(unsafe_code, reason = "an attack makes system calls that no safe interface has")]

#[path = "overlays/killed.rs"]
mod killed;
#[path = "overlays/memory.rs"]
mod memory;
#[path = "overlays/refused.rs"]
mod refused;
mod stand;

use isobox_domain::policy::WorkspaceExposure;
use isobox_ports::contract::host_probe::listing;
use isobox_ports::{OverlayKind, RuntimeBackend, WorkspaceMount};
use isobox_sandbox::BubblewrapBackend;
use libtest_mimic::{Arguments, Failed, Trial};
use stand::{SELF_INSIDE, Stand};
use std::ffi::CString;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Case = fn(&mut Stand<'_>) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("what_lies_below_is_seen_and_what_is_written_goes_above", what_lies_below_is_seen_and_what_is_written_goes_above),
    ("the_uppermost_of_many_lowers_is_seen", the_uppermost_of_many_lowers_is_seen),
    ("no_lower_can_be_changed", no_lower_can_be_changed),
    ("neither_upper_nor_work_nor_lowers_are_in_sight", neither_upper_nor_work_nor_lowers_are_in_sight),
    ("no_mark_can_be_forged", no_mark_can_be_forged),
    ("a_directory_from_below_is_moved_by_copying", a_directory_from_below_is_moved_by_copying),
    ("paths_may_hold_what_mount_takes_for_syntax", paths_may_hold_what_mount_takes_for_syntax),
    ("a_read_only_overlay_cannot_be_written", a_read_only_overlay_cannot_be_written),
    ("the_same_overlay_can_be_launched_again", the_same_overlay_can_be_launched_again),
    ("another_launch_does_not_see_the_mount", another_launch_does_not_see_the_mount),
    ("what_cannot_be_mounted_refuses_the_launch", refused::what_cannot_be_mounted_refuses_the_launch),
    ("what_was_written_in_memory_is_read_afterwards", memory::what_was_written_in_memory_is_read_afterwards),
    ("memory_holds_as_many_bytes_as_it_was_given", memory::memory_holds_as_many_bytes_as_it_was_given),
    ("memory_holds_as_many_files_as_it_was_given", memory::memory_holds_as_many_files_as_it_was_given),
    ("a_killed_supervisor_leaves_no_mount", killed::a_killed_supervisor_leaves_no_mount),
    ("a_killed_program_leaves_no_mount", killed::a_killed_program_leaves_no_mount),
];

fn main() {
    isobox_sandbox::stage::enter_if_asked();
    let words: Vec<String> = std::env::args().collect();
    match words.get(1).map(String::as_str) {
        Some("set-attribute") => set_attribute(&words[2], &words[3], &words[4]),
        Some("supervise") => killed::supervise(&words[2], Path::new(&words[3])).expect("a sandbox comes up"),
        Some("rename") => report(fs::rename(&words[2], &words[3])),
        _ => run_cases(),
    }
}

fn run_cases() {
    let arguments = Arguments::from_args();
    let backend = Arc::new(BubblewrapBackend::new());
    let found = backend.overlay(Some(&std::env::temp_dir()));
    let mut trials = vec![
        Trial::test("host::an_overlay_is_refused", refused::refused_by_host),
        Trial::test("a_refusal_and_a_kind_are_remembered", refused::remembered),
    ];
    for kind in [OverlayKind::Privileged, OverlayKind::Unprivileged] {
        // Who may mount may do without, too.
        let obstacle = match &found {
            Ok(OverlayKind::Unprivileged) if kind == OverlayKind::Privileged => {
                Some("this user may not mount".to_owned())
            }
            Ok(_) => None,
            Err(reason) => Some(reason.clone()),
        };
        trials.extend(CASES.iter().map(|case| trial(&backend, kind, *case, obstacle.as_deref())));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn trial(
    backend: &Arc<BubblewrapBackend>,
    kind: OverlayKind,
    (name, case): (&str, Case),
    obstacle: Option<&str>,
) -> Trial {
    let prefix = match kind {
        OverlayKind::Privileged => "privileged",
        OverlayKind::Unprivileged => "unprivileged",
    };
    let backend = Arc::clone(backend);
    match obstacle {
        None => Trial::test(format!("{prefix}::{name}"), move || {
            // Of this thread, which is the one that goes into another mount namespace, and of the process.
            let mounts = || ["/proc/thread-self/mountinfo", "/proc/self/mountinfo"].map(fs::read_to_string);
            let before = mounts().map(Result::unwrap);
            case(&mut Stand::on_overlay(&*backend, kind, None)?)?;
            assert_eq!(mounts().map(Result::unwrap), before);
            Ok(())
        }),
        Some(reason) => Trial::test(format!("{prefix}::{name} ({reason})"), || Ok(())).with_ignored_flag(true),
    }
}

// ---- inside ----

fn report(result: std::io::Result<()>) {
    let word = result.map_or_else(|error| error.raw_os_error().unwrap_or(-1).to_string(), |()| "ok".to_owned());
    print(&word);
}

fn print(word: &str) {
    use std::io::Write;
    std::io::stdout().write_all(word.as_bytes()).expect("standard output is open");
}

fn set_attribute(path: &str, name: &str, value: &str) {
    let [path, name] = [path, name].map(|word| CString::new(word).expect("a word without NUL"));
    // SAFETY: both strings end with a NUL, and the kernel reads as many bytes of `value` as it has.
    let result = unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
    report(if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) });
}

// ---- outside ----

/// Puts a file, a program and a directory with a file into the lower directory.
fn fill(stand: &Stand<'_>) -> Result<PathBuf, Failed> {
    let lower = stand.overlay().lowers[0].clone();
    fs::create_dir(lower.join("directory"))?;
    for (name, mode) in [("file", 0o644), ("program", 0o755), ("directory/file", 0o644)] {
        fs::write(lower.join(name), "below\n")?;
        fs::set_permissions(lower.join(name), fs::Permissions::from_mode(mode))?;
    }
    Ok(lower)
}

fn answer(stand: &Stand<'_>, words: &[&str]) -> Result<String, Failed> {
    Ok(stand.run(&[&[SELF_INSIDE], words].concat())?.1.text())
}

fn what_lies_below_is_seen_and_what_is_written_goes_above(stand: &mut Stand<'_>) -> Result<(), Failed> {
    fill(stand)?;
    let seen = stand.shell("cat file directory/file && echo above > file && rm directory/file && echo new > new")?;
    assert_eq!(seen, "below\nbelow\n");
    let upper = stand.overlay().upper();
    assert_eq!(fs::read_to_string(upper.join("file"))?, "above\n");
    assert_eq!(fs::read_to_string(upper.join("new"))?, "new\n");
    let mark = upper.join("directory/file").symlink_metadata()?;
    assert!(mark.file_type().is_char_device() && mark.rdev() == 0);
    assert!(!upper.join("program").exists());
    Ok(())
}

fn the_uppermost_of_many_lowers_is_seen(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let mut overlay = stand.overlay().clone();
    for number in 0..62 {
        let lower = stand.host_path().join(format!("lower-{number}-{}", "x".repeat(200)));
        fs::create_dir(&lower)?;
        fs::write(lower.join("file"), format!("{number}\n"))?;
        fs::write(lower.join(number.to_string()), "")?;
        overlay.lowers.insert(0, lower);
    }
    stand.mount = WorkspaceMount::Overlay(overlay);
    assert_eq!(stand.shell("cat file; ls | wc -l")?, "61\n63\n");
    Ok(())
}

fn no_lower_can_be_changed(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let lower = fill(stand)?;
    let before = listing(&lower);
    let script = "for file in file directory/file program; do \
            exec 4< $file 3<> $file; echo x >&3; echo x >> /proc/self/fd/4; exec 3>&- 4>&-; echo x >> $file; chmod 777 $file; touch -d @1 $file; \
            ln $file $file-link && echo x >> $file-link; : > $file; \
            dd if=/dev/zero of=$file bs=1 count=1 conv=notrunc 2> /dev/null; truncate -s 9 $file; done; \
        chmod 777 . directory; touch directory; mv directory moved; rm -rf moved file; mkdir file; ln -s program link; \
        echo x > link; rm -rf ./* .[!.]*; ls -A";
    assert_eq!(stand.shell(script)?, "");
    assert_eq!(listing(&lower), before);
    assert_eq!(fs::read_to_string(lower.join("program"))?, "below\n");
    Ok(())
}

fn neither_upper_nor_work_nor_lowers_are_in_sight(stand: &mut Stand<'_>) -> Result<(), Failed> {
    fill(stand)?;
    let host_path = stand.host_path().display().to_string();
    assert_eq!(stand.shell("ls -A /workspace; ls -A /workspace/..")?.lines().next(), Some("directory"));
    let script = format!("ls -d {host_path} upper work ../upper ../work ../place 2> /dev/null; true");
    assert_eq!(stand.shell(&script)?, "");
    let mounts = stand.shell("grep ' /workspace ' /proc/self/mountinfo; grep -c ' - overlay ' /proc/self/mountinfo")?;
    assert!(mounts.ends_with("\n1\n") && mounts.contains("nosuid,nodev") && !mounts.contains(&host_path), "{mounts}");
    let script = "umount /workspace || umount -l /workspace || mount -o remount,rw /workspace || \
        mount -t tmpfs none /workspace || echo refused";
    assert_eq!(stand.run(&["sh", "-c", &format!("({script}) 2> /dev/null")])?.1.text(), "refused\n");
    Ok(())
}

fn no_mark_can_be_forged(stand: &mut Stand<'_>) -> Result<(), Failed> {
    fill(stand)?;
    assert_eq!(
        stand.shell("mknod hidden c 0 0 2> /dev/null || echo refused; mkdir made; ls")?.lines().next(),
        Some("refused")
    );
    for prefix in ["trusted", "user"] {
        for (file, name, value) in [
            ("directory", "opaque", "y"),
            ("directory", "opaque", "x"),
            ("directory", "redirect", "/made"),
            ("file", "metacopy", ""),
            ("file", "whiteout", "y"),
            ("file", "redirect", "/program"),
        ] {
            let name = format!("{prefix}.overlay.{name}");
            let said = answer(stand, &["set-attribute", &format!("/workspace/{file}"), &name, value])?;
            assert!(prefix == "user" || said != "ok", "{name} of {file}: {said}");
        }
    }
    // Whatever of that was kept means nothing, in this launch and in the next.
    assert_eq!(
        stand.shell("ls; ls directory; cat file directory/file")?,
        "directory\nfile\nmade\nprogram\nfile\nbelow\nbelow\n"
    );
    Ok(())
}

fn a_directory_from_below_is_moved_by_copying(stand: &mut Stand<'_>) -> Result<(), Failed> {
    fill(stand)?;
    assert_eq!(answer(stand, &["rename", "directory", "other"])?, libc::EXDEV.to_string());
    assert_eq!(stand.shell("mv directory other && cat other/file && ls")?, "below\nfile\nother\nprogram\n");
    Ok(())
}

fn paths_may_hold_what_mount_takes_for_syntax(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let lower = fill(stand)?;
    let mut overlay = stand.overlay().clone();
    let odd = |name: &str| stand.host_path().join(format!("{name}:a,b\\c\\:d=e\n\"'"));
    fs::rename(lower, odd("lower"))?;
    fs::rename(&overlay.place, odd("place"))?;
    (overlay.lowers, overlay.place) = (vec![odd("lower")], odd("place"));
    stand.mount = WorkspaceMount::Overlay(overlay);
    assert_eq!(stand.shell("cat file; echo above > file")?, "below\n");
    assert_eq!(fs::read_to_string(stand.overlay().upper().join("file"))?, "above\n");
    Ok(())
}

fn a_read_only_overlay_cannot_be_written(stand: &mut Stand<'_>) -> Result<(), Failed> {
    fill(stand)?;
    stand.policy.workspace = WorkspaceExposure::ReadOnly;
    assert_eq!(
        stand.shell("cat file; (echo x > file) 2> /dev/null || touch new 2> /dev/null || echo no")?,
        "below\nno\n"
    );
    assert_eq!(fs::read_dir(stand.overlay().upper())?.count(), 0);
    Ok(())
}

fn the_same_overlay_can_be_launched_again(stand: &mut Stand<'_>) -> Result<(), Failed> {
    fill(stand)?;
    for round in ["1", "2", "3"] {
        assert_eq!(stand.shell(&format!("echo {round} >> file; tail -n 1 file"))?, format!("{round}\n"));
    }
    assert_eq!(fs::read_to_string(stand.overlay().upper().join("file"))?, "below\n1\n2\n3\n");
    Ok(())
}

fn another_launch_does_not_see_the_mount(stand: &mut Stand<'_>) -> Result<(), Failed> {
    fill(stand)?;
    let place = stand.overlay().place.clone();
    let running = stand.launch(&["sleep", "1000"])?;
    assert_eq!(fs::read_dir(&place)?.count(), 2);
    let overlay = std::mem::replace(&mut stand.mount, WorkspaceMount::Directory { host_path: place.clone() });
    assert_eq!(stand.shell("ls; grep -c ' - overlay ' /proc/self/mountinfo")?, "upper\nwork\n0\n");
    stand.mount = overlay;
    drop(running);
    assert_eq!(mounted_by(&place), Vec::<String>::new());
    Ok(())
}

/// Processes in whose mount namespace something is mounted at `place`, among those that can be looked at.
fn mounted_by(place: &Path) -> Vec<String> {
    let place = format!(" {} ", place.display());
    let processes = fs::read_dir("/proc").expect("there is a /proc").flatten();
    let holds = |process: &fs::DirEntry| {
        fs::read_to_string(process.path().join("mountinfo")).is_ok_and(|mounts| mounts.contains(&place))
    };
    processes.filter(holds).map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}
