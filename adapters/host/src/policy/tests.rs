use super::*;
use isobox_domain::enforcement::Control;
use isobox_domain::limit::{Limit, Limits};
use isobox_domain::policy::{
    BackendChoice, BackendName, HideRule, NetworkAccess, PathMode, Requirement, ReuseKind, SandboxPolicy, TaskLimit,
    ToolCalls, ViewLimit, WorkspaceExposure, WriteRule,
};
use isobox_domain::preflight::PreflightRule;
use isobox_domain::promotion::{BlockedRisk, PromotionGate, PromotionRequirement};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::report::{RiskCategory, RiskLevel};

const HEAD: &str = "api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\n";

fn read(body: &str) -> Result<ProjectPolicy, PolicyProblem> {
    parse_policy(format!("{HEAD}{body}").as_bytes())
}

fn refused(text: &str) -> PolicyProblem {
    parse_policy(text.as_bytes()).expect_err(text)
}

/// Place, problem and hint of a policy whose two first lines are as they should be.
fn mistake(body: &str) -> (u64, u64, String, Option<String>) {
    let found = refused(&format!("{HEAD}{body}"));
    let position = found.position.expect(body);
    (position.line, position.column, found.problem, found.hint)
}

#[test]
fn the_policy_that_init_writes_is_the_default_with_tool_calls_enabled() {
    let expected = ProjectPolicy { tool_calls: ToolCalls::Enabled, ..ProjectPolicy::default() };
    assert_eq!(parse_policy(default_policy_text().as_bytes()), Ok(expected));
}

#[test]
fn the_policy_that_init_writes_has_a_comment_for_every_section() {
    for paragraph in default_policy_text().split("\n\n") {
        assert!(paragraph.starts_with("# "), "{paragraph}");
    }
}

#[test]
fn what_a_policy_leaves_out_is_as_restrictive_as_can_be() {
    assert_eq!(read(""), Ok(ProjectPolicy::default()));
    assert_eq!(ProjectPolicy::default().tool_calls, ToolCalls::Disabled);
}

#[test]
fn every_key_has_its_effect() {
    let body = "tool_call: {enabled: true}\nruntime_backend: host_process\n\
        development_environment:\n  path_mode: inherited\nworkspace_source: {kind: repository}\n\
        network:\n  default: inherited\n  allow: [\"api.example.com:443\"]\n\
        filesystem:\n  expose_workspace: read_only\n  read:\n    - ~/.rustup\n    - /opt/go\n\
        credentials: {default: none}\nrequire: [ipc, network]\npreflight: {rules: []}\npromotion: {mode: manual, require: [verification, success], block: [secret_content, high]}\n\
        verification: {commands: [cargo test]}\nrecords: {views: 0}\n\
        tasks: {max: 3}\n\
        limits: {time: 10ms, idle_time: 10ms, memory: 4MiB, cpu: 0.01, cpu_time: 1s, processes: 1, disk: 4KiB,\n  \
        inodes: 1, open_files: 8, file_size: \"1KiB\", output: 1024B}\n";
    let expected = ProjectPolicy {
        tool_calls: ToolCalls::Enabled,
        sandbox: SandboxPolicy {
            backend: BackendChoice::Named(BackendName::Host),
            network: NetworkAccess::Inherited,
            network_allow: vec!["api.example.com:443".to_owned()],
            path_mode: PathMode::Inherited,
            workspace: WorkspaceExposure::ReadOnly,
            read: vec![b"~/.rustup".to_vec(), b"/opt/go".to_vec()],
            require: [Control::Network, Control::Ipc].map(Requirement::Control).into_iter().collect(),
            limits: Limit::ALL
                .into_iter()
                .fold(Limits::NONE, |limits, limit| limits.with(limit, Some(limit.range().0))),
            ..SandboxPolicy::default()
        },
        preflight: vec![PreflightRule::BackendStarts, PreflightRule::StoreWritable],
        views: ViewLimit::Newest(0),
        tasks: TaskLimit::parse("3").unwrap(),
        promotion: PromotionGate::new(
            &[PromotionRequirement::Success, PromotionRequirement::Verification],
            &[BlockedRisk::Level(RiskLevel::High), BlockedRisk::Category(RiskCategory::SecretContent)],
        ),
        verification: vec!["cargo test".to_owned()],
    };
    assert_eq!(read(body), Ok(expected));
    assert_eq!(read("records: {views: all}").unwrap().views, ViewLimit::All);
    for backend in BackendName::ALL {
        let read = read(&format!("runtime_backend: {}\n", backend.name())).unwrap();
        assert_eq!(read.sandbox.backend, BackendChoice::Named(backend));
    }
}

#[test]
fn unknown_keys_are_shown_with_what_was_meant() {
    let expect = |body: &str, line, column, problem: &str, hint: &str| {
        assert_eq!(mistake(body), (line, column, problem.to_owned(), Some(hint.to_owned())), "{body}");
    };
    expect("netwrk:\n  default: deny\n", 3, 1, "unknown key `netwrk`", "did you mean `network`?");
    expect("network:\n  defualt: deny\n", 4, 3, "unknown key `defualt` in `network`", "did you mean `default`?");
    expect(
        "path_mode: inherited\n",
        3,
        1,
        "unknown key `path_mode`",
        "`path_mode` belongs in `development_environment`",
    );
    expect(
        "network:\n  runtime_backend: auto\n",
        4,
        3,
        "unknown key `runtime_backend` in `network`",
        "`runtime_backend` belongs at the top, outside of every section",
    );
    expect("<<: {}\n", 3, 1, "unknown key `<<`", "remove it");
    expect("\"\": {}\n", 3, 1, "unknown key ``", "remove it");
}

#[test]
fn a_duplicate_key_is_a_mistake_wherever_it_is() {
    let (line, column, problem, _) = mistake("network: {}\nnetwork: {}\n");
    assert_eq!((line, column, &*problem), (4, 1, "`network` is there twice; the first one is on line 3"));
    let (line, column, problem, _) = mistake("network: {default: deny, \"default\": deny}\n");
    assert_eq!((line, column, &*problem), (3, 26, "`default` is there twice; the first one is on line 3"));
}

#[test]
fn a_duplicate_key_hides_no_other_mistake() {
    let text = format!("{HEAD}network: {{default: deny, default: deny, defult: deny}}\nrecords: {{views: x}}\n");
    let found = super::parse_written(text.as_bytes(), super::FileKind::Project).unwrap_err();
    let told: Vec<_> = found.iter().filter_map(|mistake| mistake.position.map(|at| (at.line, at.column))).collect();
    assert_eq!(told, [(3, 26), (3, 41), (4, 18)]);
}

#[test]
fn wrong_types_and_unsupported_values_are_told_apart() {
    for (body, column, problem) in [
        ("tool_call: {enabled: yes}", 22, "`tool_call.enabled` is `true` or `false`, found `yes`"),
        ("tool_call: {enabled: \"true\"}", 22, "`tool_call.enabled` is `true` or `false`, found the text \"true\""),
        ("tool_call: {enabled: }", 20, "`tool_call.enabled` is `true` or `false`, found nothing"),
        ("tool_call: true", 12, "`tool_call` is a mapping, found `true`"),
        ("network: {allow: all}", 18, "`network.allow` is a list, found `all`"),
        ("network: {allow: [[]]}", 19, "an entry of `network.allow` is text, found a list"),
        ("records: {views: -1}", 18, "`records.views` is a number, or `all`, found `-1`"),
        (
            "records: {views: 4294967296}",
            18,
            "`records.views` is a number below 4294967296, or `all`, found `4294967296`",
        ),
        ("records: {views: \"3\"}", 18, "`records.views` is a number, or `all`, found the text \"3\""),
        ("tasks: {max: 0}", 14, "`tasks.max` is a number from 1 to 4294967295, or `unlimited`, found `0`"),
        (
            "limits: {memory: 0}",
            18,
            "`limits.memory` is a size such as `512MiB` or `4GiB`, from 4MiB to 1PiB, or `unlimited`, found `0`",
        ),
        (
            "limits: {processes: [1]}",
            21,
            "`limits.processes` is a whole number, from 1 to 4194304, or `unlimited`, found a list",
        ),
        (
            "limits: {time: -5m}",
            16,
            "`limits.time` is a duration such as `90s`, `30m` or `2h`, from 10ms to 365d, or `unlimited`, found `-5m`",
        ),
        ("filesystem: {read: [../x]}", 21, "`../x` is not an absolute path"),
        ("filesystem: {read: [~bob/x]}", 21, "`~bob/x` names a home directory other than `~`"),
        (
            "workspace_source: {kind: directory}",
            26,
            "`workspace_source.kind: directory` is not available: workspaces are made from repositories alone in this version",
        ),
        (
            "verification: {commands: [' ']}",
            27,
            "an entry of `verification.commands` is a command, as `sh -c` takes it, found the text \" \"",
        ),
        ("promotion: {block: [high, high]}", 27, "`high` is there twice"),
        ("preflight: {rules: [backend_starts, backend_starts]}", 37, "`backend_starts` is there twice"),
    ] {
        let (line, found_column, found_problem, _) = mistake(body);
        assert_eq!((line, found_column, &*found_problem), (3, column, problem), "{body}");
    }
}

#[test]
fn a_limit_without_its_unit_is_told_with_one() {
    for (body, hint) in [
        ("limits: {memory: 4G}", "did you mean `4GiB`?"),
        ("limits: {time: 30}", "did you mean `30s`?"),
        ("limits: {cpu: 0}", "did you mean `unlimited`?"),
        ("limits: {memroy: 4GiB}", "did you mean `memory`?"),
        ("limits: {open-files: 64}", "did you mean `open_files`?"),
    ] {
        assert_eq!(mistake(body).3.as_deref(), Some(hint), "{body}");
    }
    assert_eq!(read("limits: {memory: unlimited}"), Ok(ProjectPolicy::default()));
}

#[test]
fn every_known_value_that_cannot_be_had_says_why() {
    for body in [
        "filesystem: {expose_workspace: false}",
        "credentials: {default: inherited}",
        "promotion: {mode: automatic}",
        "network: {default: allow}",
    ] {
        assert!(mistake(body).2.contains(" is not available: "), "{body}");
    }
}

#[test]
fn a_policy_of_another_kind_or_version_is_none() {
    assert_eq!(refused("kind: ProjectPolicy\n").problem, "the key `api_version` is missing");
    let other = refused("api_version: isobox.dev/v2\nkind: ProjectPolicy\n");
    assert_eq!(other.problem, "`api_version` is `isobox.dev/v1alpha1`, found `isobox.dev/v2`");
    assert_eq!(refused("- a\n").problem, "expected a mapping with the keys of a policy, found a list");
}

#[test]
fn what_makes_yaml_surprising_is_refused() {
    for (text, problem) in [
        ("", "it is empty"),
        ("# only a comment\n", "it is empty"),
        ("network: &a {}\n", "anchors have no place in a policy"),
        ("network: {}\ncredentials: *a\n", "it is not YAML: "),
        ("kind: !!str ProjectPolicy\n", "tags have no place in a policy"),
        ("%YAML 1.2\n---\nkind: x\n", "it is not YAML: "),
        ("kind: x\n---\nkind: y\n", "a policy is one document, and here begins a second one"),
        ("? [a]\n: b\n", "expected a key, found a list"),
        ("kind: \"x\n", "it is not YAML: "),
        ("kind: x: y\n", "it is not YAML: "),
    ] {
        let found = refused(text).problem;
        assert!(found.starts_with(problem), "{text}: {found}");
    }
}

#[test]
fn a_bomb_of_aliases_or_of_depth_ends_at_its_first_spark() {
    let too_deep = "lists and mappings lie more than 8 deep in each other";
    assert_eq!(refused(&format!("a: {}x{}", "[".repeat(9), "]".repeat(9))).problem, too_deep);
    let mappings: String = (0..10).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    assert_eq!(refused(&mappings).position, Some(Position { line: 9, column: 9 }));
    assert_eq!(refused(&mappings).problem, too_deep);
    assert!(refused(&"[".repeat(LONGEST_POLICY_BYTES)).position.is_some());
    let laughs = refused("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n");
    assert_eq!(laughs.problem, "anchors have no place in a policy");
    let known = refused("kind: x\n? - *a\n");
    assert!(known.position.is_some());
}

#[test]
fn bytes_that_are_no_text_are_located() {
    let found = parse_policy(b"kind: x\nab\xc3\xa9\xff").unwrap_err();
    assert_eq!(found.position, Some(Position { line: 2, column: 4 }));
    assert_eq!(found.problem, "it is not UTF-8 text");
}

#[test]
fn every_line_break_of_yaml_is_counted() {
    for line_break in ["\n", "\r", "\r\n"] {
        let text = format!("{HEAD}network:\n  default: dney\n").replace('\n', line_break);
        let found = refused(&text);
        assert_eq!(found.position, Some(Position { line: 4, column: 12 }));
        assert_eq!(found.excerpt.as_deref(), Some("4 |   default: dney\n  |            ^"), "{line_break:?}");
        let found =
            parse_policy(format!("kind: x{line_break}ab\u{e9}").as_bytes().split_last().unwrap().1).unwrap_err();
        assert_eq!(found.position, Some(Position { line: 2, column: 3 }), "{line_break:?}");
    }
}

#[test]
fn an_excerpt_is_escaped_cropped_and_its_caret_in_place() {
    let found = refused(&format!("{HEAD}network: {{ allow: [\"\u{202e}é\"], x: y }}\n"));
    assert_eq!(
        found.excerpt.as_deref(),
        Some("3 | network: { allow: [\"\\u{202e}é\"], x: y }\n  |                                  ^")
    );
    let long = refused(&format!("{HEAD}network: {{ {}: y }}\n", "k".repeat(5000)));
    assert!(long.excerpt.is_some_and(|excerpt| excerpt.len() < 300));
    assert!(long.problem.len() < 300, "{}", long.problem);
}

#[test]
fn a_list_whose_entries_were_taken_out_is_answered_with_an_empty_one() {
    let (line, column, problem, hint) = mistake("preflight:\n  rules:\n");
    assert_eq!((line, column, problem.as_str()), (4, 8, "`preflight.rules` is a list, found nothing"));
    assert_eq!(hint.as_deref(), Some("write `[]` for a list without entries"));
}

#[test]
fn of_thousands_of_mistakes_the_first_are_told_with_their_places_and_the_rest_is_counted() {
    for (section, indent) in [("", ""), ("network:\n", "  ")] {
        let keys: String = (0..8000).map(|n| format!("{indent}netwrk{n}: 1\n")).collect();
        let text = format!("{HEAD}{section}{keys}");
        let problems = parse_written(text.as_bytes(), FileKind::Project).expect_err("mistakes");
        assert_eq!(problems.len(), 101);
        let lines = problems[..100].iter().map(|problem| problem.position.expect("a place").line);
        let first = HEAD.lines().count() as u64 + 1 + u64::from(!section.is_empty());
        assert!(lines.eq(first..first + 100), "{problems:#?}");
        assert!(problems[..100].iter().all(|problem| problem.hint.is_some() && problem.excerpt.is_some()));
        assert_eq!((problems[100].to_string().as_str(), problems[100].position), ("and 7900 more", None));
    }
}

#[test]
fn rules_about_files_and_what_is_exposed_are_read() {
    let body = "filesystem:\n  write: [~/.config/ant, {path: ~/state, capture: true}]\n  hide: [\"**/.env\", ~/.netrc]\nworkspace: {protected: [.github/]}\n\
        reuse_inputs: [host_binary=ant, env_var=TOKEN, local_integration=/run/agent.sock]\n";
    let sandbox = read(body).unwrap().sandbox;
    let state = WriteRule::capturing(b"~/state".to_vec());
    assert_eq!(sandbox.files.write, [WriteRule::discarding(b"~/.config/ant".to_vec()), state]);
    assert_eq!(sandbox.files.hide, ["**/.env", "~/.netrc"].map(|rule| HideRule::parse(rule).unwrap()));
    assert_eq!(sandbox.files.protected, [RepoPath::parse(&b".github"[..]).unwrap()]);
    let inputs: Vec<_> = sandbox.reuse_inputs.iter().map(|input| (input.kind, input.value.as_str())).collect();
    let expected = [
        (ReuseKind::HostBinary, "ant"),
        (ReuseKind::EnvVar, "TOKEN"),
        (ReuseKind::LocalIntegration, "/run/agent.sock"),
    ];
    assert_eq!(inputs, expected);
}

#[test]
fn a_rule_about_files_that_cannot_be_meant_is_told_with_its_place() {
    for (body, column, problem, hint) in [
        ("filesystem: {hide: [\"*.{pem,key}\"]}", 21, "which has no meaning in a pattern here", "stand for a part"),
        ("filesystem: {hide: [a/../b]}", 21, "never matched", "stand for a part"),
        ("filesystem: {write: [x/y]}", 22, "`x/y` is not an absolute path", "begins with `~/`"),
        ("filesystem: {write: [{path: /x, keep: true}]}", 33, "`keep` is no key of an entry", "`path` and `capture`"),
        ("workspace: {protected: [../x]}", 25, "`../x` is no path of a workspace", "such as `.github`"),
        ("workspace: {protect: [x]}", 13, "unknown key `protect`", "did you mean `protected`?"),
        ("reuse_inputs: [ant]", 16, "`ant` is no KIND=VALUE", "KIND is one of"),
        ("reuse_inputs: [pth=/opt]", 16, "`pth` is no kind", "did you mean `path`?"),
        ("reuse_inputs: [path=opt]", 16, "`opt` is not an absolute path", "begins with `~/`"),
        ("reuse_inputs: [env_var=TOKEN=x]", 16, "`env_var=TOKEN=x` has a value", "name the variable alone"),
    ] {
        let (line, found_column, found, found_hint) = mistake(body);
        assert_eq!((line, found_column), (3, column), "{body}");
        assert!(found.contains(problem), "{body}: {found}");
        assert!(found_hint.as_ref().is_some_and(|found| found.contains(hint)), "{body}: {found_hint:?}");
    }
}
