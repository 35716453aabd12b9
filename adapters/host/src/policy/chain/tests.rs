use super::*;
use isobox_domain::limit::Limit;
use isobox_domain::policy::{NetworkAccess, WorkspaceExposure};
use isobox_ports::PolicySource;
use std::fs;
use std::os::unix::fs::symlink;
use tempfile::TempDir;

const HEAD: &str = "api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\n";

/// A project with these files in `.isobox`, each with the head of a policy.
fn project(files: &[(&str, &str)]) -> TempDir {
    let project = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = project.path().join(".isobox").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{HEAD}{text}")).unwrap();
    }
    project
}

fn read(project: &TempDir) -> Result<PolicyFile, PolicyError> {
    YamlPolicySource::new(project.path()).read().map(|found| found.expect("a policy"))
}

fn refused(files: &[(&str, &str)]) -> String {
    read(&project(files)).unwrap_err().to_string()
}

#[test]
fn every_preset_is_a_policy_that_extends_nothing_and_says_what_it_is_for() {
    for preset in super::super::policy_presets() {
        let parsed = parse_written(preset.text.as_bytes(), FileKind::Project).expect(preset.name);
        assert_eq!(parsed.extends, None, "{}", preset.name);
        assert!(preset.summary().ends_with('.'), "{}", preset.name);
        assert!(super::super::policy_schema().contains(&format!("\"{}\"", preset.name)), "{}", preset.name);
    }
}

#[test]
fn a_file_stands_on_others_and_each_key_is_known_by_the_nearest_that_has_it() {
    let project = project(&[
        ("config.yaml", "extends: ./base/team.yaml\nnetwork: {default: inherited}\nlimits: {time: unlimited}\n"),
        ("base/team.yaml", "extends: ./all.yaml\ntasks: {max: 3}\n"),
        ("base/all.yaml", "extends: read-only\nlimits: {time: 1h, memory: 1GiB}\n"),
    ]);
    let PolicyFile { written, places, .. } = read(&project).unwrap();
    assert_eq!(
        (written.network, written.workspace),
        (Some(NetworkAccess::Inherited), Some(WorkspaceExposure::ReadOnly))
    );
    assert_eq!((written.limits.of(Limit::Time), written.limits.of(Limit::Memory)), (None, Some(1 << 30)));
    let place = |key: &str| {
        let (_, place) = places.iter().find(|(known, _)| known == key).expect(key);
        (place.extended.clone().unwrap_or_default(), place.position.line)
    };
    assert_eq!(place("network.default"), (String::new(), 4));
    let team = project.path().join(".isobox/base/team.yaml").display().to_string();
    assert_eq!(place("tasks.max"), (team, 4));
    assert_eq!(place("filesystem.expose_workspace"), ("preset `read-only`".to_owned(), 7));
    assert_eq!(place("limits.time").1, 5);
}

#[test]
fn the_digest_is_of_every_file_that_was_read() {
    let files = [("config.yaml", "extends: ./base.yaml\n"), ("base.yaml", "tasks: {max: 3}\n")];
    let project = project(&files);
    let before = read(&project).unwrap().digest;
    assert_eq!(read(&project).unwrap().digest, before);
    let base = project.path().join(".isobox/base.yaml");
    let text = fs::read_to_string(&base).unwrap();
    fs::write(&base, format!("{text}# nothing\n")).unwrap();
    assert_ne!(read(&project).unwrap().digest, before);
    // A byte that moves from one file to the other is another policy.
    fs::write(&base, text.trim_end()).unwrap();
    let config = project.path().join(".isobox/config.yaml");
    fs::write(&config, format!("{}\n", fs::read_to_string(&config).unwrap())).unwrap();
    assert_ne!(read(&project).unwrap().digest, before);
}

#[test]
fn what_extends_itself_or_goes_on_for_ever_is_refused_at_its_line() {
    let circle = refused(&[
        ("config.yaml", "extends: ./a.yaml\n"),
        ("a.yaml", "# a\nextends: ./b.yaml\n"),
        ("b.yaml", "extends: ./a.yaml\n"),
    ]);
    assert!(circle.contains("b.yaml:3:10: `a.yaml` extends itself"), "{circle}");
    assert!(
        refused(&[("config.yaml", "extends: ./config.yaml\n")])
            .contains("config.yaml:3:10: `config.yaml` extends itself")
    );
    let names: Vec<String> =
        (0..=DEEPEST).map(|at| if at == 0 { "config".to_owned() } else { format!("f{at}") }).collect();
    let texts: Vec<String> = (1..=DEEPEST + 1).map(|at| format!("extends: ./f{at}.yaml\n")).collect();
    let names: Vec<String> = names.iter().map(|name| format!("{name}.yaml")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    let deep = refused(&files);
    assert!(deep.contains("f7.yaml:3:10: more than 8 policies"), "{deep}");
}

#[test]
fn what_is_wrong_is_told_at_the_place_where_it_is() {
    let mistake = refused(&[("config.yaml", "extends: ./a.yaml\n"), ("a.yaml", "network: {default: dney}\n")]);
    assert!(mistake.contains("a.yaml:3:20: `network.default`"), "{mistake}");
    let missing = refused(&[("config.yaml", "extends: ./a.yaml\n")]);
    assert!(missing.contains("config.yaml:3:10: there is no "), "{missing}");
    for (value, expected) in [
        ("strct", "there is no preset `strct`"),
        ("./../outside.yaml", "no YAML file below"),
        ("./.hidden.yaml", "no YAML file below"),
        ("./a.txt", "no YAML file below"),
        ("/etc/policy.yaml", "there is no preset"),
        ("[strict]", "`extends` is text"),
    ] {
        let refused = refused(&[("config.yaml", &format!("extends: {value}\n"))]);
        assert!(refused.contains("config.yaml:3:10: ") && refused.contains(expected), "{value}: {refused}");
    }
}

#[test]
fn no_link_is_followed_to_what_is_extended() {
    let project = project(&[("config.yaml", "extends: ./a.yaml\n"), ("real.yaml", "tasks: {max: 3}\n")]);
    symlink("real.yaml", project.path().join(".isobox/a.yaml")).unwrap();
    let refused = read(&project).unwrap_err().to_string();
    assert!(refused.contains("a.yaml") && refused.ends_with("links are not followed"), "{refused}");
}
