use super::*;
use isobox_domain::enforcement::ControlReport;
use isobox_domain::policy::{BackendName, Refusal};

fn reported(backend: BackendName, unavailable: Option<&str>, of: impl Fn(Control) -> Enforcement) -> Capabilities {
    let controls = Control::ALL.into_iter().map(|control| ControlReport { control, enforcement: of(control) });
    let unavailable = unavailable.map(str::to_owned);
    Capabilities { unavailable, ..Capabilities::of(backend, controls.collect()) }
}

fn found() -> Backends {
    let landlock = reported(BackendName::Landlock, None, |control| match control {
        Control::Processes => Enforcement::PartiallyEnforced {
            mechanism: "subreaper".to_owned(),
            reason: "host processes can be seen".to_owned(),
        },
        _ => Enforcement::Enforced { mechanism: "Landlock".to_owned() },
    });
    let not_enforced = |_| Enforcement::NotEnforced { reason: "there is no `bwrap` on PATH".to_owned() };
    let bubblewrap = reported(BackendName::Bubblewrap, Some("there is no `bwrap` on PATH"), not_enforced);
    Backends {
        capabilities: vec![landlock, bubblewrap],
        of: PolicyOf::Project,
        choice: BackendChoice::Auto,
        auto: Ok((BackendName::Landlock, "it is the first".to_owned())),
    }
}

fn printed(found: &Backends, columns: Option<usize>) -> String {
    let mut out = Vec::new();
    text(&mut out, found, columns).expect("write");
    String::from_utf8(out).expect("text")
}

#[test]
fn a_table_is_followed_by_what_each_backend_lacks_and_what_auto_takes() {
    let expected = "\
control      landlock            bubblewrap
filesystem   enforced            not_enforced
network      enforced            not_enforced
processes    partially_enforced  not_enforced
privileges   enforced            not_enforced
syscalls     enforced            not_enforced
ipc          enforced            not_enforced
environment  enforced            not_enforced
credentials  enforced            not_enforced
limits       enforced            not_enforced

landlock
  processes    in part, by subreaper: host processes can be seen

bubblewrap
  cannot be used here: there is no `bwrap` on PATH

auto  takes landlock for the project's policy: it is the first
";
    assert_eq!(printed(&found(), None), expected);
    let narrow = printed(&found(), Some(40));
    assert!(
        narrow.contains("  processes    in part, by subreaper:\n               host processes can be\n"),
        "{narrow}"
    );
}

#[test]
fn a_policy_that_names_its_backend_and_one_that_nothing_holds_are_told() {
    let refusal = Refusal::NoBackend { reasons: "landlock: no".to_owned() };
    let choice = BackendChoice::Named(BackendName::Host);
    let found = Backends { of: PolicyOf::Nobody, auto: Err(refusal), choice, ..found() };
    let expected = "auto  takes none for the most restrictive policy: no runtime backend that contains the workload can be used \
                    here: landlock: no; the policy does not ask it: `runtime_backend` is host";
    assert_eq!(printed(&found, None).lines().last(), Some(expected));
    let told = document(&found);
    assert_eq!(told["policy"], json!({ "of": "default", "runtime_backend": "host" }));
    assert_eq!((&told["auto"]["backend"], &told["auto"]["why_this_backend"]), (&Value::Null, &Value::Null));
}
