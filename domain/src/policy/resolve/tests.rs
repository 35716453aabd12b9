//! The laws of resolving.

use super::*;
use crate::policy::{FileRules, HideRule, PathMode, Requirement, ReuseInput, WorkspaceExposure, WriteRule};
use proptest::prelude::*;

fn enforced() -> Enforcement {
    Enforcement::Enforced { mechanism: "a namespace".to_owned() }
}

fn partial() -> Enforcement {
    Enforcement::PartiallyEnforced { mechanism: "a rule".to_owned(), reason: "udp".to_owned() }
}

fn nothing() -> Enforcement {
    Enforcement::NotEnforced { reason: "no kernel support".to_owned() }
}

fn capabilities(backend: BackendName, enforcement: &Enforcement) -> Capabilities {
    let controls = Control::ALL.map(|control| ControlReport { control, enforcement: enforcement.clone() }).to_vec();
    Capabilities::of(backend, controls)
}

fn named(backend: BackendName) -> SandboxPolicy {
    SandboxPolicy { backend: BackendChoice::Named(backend), ..SandboxPolicy::default() }
}

#[test]
fn auto_never_takes_host_whatever_it_claims() {
    let only_host = [capabilities(BackendName::Host, &enforced())];
    let refusal = resolve(&SandboxPolicy::default(), &only_host);
    assert_eq!(refusal, Err(Refusal::NoBackend { reasons: String::new() }));
}

#[test]
fn auto_passes_over_a_backend_that_does_not_contain_and_one_that_cannot_start() {
    let mut broken = capabilities(BackendName::Bubblewrap, &enforced());
    broken.unavailable = Some("bwrap is not installed".to_owned());
    let weak = capabilities(BackendName::Landlock, &partial());
    let refusal = resolve(&SandboxPolicy::default(), &[broken.clone(), weak]);
    let reasons = "bubblewrap: bwrap is not installed; landlock: it does not contain the filesystem here".to_owned();
    assert_eq!(refusal, Err(Refusal::NoBackend { reasons }));

    let good = capabilities(BackendName::Landlock, &enforced());
    let chosen = resolve(&SandboxPolicy::default(), &[broken, good]).map(|effective| effective.backend);
    assert_eq!(chosen, Ok(BackendName::Landlock));
}

#[test]
fn a_named_backend_is_taken_or_refused_and_never_replaced() {
    let mut bubblewrap = capabilities(BackendName::Bubblewrap, &enforced());
    bubblewrap.unavailable = Some("user namespaces are off".to_owned());
    let backends = [bubblewrap, capabilities(BackendName::Landlock, &enforced())];
    let unavailable = |backend, reason: &str| Err(Refusal::BackendUnavailable { backend, reason: reason.to_owned() });
    assert_eq!(
        resolve(&named(BackendName::Bubblewrap), &backends),
        unavailable(BackendName::Bubblewrap, "user namespaces are off")
    );
    assert_eq!(
        resolve(&named(BackendName::Host), &backends),
        unavailable(BackendName::Host, "this version of isobox does not have it")
    );
}

#[test]
fn a_rule_that_nobody_can_enforce_refuses_the_task() {
    let asked = SandboxPolicy { network_allow: vec!["crates.io".to_owned()], ..SandboxPolicy::default() };
    let backends = [capabilities(BackendName::Bubblewrap, &enforced())];
    assert_eq!(resolve(&asked, &backends), Err(Refusal::NetworkAllow { rule: "crates.io".to_owned() }));
}

#[test]
fn inherited_network_is_never_called_enforced() {
    let asked = SandboxPolicy { network: NetworkAccess::Inherited, ..SandboxPolicy::default() };
    let effective =
        resolve(&asked, &[capabilities(BackendName::Bubblewrap, &enforced())]).map(|effective| effective.controls);
    let words = effective.map(|controls| controls.iter().map(|report| report.enforcement.word()).collect::<Vec<_>>());
    let mut expected = vec!["enforced"; Control::ALL.len()];
    expected[1] = "not_enforced";
    // The host's own agents listen there, too.
    expected[7] = "partially_enforced";
    assert_eq!(words, Ok(expected));
}

fn requiring(names: &[&str]) -> SandboxPolicy {
    let require = names.iter().map(|name| Requirement::parse(name).expect("a name")).collect();
    SandboxPolicy { require, ..SandboxPolicy::default() }
}

#[test]
fn a_reason_that_stands_in_the_way_of_every_backend_is_told_once() {
    let backends = [BackendName::Landlock, BackendName::Bubblewrap].map(|name| capabilities(name, &enforced()));
    let refused = resolve(&requiring(&["memory"]), &backends).expect_err("a refusal");
    let message = "not everything that is required is enforced here: landlock, bubblewrap: `memory` is not enforced: the policy \
                   sets no such limit";
    assert_eq!(refused.to_string(), message);
    assert!(matches!(refused, Refusal::Unmet { unmet, .. } if unmet.len() == 2));
}

#[test]
fn what_is_required_and_not_enforced_refuses_with_every_reason() {
    let mut bubblewrap = capabilities(BackendName::Bubblewrap, &enforced());
    bubblewrap.controls[8].enforcement = nothing();
    let mut landlock = capabilities(BackendName::Landlock, &partial());
    landlock.controls[0].enforcement = enforced();
    let asked = requiring(&["limits", "filesystem"]);
    let refused = resolve(&asked, &[bubblewrap, landlock.clone()]).expect_err("a refusal");
    let message = "not everything that is required is enforced here: bubblewrap: `limits` is not enforced: no kernel \
                   support; landlock: `limits` is enforced in part alone: udp";
    assert_eq!(refused.to_string(), message);
    let Refusal::Unmet { unmet, .. } = refused else { panic!("{refused}") };
    assert_eq!(
        unmet.iter().map(|unmet| unmet.backend).collect::<Vec<_>>(),
        [BackendName::Bubblewrap, BackendName::Landlock]
    );
    let named = SandboxPolicy { backend: BackendChoice::Named(BackendName::Landlock), ..asked };
    assert!(matches!(resolve(&named, &[landlock]), Err(Refusal::Unmet { unmet, .. }) if unmet.len() == 1));
}

#[test]
fn auto_takes_the_first_backend_that_enforces_what_is_required() {
    let mut bubblewrap = capabilities(BackendName::Bubblewrap, &enforced());
    bubblewrap.controls[8].enforcement = partial();
    let mut landlock = capabilities(BackendName::Landlock, &enforced());
    landlock.controls[1].enforcement = partial();
    let backends = [bubblewrap, landlock];
    let chosen = |asked| resolve(&asked, &backends).map(|effective| effective.backend);
    assert_eq!(chosen(SandboxPolicy::default()), Ok(BackendName::Bubblewrap));
    assert_eq!(chosen(requiring(&["limits"])), Ok(BackendName::Landlock));
}

#[test]
fn auto_takes_no_backend_that_a_later_one_outdoes_and_says_so() {
    let mut landlock = capabilities(BackendName::Landlock, &enforced());
    landlock.controls[2].enforcement = partial();
    let bubblewrap = capabilities(BackendName::Bubblewrap, &enforced());
    let chosen = resolve(&SandboxPolicy::default(), &[landlock.clone(), bubblewrap.clone()]).expect("there is one");
    assert_eq!(chosen.backend, BackendName::Bubblewrap);
    let why = "`auto` takes the first that enforces filesystem, and none enforces more; landlock enforces less";
    assert_eq!(chosen.why_this_backend.as_deref(), Some(why));
    assert_eq!([&landlock, &bubblewrap].map(Capabilities::is_outdone_by_none), [false, true]);

    let missing = Capabilities { unavailable: Some("there is no `bwrap`".to_owned()), ..bubblewrap };
    let chosen = resolve(&SandboxPolicy::default(), &[landlock, missing]).expect("there is one");
    assert_eq!(chosen.backend, BackendName::Landlock);
    let why =
        "`auto` takes the first that enforces filesystem, and none enforces more; bubblewrap: there is no `bwrap`";
    assert_eq!(chosen.why_this_backend.as_deref(), Some(why));
    let named = resolve(&named(BackendName::Landlock), &[capabilities(BackendName::Landlock, &enforced())]);
    assert_eq!(named.map(|named| named.why_this_backend), Ok(None));
}

#[test]
fn a_network_that_is_inherited_meets_no_requirement_of_it() {
    let asked = SandboxPolicy { network: NetworkAccess::Inherited, ..requiring(&["network"]) };
    assert!(matches!(
        resolve(&asked, &[capabilities(BackendName::Bubblewrap, &enforced())]),
        Err(Refusal::Unmet { .. })
    ));
}

#[test]
fn what_takes_mounts_is_refused_where_nothing_can_be_mounted_and_nowhere_else() {
    let alone = Capabilities {
        mounts_nothing: Some("namespaces are refused".to_owned()),
        ..capabilities(BackendName::Landlock, &enforced())
    };
    let input = |kind, value: &str| ReuseInput { kind, value: value.to_owned(), digest: None };
    let asking = |files: FileRules, reuse_inputs: Vec<ReuseInput>| SandboxPolicy {
        files,
        reuse_inputs,
        ..SandboxPolicy::default()
    };
    let write = vec![WriteRule::discarding(b"/srv".to_vec())];
    let taking = [
        asking(FileRules { hide: vec![HideRule::parse("**/.env").unwrap()], ..FileRules::default() }, Vec::new()),
        asking(FileRules { write, ..FileRules::default() }, Vec::new()),
        asking(FileRules::default(), vec![input(ReuseKind::Path, "/srv:rw")]),
        asking(FileRules::default(), vec![input(ReuseKind::LocalIntegration, "/run/a.sock")]),
    ];
    for asked in taking {
        let refused = resolve(&asked, std::slice::from_ref(&alone)).unwrap_err();
        assert!(refused.to_string().ends_with(", and namespaces are refused"), "{refused}");
        let named = SandboxPolicy { backend: BackendChoice::Named(BackendName::Landlock), ..asked.clone() };
        let refused = resolve(&named, std::slice::from_ref(&alone)).unwrap_err();
        assert!(matches!(refused, Refusal::BackendUnavailable { .. }) && refused.is_of_this_machine());
        let other = capabilities(BackendName::Bubblewrap, &enforced());
        assert_eq!(resolve(&asked, &[alone.clone(), other]).unwrap().backend, BackendName::Bubblewrap);
    }
    let reading = asking(FileRules::default(), vec![input(ReuseKind::Path, "/srv")]);
    assert_eq!(resolve(&reading, &[alone]).unwrap().backend, BackendName::Landlock);
}

fn strength(enforcement: &Enforcement) -> u8 {
    match enforcement {
        Enforcement::Enforced { .. } => 2,
        Enforcement::PartiallyEnforced { .. } => 1,
        Enforcement::NotEnforced { .. } => 0,
    }
}

fn any_capabilities() -> impl Strategy<Value = Vec<Capabilities>> {
    let enforcement = || prop_oneof![Just(enforced()), Just(partial()), Just(nothing())];
    let one = move |backend| {
        (prop::collection::vec(enforcement(), Control::ALL.len()), prop::option::of("[a-z]{1,8}")).prop_map(
            move |(enforcements, unavailable)| {
                let controls = Control::ALL.into_iter().zip(enforcements);
                let controls = controls.map(|(control, enforcement)| ControlReport { control, enforcement });
                Capabilities { unavailable, ..Capabilities::of(backend, controls.collect()) }
            },
        )
    };
    BackendName::ALL.map(one).prop_shuffle().prop_map(Vec::from)
}

fn any_policy() -> impl Strategy<Value = SandboxPolicy> {
    let backend = prop_oneof![
        Just(BackendChoice::Auto),
        prop::sample::select(&BackendName::ALL[..]).prop_map(BackendChoice::Named)
    ];
    let network = prop::sample::select(&NetworkAccess::ALL[..]);
    let allow = prop::collection::vec("[a-z]{1,8}", 0..2);
    let path_mode = prop::sample::select(&PathMode::ALL[..]);
    let require = prop::collection::vec(prop::sample::select(Requirement::all().collect::<Vec<_>>()), 0..3);
    (backend, network, allow, path_mode, require).prop_map(|(backend, network, network_allow, path_mode, require)| {
        SandboxPolicy {
            backend,
            network,
            network_allow,
            path_mode,
            workspace: WorkspaceExposure::ReadOnly,
            require: require.into_iter().collect(),
            ..SandboxPolicy::default()
        }
    })
}

#[test]
fn what_a_policy_says_is_escaped_in_a_refusal_that_quotes_it() {
    let (rule, reference) = ("a\u{1b}[2Jb".to_owned(), "c\u{202e}d".to_owned());
    let rule = Refusal::NetworkAllow { rule }.to_string();
    assert!(rule.ends_with(r"(first rule: `a\x1b[2Jb`)"), "{rule}");
    let reference = Refusal::CredentialReference { reference }.to_string();
    assert!(reference.starts_with(r"the reuse input `credential_ref=c\u{202e}d` cannot"), "{reference}");
}

proptest! {
    #[test]
    fn resolving_what_was_resolved_gives_the_same(asked in any_policy(), backends in any_capabilities()) {
        if let Ok(effective) = resolve(&asked, &backends) {
            prop_assert_eq!(resolve(&effective.asked, &backends), Ok(effective.clone()));
            let pinned = SandboxPolicy { backend: BackendChoice::Named(effective.backend), ..asked };
            let again = resolve(&pinned, &backends);
            prop_assert_eq!(again.map(|again| again.controls), Ok(effective.controls));
        }
    }

    #[test]
    fn nothing_is_granted_that_was_not_asked_for_and_nothing_claimed_that_the_backend_does_not_do(
        asked in any_policy(), backends in any_capabilities()
    ) {
        if let Ok(effective) = resolve(&asked, &backends) {
            prop_assert_eq!(&effective.asked, &asked);
            let backend = backends.iter().find(|candidate| candidate.backend == effective.backend);
            for report in &effective.controls {
                let claimed = backend.and_then(|backend| backend.enforcement(report.control));
                prop_assert!(claimed.is_some_and(|claimed| strength(&report.enforcement) <= strength(claimed)));
            }
        }
    }

    #[test]
    fn whatever_starts_enforces_everything_that_is_required(asked in any_policy(), backends in any_capabilities()) {
        if let Ok(effective) = resolve(&asked, &backends) {
            for required in asked.require.as_slice() {
                let Requirement::Control(control) = required else { panic!("no limit is set: {required:?}") };
                let report = effective.controls.iter().find(|report| report.control == *control);
                prop_assert!(report.is_some_and(|report| report.enforcement.is_enforced()));
            }
        }
    }

    #[test]
    fn auto_gives_containment_or_a_refusal(asked in any_policy(), backends in any_capabilities()) {
        let asked = SandboxPolicy { backend: BackendChoice::Auto, ..asked };
        if let Ok(effective) = resolve(&asked, &backends) {
            prop_assert_ne!(effective.backend, BackendName::Host);
            prop_assert!(effective.why_this_backend.is_some());
            prop_assert_eq!(effective.controls[0].control, Control::Filesystem);
            prop_assert!(effective.controls[0].enforcement.is_enforced());
        }
    }
}

#[test]
fn that_objects_are_not_hidden_is_told_where_files_of_the_workspace_are() {
    let told = |rule: &str| {
        let mut asked = named(BackendName::Bubblewrap);
        asked.files.hide = vec![HideRule::parse(rule).unwrap()];
        let chosen = resolve(&asked, &[capabilities(BackendName::Bubblewrap, &enforced())]).unwrap();
        chosen.limitations.iter().any(|limitation| limitation.contains("not what is committed"))
    };
    assert_eq!([told("**/.env"), told("/opt/x"), told("~/x")], [true, false, false]);
}
