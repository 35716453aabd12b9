//! The transparency log as a person meets it, and what becomes of whoever changes a store behind it.

use crate::forger::rewrite;
use crate::schema_checker::assert_described;
use crate::support::{assert_told, document, tool};
use isobox_tests::{Outcome, Project, User, outcome};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// A project with a task, a key and a checkpoint, which was copied to `checkpoint` in the scratch directory.
fn logged() -> (Project, String) {
    let project = Project::initialised(User::Current);
    tool(&project, "echo said; echo more >> README.md");
    let key = key(&project, &[]);
    fs::write(kept(&project), checkpoint(&project)).expect("write");
    (project, key)
}

fn kept(project: &Project) -> PathBuf {
    project.scratch().join("checkpoint")
}

fn store(project: &Project) -> PathBuf {
    project.repository().join(".git/isobox/store")
}

fn key(project: &Project, arguments: &[&str]) -> String {
    let made = project.isobox(&[&["audit", "init-key"], arguments].concat());
    assert_eq!(made.code, 0, "{made:?}");
    made.stdout.trim_end().to_owned()
}

fn checkpoint(project: &Project) -> String {
    let made = project.isobox(&["audit", "checkpoint"]);
    assert_eq!(made.code, 0, "{made:?}");
    made.stdout
}

/// Proves the newest task, into a file in the scratch directory.
fn proof(project: &Project, arguments: &[&str]) -> PathBuf {
    let proof = project.isobox(&[&["audit", "prove"], arguments, &["@latest"]].concat());
    assert_eq!(proof.code, 0, "{proof:?}");
    let file = project.scratch().join("proof");
    fs::write(&file, proof.stdout).expect("write");
    file
}

/// What somebody else is told, who has no store and no keys.
fn elsewhere(project: &Project, arguments: &[&str]) -> Outcome {
    let mut command = project.isobox_command(arguments);
    outcome(command.env("HOME", project.scratch()).current_dir("/").output().expect("run isobox"))
}

fn verdicts(told: &Outcome) -> [String; 3] {
    let found = document(told);
    ["integrity", "completeness", "signature"].map(|name| found["verdicts"][name].as_str().expect("a verdict").into())
}

fn reasons(told: &Outcome) -> String {
    document(told)["defects"]
        .as_array()
        .expect("defects")
        .iter()
        .map(|defect| format!("{}\n", defect["reason"]))
        .collect()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

#[test]
fn a_log_is_kept_under_a_key_that_is_made_once() {
    let project = Project::initialised(User::Current);
    assert_told(&project.isobox(&["audit", "checkpoint"]), 6, &["there is no task store"]);
    tool(&project, "true");
    assert_told(&project.isobox(&["audit", "checkpoint"]), 1, &["no key", "audit init-key"]);
    assert_told(&project.isobox(&["audit", "prove", "@latest"]), 1, &["no transparency log"]);
    assert_told(&project.isobox(&["audit", "init-key", "--name", "a b"]), 2, &["without blanks"]);
    let key = key(&project, &["--name", "example.com/app"]);
    assert!(key.starts_with("example.com/app+"), "{key}");
    assert_told(&project.isobox(&["audit", "init-key"]), 1, &["never replaced", &key]);
    let first = checkpoint(&project);
    assert!(first.starts_with("example.com/app\n1\n"), "{first}");
    assert_eq!(checkpoint(&project), first, "nothing happened since");
    tool(&project, "true");
    let told = document(&project.isobox(&["audit", "checkpoint", "--json"]));
    assert_described("audit-checkpoint", &told);
    assert_eq!((&told["size"], &told["added"]), (&json!(2), &json!(1)));
    let rebuilt = document(&project.isobox(&["audit", "rebuild", "--json"]));
    assert_described("audit-rebuild", &rebuilt);
    assert_eq!(rebuilt["written"], 0);
}

#[test]
fn a_proof_holds_where_there_is_no_store_and_nothing_else_does() {
    let (project, key) = logged();
    let task = tool(&project, "true");
    let unlogged = project.isobox(&["audit", "prove", "@latest"]);
    assert_told(&unlogged, 1, &["is not in the log of 1 COMMIT", "audit checkpoint"]);
    checkpoint(&project);
    let kept = kept(&project);
    let proof = proof(&project, &["--since", text(&kept)]);
    let check = ["audit", "check", "--json", "--key", &key, "--since", text(&kept), text(&proof)];
    let held = elsewhere(&project, &check);
    assert_eq!((held.code, held.stderr.as_str()), (0, ""), "{held:?}");
    let told = document(&held);
    assert_described("audit-check", &told);
    let record = document(&project.isobox(&["show", "--json", &task]));
    assert_eq!(
        (&told["leaf"]["task"], &told["leaf"]["record"], &told["since"], &told["key"]),
        (&record["id"], &record["record"], &json!(1), &json!(key))
    );
    assert_eq!(project.isobox(&["audit", "check", text(&proof)]).code, 0, "this user has the key");
    let unknown = elsewhere(&project, &["audit", "check", "--json", text(&proof)]);
    assert_eq!((unknown.code, &document(&unknown)["holds"]), (1, &json!(false)));
    assert_described("audit-check", &document(&unknown));
    let sound = fs::read(&proof).expect("a proof");
    for at in (0..sound.len()).step_by(7) {
        let mut spoilt = sound.clone();
        spoilt[at] ^= 1;
        for bytes in [&spoilt[..], &sound[..at]] {
            fs::write(&proof, bytes).expect("write");
            let told = elsewhere(&project, &check);
            assert_eq!(told.code, 1, "byte {at}: {told:?}");
            assert_eq!(document(&told)["holds"], false);
        }
    }
    assert_told(&elsewhere(&project, &["audit", "check", "/no/such/proof"]), 2, &["/no/such/proof"]);
    assert_told(&elsewhere(&project, &["audit", "check", "--key", "nonsense", text(&proof)]), 2, &["NAME+HASH+KEY"]);
    fs::write(&kept, "nonsense").expect("write");
    assert_told(&elsewhere(&project, &check), 2, &["read the older checkpoint"]);
}

#[test]
fn a_store_that_is_logged_holds_in_every_respect() {
    let (project, key) = logged();
    let kept = kept(&project);
    let arguments = ["verify", "--json", "--since", text(&kept), "--key", &key];
    let told = project.isobox(&arguments);
    assert_eq!((told.code, verdicts(&told)), (0, ["holds", "holds", "holds"].map(String::from)), "{told:?}");
    assert_described("verify", &document(&told));
    tool(&project, "true");
    let told = document(&project.isobox(&["verify", "--json"]));
    assert_eq!((&told["log"]["size"], &told["log"]["unlogged"]), (&json!(1), &json!(1)));
    let told = project.isobox(&["verify"]).stdout;
    assert!(told.contains("completeness  holds: compared with the log of 1 COMMIT; 1 newer not logged yet"), "{told}");
    let stranger =
        elsewhere(&project, &["verify", "--json", "--records", text(store(&project).parent().expect("records"))]);
    assert_eq!(verdicts(&stranger), ["holds", "holds", "unknown"]);
}

#[test]
fn a_damaged_log_is_told_and_mended_on_demand() {
    let (project, _) = logged();
    for (file, verdict) in [("tile/0/000.p/1", 0), ("tile/entries/000.p/1", 0), ("checkpoint", 2), ("checkpoints/1", 2)]
    {
        let place = store(&project).join("log").join(file);
        let sound = fs::read(&place).expect("a file of the log");
        let mut spoilt = sound.clone();
        spoilt[20] ^= 1;
        for bytes in [&spoilt[..], &sound[..10], b""] {
            fs::write(&place, bytes).expect("write");
            let told = project.isobox(&["verify", "--json"]);
            assert_eq!((told.code, verdicts(&told)[verdict].as_str()), (1, "broken"), "{file}: {told:?}");
            assert_ne!(verdicts(&told), ["holds", "holds", "holds"], "{file}");
        }
        if verdict == 0 {
            assert_told(&project.isobox(&["audit", "prove", "@latest"]), 6, &["audit rebuild"]);
            assert_eq!(project.isobox(&["audit", "rebuild"]).code, 0);
        } else {
            fs::write(&place, &sound).expect("write");
        }
        assert_eq!(fs::read(&place).expect("a file"), sound, "{file}");
        assert_eq!(project.isobox(&["verify"]).code, 0);
    }
}

/// What somebody makes who has the store, and not the keys: another one in its place, sound in itself.
fn forge(project: &Project, arguments: &[&str]) {
    let format = fs::read(store(project).join("FORMAT")).expect("FORMAT");
    fs::remove_dir_all(store(project)).expect("remove the store");
    let forger = project.scratch().join("forger");
    fs::create_dir_all(&forger).expect("a home");
    let isobox = |arguments: &[&str]| {
        let mut command = project.isobox_command(arguments);
        outcome(command.env("HOME", &forger).output().expect("run isobox"))
    };
    assert_eq!(isobox(&["audit", "init-key", "--name", "unused"]).code, 0, "it makes an empty store");
    fs::write(store(project).join("FORMAT"), format).expect("write");
    assert_eq!(isobox(&["tool", "--trust-policy", "--", "sh", "-c", "echo nothing happened"]).code, 0);
    if !arguments.is_empty() {
        assert_eq!(isobox(&[&["audit", "init-key"], arguments].concat()).code, 0);
        assert_eq!(isobox(&["audit", "checkpoint"]).code, 0);
    }
}

#[test]
fn whoever_makes_a_whole_store_anew_is_found_out_by_the_signature_and_by_an_older_checkpoint() {
    let (project, key) = logged();
    let name = key.split('+').next().expect("a name").to_owned();
    forge(&project, &["--name", &name]);
    let told = project.isobox(&["verify", "--json"]);
    assert_eq!((told.code, verdicts(&told)), (1, ["holds", "broken", "broken"].map(String::from)), "{told:?}");
    assert_described("verify", &document(&told));
    assert_told(&project.isobox(&["audit", "checkpoint"]), 6, &["not signed by the key of this store"]);
    // Who has no more than what was copied elsewhere.
    let (kept, records) = (kept(&project), store(&project).parent().expect("records").to_owned());
    let verify =
        |more: &[&str]| elsewhere(&project, &[&["verify", "--json", "--records", text(&records)], more].concat());
    assert_eq!(verdicts(&verify(&[])), ["holds", "holds", "unknown"], "nothing to tell it by");
    assert_eq!(verdicts(&verify(&["--key", &key]))[2], "broken");
    let since = verify(&["--since", text(&kept)]);
    assert_eq!((since.code, verdicts(&since)[1].as_str()), (1, "broken"));
    assert!(reasons(&since).contains("that are not the first 1 of the log"), "{since:?}");
}

#[test]
fn whoever_makes_a_whole_store_anew_without_a_log_is_found_out_too() {
    let (project, key) = logged();
    forge(&project, &[]);
    let told = project.isobox(&["verify", "--json"]);
    assert_eq!((told.code, verdicts(&told)), (1, ["holds", "broken", "unknown"].map(String::from)), "{told:?}");
    assert!(reasons(&told).contains("there is no log any more"), "{told:?}");
    let told = project.isobox(&["verify", "--json", "--key", &key]);
    assert_eq!(verdicts(&told)[2], "broken");
}

#[test]
fn whoever_rewrites_one_record_with_all_hashes_right_is_found_out_by_the_log_the_signature_and_an_older_checkpoint() {
    let (project, key) = logged();
    let (task, later) = (tool(&project, "echo deleted everything"), tool(&project, "echo said later"));
    let honest = checkpoint(&project);
    fs::write(kept(&project), &honest).expect("write");
    rewrite(&store(&project).join("lanes/lane-00.pack"), b"deleted everything\n", b"did nothing at all\n");
    let lie = project.isobox(&["logs", &task]);
    assert_eq!((lie.code, lie.stdout.as_str()), (0, "did nothing at all\n"), "every hash is right");
    let told = project.isobox(&["verify", "--deep", "--json"]);
    assert_eq!((told.code, verdicts(&told)), (1, ["holds", "broken", "holds"].map(String::from)), "{told:?}");
    // The record itself, and the one behind it, whose COMMIT names another one before it now.
    let named = document(&told)["defects"].to_string();
    assert!(reasons(&told).contains("is not the one that was logged"), "{told:?}");
    assert!(named.contains(&task) && named.contains(&later), "{named}");
    // The log, too, is made anew, with a key that has the name of the right one.
    let (records, name) =
        (store(&project).parent().expect("records").to_owned(), key.split('+').next().expect("a name"));
    fs::remove_dir_all(store(&project).join("log")).expect("remove the log");
    let forger = project.scratch().join("forger");
    fs::create_dir_all(&forger).expect("a home");
    for arguments in [&["audit", "init-key", "--name", name][..], &["audit", "checkpoint"]] {
        let mut command = project.isobox_command(arguments);
        let forged = outcome(command.env("HOME", &forger).output().expect("run isobox"));
        assert_eq!(forged.code, 0, "{forged:?}");
    }
    let told = project.isobox(&["verify", "--deep", "--json"]);
    assert_eq!((told.code, verdicts(&told)), (1, ["holds", "broken", "broken"].map(String::from)), "{told:?}");
    let stranger = |more: &[&str]| {
        elsewhere(&project, &[&["verify", "--deep", "--json", "--records", text(&records)], more].concat())
    };
    assert_eq!(verdicts(&stranger(&[])), ["holds", "holds", "unknown"], "nothing to tell it by");
    assert_eq!(verdicts(&stranger(&["--key", &key]))[2], "broken");
    let since = stranger(&["--since", text(&kept(&project))]);
    assert_eq!((since.code, verdicts(&since)[1].as_str()), (1, "broken"), "{since:?}");
    // With the right signature over another tree, it is the tree that does not hold.
    for file in ["checkpoint", "checkpoints/3"] {
        fs::write(store(&project).join("log").join(file), &honest).expect("write");
    }
    let told = project.isobox(&["verify", "--deep", "--json"]);
    assert_eq!((told.code, verdicts(&told)[2].as_str()), (1, "holds"), "{told:?}");
    assert_eq!(verdicts(&told)[0], "broken", "{told:?}");
    assert_told(&project.isobox(&["audit", "rebuild"]), 6, &[]);
}

#[test]
fn no_byte_of_a_checkpoint_can_be_changed_or_cut_off_unnoticed() {
    let (project, _) = logged();
    for file in ["checkpoint", "checkpoints/1"] {
        let place = store(&project).join("log").join(file);
        let sound = fs::read(&place).expect("a checkpoint");
        for at in (0..sound.len()).step_by(9).chain([sound.len() - 1]) {
            let mut flipped = sound.clone();
            flipped[at] ^= 1;
            for bytes in [&flipped[..], &sound[..at]] {
                fs::write(&place, bytes).expect("write");
                let told = project.isobox(&["verify", "--quick", "--json"]);
                assert_eq!(told.code, 1, "byte {at} of {file}: {told:?}");
                assert_eq!(verdicts(&told)[2], "broken", "byte {at} of {file}: {told:?}");
            }
        }
        fs::write(&place, &sound).expect("write");
    }
    assert_eq!(project.isobox(&["verify"]).code, 0);
}

#[test]
fn whoever_puts_an_older_state_of_the_store_back_is_found_out() {
    let (project, _) = logged();
    let earlier = project.scratch().join("earlier");
    let copy = |from: &Path, to: &Path| {
        let copied = project.command("cp").args(["-a", text(from), text(to)]).status().expect("run cp");
        assert!(copied.success());
    };
    copy(&store(&project), &earlier);
    tool(&project, "echo what is to be forgotten");
    let newer = checkpoint(&project);
    fs::remove_dir_all(store(&project)).expect("remove the store");
    copy(&earlier, &store(&project));
    let told = project.isobox(&["verify", "--json"]);
    assert_eq!((told.code, verdicts(&told)), (1, ["holds", "broken", "holds"].map(String::from)), "{told:?}");
    assert!(reasons(&told).contains("is of 2 COMMITs, and the log ends with 1"), "{told:?}");
    let file = project.scratch().join("newer");
    fs::write(&file, newer).expect("write");
    let records = store(&project).parent().expect("records").to_owned();
    let stranger = elsewhere(&project, &["verify", "--json", "--records", text(&records), "--since", text(&file)]);
    assert_eq!((stranger.code, verdicts(&stranger)[1].as_str()), (1, "broken"));
    assert_told(&project.isobox(&["audit", "checkpoint"]), 6, &["it is missing"]);
}

#[test]
fn doctor_tells_how_far_the_log_lags_where_there_is_a_key() {
    let project = Project::initialised(User::Current);
    tool(&project, "true");
    let finding = || {
        let found = document(&project.isobox(&["doctor", "--json"]));
        let findings = found["findings"].as_array().expect("findings").clone();
        findings.into_iter().find(|finding| finding["check"] == "store.log")
    };
    assert_eq!(finding(), None);
    key(&project, &[]);
    let lagging = finding().expect("there is a key");
    assert_eq!(
        (&lagging["severity"], &lagging["found"]),
        (&json!("warning"), &json!("1 of 1 COMMITs are not under a checkpoint"))
    );
    assert!(lagging["fix"].as_str().expect("a fix").contains("isobox audit checkpoint"));
    checkpoint(&project);
    assert_eq!(finding().expect("there is a key")["severity"], "ok");
    fs::write(store(&project).join("log/checkpoint"), "nonsense").expect("write");
    assert_eq!(finding().expect("there is a key")["severity"], "warning");
}

#[test]
fn a_log_holds_whatever_is_compacted_and_pruned() {
    let (project, _) = logged();
    let first = fs::read_to_string(kept(&project)).expect("a checkpoint");
    assert_eq!(project.isobox(&["store", "compact"]).code, 0);
    let pruned = tool(&project, "echo said nothing of worth");
    checkpoint(&project);
    assert_eq!(project.isobox(&["store", "prune", "--keep-last", "0", "--apply"]).code, 0);
    assert_eq!(project.isobox(&["show", &pruned]).code, 5);
    for arguments in
        [&["verify", "--json"][..], &["verify", "--json", "--since", &kept(&project).display().to_string()]]
    {
        let told = project.isobox(arguments);
        assert_eq!((told.code, verdicts(&told)), (0, ["holds", "holds", "holds"].map(String::from)), "{told:?}");
    }
    let newest = checkpoint(&project);
    assert_ne!(newest, first);
    let kept = kept(&project).display().to_string();
    let proof = proof(&project, &["--since", &kept]);
    assert_eq!(project.isobox(&["audit", "check", &proof.display().to_string(), "--since", &kept]).code, 0);
}
