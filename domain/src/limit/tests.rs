use super::*;
use proptest::prelude::*;

fn value(limit: Limit, text: &str) -> Option<u64> {
    limit.parse_value(text).expect(text)
}

#[test]
fn values_are_numbers_with_units() {
    for (limit, text, expected) in [
        (Limit::Time, "90s", 90_000),
        (Limit::Time, "1h30m", 5_400_000),
        (Limit::IdleTime, "250ms", 250),
        (Limit::Memory, "4GiB", 4 << 30),
        (Limit::Output, "1024B", 1024),
        (Limit::Cpu, "1.5", 1500),
        (Limit::Cpu, "0.01", 10),
        (Limit::Processes, "300", 300),
    ] {
        assert_eq!(value(limit, text), Some(expected), "{limit} {text}");
    }
    assert_eq!(value(Limit::Memory, "unlimited"), None);
}

#[test]
fn what_is_no_value_is_refused_with_what_was_meant() {
    for (limit, text, meant) in [
        (Limit::Memory, "0", None),
        (Limit::Memory, "0GiB", Some("unlimited")),
        (Limit::Memory, "-1", Some("unlimited")),
        (Limit::Memory, "-4GiB", None),
        (Limit::Memory, "+4GiB", None),
        (Limit::Memory, "4G", Some("4GiB")),
        (Limit::Memory, "4gib", Some("4GiB")),
        (Limit::Memory, "512", Some("512MiB")),
        (Limit::Memory, "4096PiB", None),
        (Limit::Memory, "99999999999999999999GiB", None),
        (Limit::Memory, "4GiB ", Some("4GiB")),
        (Limit::Memory, "", None),
        (Limit::Time, "30", Some("30s")),
        (Limit::Time, "30 min", Some("30m")),
        (Limit::Time, "1.5h", None),
        (Limit::Time, "400d", None),
        (Limit::CpuTime, "500ms", None),
        (Limit::Cpu, "0", Some("unlimited")),
        (Limit::Cpu, "1.", None),
        (Limit::Cpu, "1.0001", None),
        (Limit::Cpu, ".5", None),
        (Limit::Processes, "1.5", None),
        (Limit::Processes, "0", Some("unlimited")),
        (Limit::OpenFiles, "3", None),
    ] {
        let refused = limit.parse_value(text).expect_err(text);
        assert_eq!(refused.meant.as_deref(), meant, "{limit} {text}");
    }
    let refused = Limit::Cpu.parse_value("x").expect_err("no number");
    assert_eq!(refused.to_string(), "a number of CPUs such as `2` or `0.5`, from 0.01 to 1000, or `unlimited`");
}

#[test]
fn a_control_is_enforced_only_if_every_limit_is() {
    let word = |reports: &[LimitReport]| sum_up(reports).enforcement.word();
    let (held, other) = (LimitReport::by(Limit::Time, 10, "a timer"), LimitReport::not(Limit::Cpu, 10, "no cgroup"));
    assert_eq!(word(&[]), "not_enforced");
    assert_eq!(word(std::slice::from_ref(&held)), "enforced");
    assert_eq!(word(&[held, other.clone()]), "partially_enforced");
    assert_eq!(word(&[other]), "not_enforced");
}

#[test]
fn a_refusal_decides_only_where_the_workload_did_not_succeed() {
    let exceeded =
        |effect| [ExceededLimit { limit: Limit::Processes, value: 3, observed: 3, evidence: String::new(), effect }];
    let (success, failure) = (Some(Exit::Code(0)), Some(Exit::Code(1)));
    assert!(decide(&exceeded(LimitEffect::Ended), success));
    assert!(decide(&exceeded(LimitEffect::Refused), failure) && !decide(&exceeded(LimitEffect::Refused), success));
    assert!(!decide(&exceeded(LimitEffect::Unnoticed), failure) && !decide(&[], failure));
}

fn some_limits() -> impl Strategy<Value = Limits> {
    let values = Limit::ALL.map(|limit| proptest::option::of(limit.range().0..=limit.range().1));
    values.prop_map(|values| {
        Limit::ALL.into_iter().zip(values).fold(Limits::NONE, |limits, (limit, value)| limits.with(limit, value))
    })
}

proptest! {
    #[test]
    fn what_is_shown_is_read_as_the_same(limits in some_limits()) {
        for (limit, value) in limits.iter() {
            prop_assert_eq!(limit.parse_value(&limit.shown(Some(value))), Ok(Some(value)));
        }
    }

    #[test]
    fn a_ceiling_lowers_and_never_raises_and_the_second_time_it_changes_nothing(
        asked in some_limits(), ceiling in some_limits(),
    ) {
        let mut held = asked;
        let lowered = held.lower(&ceiling);
        for limit in Limit::ALL {
            let (asked, most, held) = (asked.of(limit), ceiling.of(limit), held.of(limit));
            let at_most = |held: Option<u64>, most: Option<u64>| most.is_none_or(|most| held.is_some_and(|held| held <= most));
            prop_assert!(at_most(held, asked) && at_most(held, most));
            prop_assert!(held == asked || held == most);
            prop_assert_eq!(lowered.contains(&limit), held != asked);
        }
        let again = held;
        prop_assert_eq!(held.lower(&ceiling), vec![]);
        prop_assert_eq!(held, again);
    }
}
