//! What verdicts follow from what was found.

use super::*;

#[test]
fn the_parts_of_a_sample_are_everything_once() {
    let ids: Vec<_> = (0..=255).map(|n| ContentId::new([n; 32])).collect();
    for id in &ids {
        let taking = (1..=7).filter(|part| Sample::new(*part, 7).is_some_and(|sample| sample.takes(id)));
        assert_eq!(taking.count(), 1, "{id}");
    }
    for (part, of) in [(0, 7), (8, 7), (1, 0)] {
        assert_eq!(Sample::new(part, of), None);
    }
}

#[test]
fn every_part_has_its_day() {
    let seven = NonZeroU32::new(7).expect("it is not zero");
    let mut parts: Vec<_> = (20_000..20_007).map(|day| Sample::of_day(day, seven).parts()).collect();
    parts.sort_unstable();
    assert_eq!(parts, (1..=7).map(|part| (part, 7)).collect::<Vec<_>>());
}

#[test]
fn damage_gaps_and_missing_content_are_different_verdicts() {
    let with = |kind| {
        let mut verification = Verification::default();
        verification.add(Defect::new(kind, Vec::new()));
        (verification.integrity(), verification.completeness())
    };
    let damaged = DefectKind::Damaged { file: "a".into(), offset: 0, reason: "b".into(), object: None };
    assert_eq!(with(damaged), (Verdict::Broken, Verdict::Unknown));
    let missing = DefectKind::Missing { object: ContentId::new([1; 32]) };
    assert_eq!(with(missing), (Verdict::Holds, Verdict::Broken));
    assert_eq!(with(DefectKind::Gap { reason: "c".into() }), (Verdict::Holds, Verdict::Broken));
    assert_eq!(with(DefectKind::History { reason: "d".into() }), (Verdict::Holds, Verdict::Broken));
    assert!(Verification::default().is_sound());
}
#[test]
fn completeness_and_signature_hold_only_by_a_log_that_somebody_vouches_for() {
    let looked = |is_whole, vouched: &[&str]| {
        let vouched = vouched.iter().map(ToString::to_string).collect();
        let log = LogLook::Looked { size: 3, unlogged: 1, is_whole, vouched };
        let verification = Verification { log, ..Verification::default() };
        (verification.completeness(), verification.signature())
    };
    assert_eq!(looked(true, &["a"]), (Verdict::Holds, Verdict::Holds));
    assert_eq!(looked(true, &[]), (Verdict::Holds, Verdict::Unknown));
    assert_eq!(looked(false, &["a"]), (Verdict::Unknown, Verdict::Holds));
    for log in [LogLook::Left, LogLook::Absent] {
        let mut verification = Verification { log, ..Verification::default() };
        assert_eq!((verification.completeness(), verification.signature()), (Verdict::Unknown, Verdict::Unknown));
        verification.add(Defect::new(DefectKind::Signature { reason: "e".into() }, Vec::new()));
        assert_eq!(verification.signature(), Verdict::Broken);
    }
}
