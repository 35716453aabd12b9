//! Caches that are damaged, full, read-only or open to others.

use crate::as_root;
use crate::fixture::{commit, git, trial};
use crate::scene::{Scene, mounted, overlay, own_mounts};
use isobox_git::FsWorkspaceCache;
use isobox_ports::WorkspaceCache;
use isobox_ports::fake::RecordingSink;
use isobox_ports::{NotNow, Workspace, WorkspaceError, WorkspaceMount, Workspaces};
use libtest_mimic::Trial;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_damaged_copy_is_made_anew", damaged_is_made_anew),
        trial("a_copy_that_was_cut_off_by_a_loss_of_power_is_made_anew", loss_of_power),
        trial("what_a_look_at_every_file_finds_is_made_anew", verified),
        trial("what_is_damaged_stays_so_when_another_copy_on_it_is_found_damaged", stays_damaged),
        as_root("what_is_found_damaged_on_a_full_disk_is_made_anew_later", damaged_on_full_disk),
        trial("a_damaged_object_makes_no_copy", damaged_object),
        trial("a_lock_that_is_no_file_is_refused_and_neither_followed_nor_waited_for", lock_is_no_file),
        trial("a_note_of_the_start_that_is_no_file_is_replaced", boot_is_no_file),
        trial("capture_can_be_tried_again_when_the_cache_is_back", capture_waits_for_the_cache),
        trial("what_is_removed_or_spoilt_below_a_workspace_is_made_anew_to_capture_and_to_keep_it", gone_below),
        trial("a_cache_that_others_can_write_to_is_not_used", open_to_others),
        as_root("on_a_full_disk_the_workspace_is_a_copy_and_nothing_is_left", full_disk),
        as_root("a_read_only_cache_serves_what_is_in_it", read_only),
        trial("a_source_that_is_packed_and_pruned_meanwhile_makes_whole_copies", packed_meanwhile),
        as_root("a_cache_in_memory_or_on_an_overlay_serves_as_one_on_a_disk", other_file_systems),
    ]
}

fn damaged_is_made_anew() {
    let scene = Scene::new();
    let damages: [fn(&Path); 6] = [
        |copy| fs::write(copy.join("seal"), "nonsense").expect("it is written"),
        |copy| fs::remove_file(copy.join("seal")).expect("it is removed"),
        |copy| fs::remove_dir_all(copy.join("tree")).expect("it is removed"),
        |copy| fs::remove_dir_all(copy.join("tree/.git")).expect("it is removed"),
        |copy| fs::remove_file(copy.join("tree/src/two")).expect("it is removed"),
        |copy| fs::write(copy.join("tree/README.md"), "A LINE\n").expect("it is written"),
    ];
    for (number, damage) in damages.iter().enumerate() {
        let tree = scene.tree();
        let seal = || fs::read(tree.with_file_name("seal")).expect("it is read");
        let before = seal();
        damage(tree.parent().expect("it has a parent"));
        assert_eq!(scene.tree(), tree);
        assert_ne!(seal(), before, "damage {number} was not seen");
        assert_eq!(git(&tree, ["status", "--porcelain"]), "");
        assert_eq!(scene.cached().len(), 1);
    }
}

/// More files than are looked at in each use: what is wrong with one shows only when all are looked at.
fn loss_of_power() {
    let scene = Scene::new();
    for number in 0..300 {
        fs::write(scene.app.join(format!("src/f{number}")), "x\n").expect("a file is written");
    }
    commit(&scene.app);
    let cut_off = |path: &Path| {
        let length = path.metadata().expect("it is there").len();
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).expect("its mode is set");
        fs::File::options().write(true).open(path).and_then(|file| file.set_len(length / 2)).expect("it is cut off");
    };
    let tree = scene.tree();
    let copy = tree.parent().expect("it has a parent");
    let seal = || fs::read(copy.join("seal")).expect("it is read");
    for number in 0..10 {
        let damaged = match number {
            0 => tree.join("src/f299"),
            1 => tree.join(".git/index"),
            2 => copy.join("stat-cache"),
            3 => copy.join("base"),
            4 => pack(&tree, "pack"),
            5 => pack(&tree, "idx"),
            _ => tree.join(".git").join(["HEAD", "config", "packed-refs", "shallow"][number - 6]),
        };
        let before = seal();
        fs::write(copy.join("boot"), "another start of the machine\n").expect("it is written");
        assert_eq!((scene.tree(), seal() == before), (tree.clone(), true), "nothing is wrong yet");
        cut_off(&damaged);
        fs::write(copy.join("boot"), "another start of the machine\n").expect("it is written");
        assert_eq!((scene.tree(), seal() == before), (tree.clone(), false), "{}", damaged.display());
        assert_eq!(git(&tree, ["status", "--porcelain"]), "");
    }
}

/// Of what no use looks at.
fn verified() {
    for is_pack in [true, false] {
        let scene = Scene::new();
        for number in 0..300 {
            fs::write(scene.app.join(format!("src/f{number}")), "x\n").expect("a file is written");
        }
        commit(&scene.app);
        let lower = scene.tree();
        fs::write(scene.app.join("src/f0"), "y\n").expect("a file is written");
        commit(&scene.app);
        let upper = scene.tree();
        assert_eq!(scene.layers(), 2);
        let cache = FsWorkspaceCache::new(scene.cache());
        let sound = || -> Vec<bool> {
            cache.verify().expect("it is looked at").iter().map(|copy| copy.seal.is_some()).collect()
        };
        let seal = || fs::read(upper.with_file_name("seal")).expect("it is read");
        let before = seal();
        assert_eq!(sound(), [true, true]);
        spoil(&if is_pack { pack(&lower, "pack") } else { lower.join("src/f1") });
        assert_eq!(sound(), [false, false]);
        assert!(cache.list().expect("it is looked at").iter().all(|copy| copy.seal.is_none()));
        assert_eq!(scene.tree(), upper);
        assert_ne!(seal(), before, "it was made anew");
        assert_eq!(scene.layers(), 1, "and on nothing that is damaged");
        assert_eq!(git(&upper, ["status", "--porcelain"]), "");
        git(&upper, ["fsck", "--strict"]);
    }
}

/// A damaged pack shows only where all is read: what was found once must not be forgotten.
fn stays_damaged() {
    let scene = Scene::new();
    let lower = scene.tree();
    spoil(&pack(&lower, "pack"));
    let cache = FsWorkspaceCache::new(scene.cache());
    let is_sound = |name: &str| {
        let copies = cache.list().expect("it is looked at");
        copies.iter().find(|copy| copy.name.ends_with(name)).expect("it is listed").seal.is_some()
    };
    let name = |tree: &Path| tree.parent().and_then(Path::file_name).expect("a name").display().to_string();
    // Copies are looked at in the order of their names: the lower one is to come first.
    let mut upper = lower.clone();
    for number in 0.. {
        if name(&upper) > name(&lower) {
            break;
        }
        git(&scene.app, ["checkout", "--quiet", "--detach", "main"]);
        fs::write(scene.app.join("src/two"), format!("changed {number}\n")).expect("a file is written");
        commit(&scene.app);
        upper = scene.tree();
    }
    assert_eq!((scene.layers(), is_sound(&name(&lower)), is_sound(&name(&upper))), (2, true, true));
    assert!(cache.verify().expect("it is looked at").iter().all(|copy| copy.seal.is_none()));
    assert_eq!((is_sound(&name(&lower)), is_sound(&name(&upper))), (false, false));
    git(&scene.app, ["checkout", "--quiet", "main"]);
    git(&scene.tree(), ["fsck", "--strict"]);
}

fn damaged_on_full_disk() {
    let scene = Scene::new();
    fs::create_dir_all(scene.cache()).expect("a directory is made");
    own_mounts();
    let small = Some("size=2m,mode=0700");
    mount(Some("tmpfs"), &scene.cache(), Some("tmpfs"), MsFlags::empty(), small).expect("it is mounted");
    let tree = scene.tree();
    spoil(&pack(&tree, "pack"));
    let filler = scene.cache().join("filler");
    fs::write(&filler, vec![0; 4 << 20]).expect_err("the disk is full");
    let cache = FsWorkspaceCache::new(scene.cache());
    assert!(cache.verify().expect("it is looked at").iter().all(|copy| copy.seal.is_none()));
    fs::remove_file(&filler).expect("it is removed");
    assert!(cache.list().expect("it is looked at").iter().all(|copy| copy.seal.is_none()), "it was forgotten");
    git(&scene.tree(), ["fsck", "--strict"]);
}

fn pack(tree: &Path, extension: &str) -> PathBuf {
    let packs = fs::read_dir(tree.join(".git/objects/pack")).expect("it is read");
    let mut packs = packs.map(|entry| entry.expect("a name").path());
    packs.find(|path| path.extension().is_some_and(|found| found == extension)).expect("it is there")
}

/// Changes a byte in the middle.
fn spoil(path: &Path) {
    let mut bytes = fs::read(path).expect("it is read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).expect("its mode is set");
    fs::write(path, bytes).expect("it is written");
}

fn damaged_object() {
    let scene = Scene::new();
    let [good, bad] = ["README.md", "src/two"].map(|path| {
        let oid = git(&scene.app, ["rev-parse", &format!("HEAD:{path}")]);
        scene.app.join(".git/objects").join(&oid[..2]).join(&oid[2..])
    });
    let bytes = fs::read(good).expect("it is read");
    fs::remove_file(&bad).expect("it is removed");
    fs::write(&bad, bytes).expect("it is written");
    let found = scene.create(&scene.workspaces());
    is_copy(&found, "is damaged: its bytes are");
    assert_eq!(scene.cached().len(), 0);
}

/// Something that is no file, and must not be taken for one.
#[derive(Clone, Copy)]
enum Other {
    Link,
    Pipe,
}

impl Other {
    fn make(self, at: &Path, target: &Path) {
        match self {
            Self::Link => symlink(target, at).expect("a link is made"),
            Self::Pipe => nix::unistd::mkfifo(at, nix::sys::stat::Mode::S_IRWXU).expect("a pipe is made"),
        }
    }
}

fn lock_is_no_file() {
    let scene = Scene::new();
    let victim = scene.place.join("victim");
    fs::write(&victim, "kept").expect("a file is written");
    for other in [Other::Link, Other::Pipe] {
        let tree = scene.tree();
        let lock = tree.parent().and_then(Path::parent).expect("it has one").join("lock");
        fs::remove_file(&lock).expect("it is removed");
        other.make(&lock, &victim);
        git(&scene.app, ["commit", "--quiet", "--allow-empty", "-m", "next"]);
        is_copy(&scene.create(&scene.workspaces()), "is no regular file: remove it");
        assert_eq!(fs::read(&victim).expect("it is read"), b"kept");
        fs::remove_file(&lock).expect("it is removed");
        assert_ne!(scene.tree(), tree);
    }
}

fn boot_is_no_file() {
    let scene = Scene::new();
    let victim = scene.place.join("victim");
    fs::write(&victim, "kept").expect("a file is written");
    let tree = scene.tree();
    let boot = tree.with_file_name("boot");
    let noted = fs::read(&boot).expect("it is read");
    for other in [Other::Link, Other::Pipe] {
        fs::remove_file(&boot).expect("it is removed");
        other.make(&boot, &victim);
        let before = fs::read(tree.with_file_name("seal")).expect("it is read");
        assert_eq!(scene.tree(), tree);
        assert_eq!(fs::read(tree.with_file_name("seal")).expect("it is read"), before, "it is the same copy");
        assert!(boot.symlink_metadata().expect("it is there").is_file());
        assert_eq!(fs::read(&boot).expect("it is read"), noted);
        assert_eq!(fs::read(&victim).expect("it is read"), b"kept");
    }
}

fn capture_waits_for_the_cache() {
    let scene = Scene::new();
    let workspaces = scene.workspaces();
    let workspace = scene.create(&workspaces);
    fs::write(overlay(&workspace).upper().join("README.md"), "another line\n").expect("a file is written");
    drop(workspaces);
    let capture = || {
        let mut sink = RecordingSink::default();
        scene.workspaces().capture(&workspace.state, &workspace.mount, &mut sink).map(|()| sink.lines.len())
    };
    // What was made is looked at in the background, which may note that meanwhile.
    while fs::remove_dir_all(scene.cache()).is_err_and(|error| error.kind() == std::io::ErrorKind::DirectoryNotEmpty) {}
    fs::write(scene.cache(), "no directory").expect("a file is written");
    let WorkspaceError::Io { source, .. } = capture().expect_err("nothing to compare with") else {
        panic!("another failure")
    };
    assert!(source.is::<NotNow>(), "{source}");
    fs::remove_file(scene.cache()).expect("it is removed");
    assert_eq!(capture().expect("it is captured"), 1);
}

/// By the very process that uses it, which has seen it whole.
fn gone_below() {
    let damages: [fn(&Path); 4] = [
        |copy| fs::remove_dir_all(copy).expect("it is removed"),
        |copy| fs::remove_file(copy.join("stat-cache")).expect("it is removed"),
        |copy| fs::write(copy.join("base"), "nonsense").expect("it is written"),
        |copy| fs::rename(copy, copy.with_file_name(".gone-0")).expect("it is renamed"),
    ];
    for (number, damage) in damages.iter().enumerate() {
        let scene = Scene::new();
        let workspaces = scene.workspaces();
        let workspace = scene.create(&workspaces);
        let upper = overlay(&workspace).upper();
        fs::write(upper.join("README.md"), "another line\n").expect("a file is written");
        fs::write(upper.join("new"), "new\n").expect("a file is written");
        damage(overlay(&workspace).lowers[0].parent().expect("it has a parent"));
        let mut sink = RecordingSink::default();
        workspaces.capture(&workspace.state, &workspace.mount, &mut sink).expect("it is captured");
        assert_eq!(sink.lines.len(), 2, "damage {number}");
        damage(overlay(&workspace).lowers[0].parent().expect("it has a parent"));
        let kept = workspaces.retain(&workspace.state).expect("it is retained");
        assert_eq!(fs::read(kept.join("README.md")).expect("it is read"), b"another line\n");
        assert_eq!(git(&kept, ["status", "--porcelain"]), " M README.md\n?? new");
    }
}

fn open_to_others() {
    let scene = Scene::new();
    let tree = scene.tree();
    fs::set_permissions(scene.cache(), fs::Permissions::from_mode(0o777)).expect("its mode is set");
    is_copy(&scene.create(&scene.workspaces()), "it is not a private directory of this user");
    fs::set_permissions(scene.cache(), fs::Permissions::from_mode(0o700)).expect("its mode is set");
    assert_eq!(scene.tree(), tree);
}

/// The Workspace is whole all the same, and says why it is no overlay.
fn is_copy(workspace: &Workspace, why: &str) {
    let WorkspaceMount::Directory { host_path } = &workspace.mount else { panic!("it is an overlay") };
    assert!(host_path.join("README.md").exists());
    assert!(workspace.notices.iter().any(|notice| notice.contains(why)), "{:?}", workspace.notices);
}

/// Objects move from files into packs, and from one pack into another, while they are read.
fn packed_meanwhile() {
    let scene = Scene::new();
    for number in 0..400 {
        fs::write(scene.app.join(format!("src/f{number}")), format!("{number}\n")).expect("a file is written");
    }
    commit(&scene.app);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while !is_done.load(Ordering::Relaxed) {
                // Another object each time, so that there is another pack.
                let side = git(&scene.app, ["commit-tree", "-m", &number.to_string(), "HEAD^{tree}"]);
                git(&scene.app, ["update-ref", "refs/heads/side", &side]);
                git(&scene.app, ["gc", "--quiet", "--prune=now"]);
                number += 1;
            }
        });
        for number in 0..20 {
            let workspaces = scene.workspaces();
            let workspace = scene.create(&workspaces);
            let tree = &overlay(&workspace).lowers[0];
            assert_eq!(git(tree, ["status", "--porcelain"]), "", "copy {number}");
            assert_eq!(git(tree, ["ls-files"]).lines().count(), 403);
            git(tree, ["fsck", "--no-progress", "--connectivity-only"]);
            let mut sink = RecordingSink::default();
            fs::write(overlay(&workspace).upper().join("README.md"), "another line\n").expect("a file is written");
            workspaces.capture(&workspace.state, &workspace.mount, &mut sink).expect("it is captured");
            assert_eq!(sink.lines.len(), 1);
            workspaces.dispose(&workspace.state).expect("it is removed");
            drop(workspaces);
            fs::remove_dir_all(scene.cache()).expect("the cache is removed");
        }
        is_done.store(true, Ordering::Relaxed);
    });
}

fn other_file_systems() {
    let scene = Scene::new();
    let [lower, upper, work] = ["lower", "upper", "work"].map(|name| {
        let path = scene.place.join(name);
        fs::create_dir(&path).expect("a directory is made");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("its mode is set");
        path.display().to_string()
    });
    let nested = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    fs::create_dir_all(scene.cache()).expect("a directory is made");
    own_mounts();
    for (kind, options) in [("tmpfs", "mode=0700"), ("overlay", &nested)] {
        mount(Some(kind), &scene.cache(), Some(kind), MsFlags::empty(), Some(options)).expect("it is mounted");
        let workspaces = scene.workspaces();
        let workspace = scene.create(&workspaces);
        let root = mounted(overlay(&workspace));
        assert_eq!(git(&root, ["status", "--porcelain"]), "", "{kind}");
        fs::write(root.join("README.md"), "another line\n").expect("a file is written");
        fs::remove_file(root.join("src/two")).expect("it is removed");
        umount2(&root, MntFlags::empty()).expect("it is unmounted");
        let mut sink = RecordingSink::default();
        workspaces.capture(&workspace.state, &workspace.mount, &mut sink).expect("it is captured");
        assert_eq!(sink.lines.len(), 2, "{kind}");
    }
}

fn full_disk() {
    let scene = Scene::new();
    fs::write(scene.app.join("large"), vec![b'x'; 1 << 20]).expect("a file is written");
    commit(&scene.app);
    fs::create_dir_all(scene.cache()).expect("a directory is made");
    own_mounts();
    let small = Some("size=256k,mode=0700");
    mount(Some("tmpfs"), &scene.cache(), Some("tmpfs"), MsFlags::empty(), small).expect("it is mounted");
    is_copy(&scene.create(&scene.workspaces()), "no space left");
    assert_eq!(scene.cached().len(), 0);
}

fn read_only() {
    let scene = Scene::new();
    let workspaces = scene.workspaces();
    let tree = overlay(&scene.create(&workspaces)).lowers[0].clone();
    own_mounts();
    let cache = scene.cache();
    mount(Some(&cache), &cache, None::<&str>, MsFlags::MS_BIND, None::<&str>).expect("it is mounted");
    let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
    mount(None::<&str>, &cache, None::<&str>, flags, None::<&str>).expect("it is read-only");
    assert_eq!(scene.tree(), tree);
    git(&scene.app, ["commit", "--quiet", "--allow-empty", "-m", "next"]);
    is_copy(&scene.create(&scene.workspaces()), "Read-only file system");
}
