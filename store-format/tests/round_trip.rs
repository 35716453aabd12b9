//! What is encoded decodes to the same; what is accepted re-encodes to the same; nothing panics.

mod arbitrary;

use isobox_domain::change::{ChangeLine, ChangeSetRef};
use isobox_domain::content::ContentRef;
use isobox_store_format::change_set::{ChangeSetWriter, decode_chunk, decode_index, encode_index, read_change_set};
use isobox_store_format::event::{decode_event, encode_event};
use isobox_store_format::object::reference_to;
use isobox_store_format::policy::{decode_policy, encode_policy};
use isobox_store_format::record::{ChildRole, children, decode_record, encode_record};
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::HashMap;

/// What the lines of a Change Set become, and every object of it by its id.
fn write(lines: &[ChangeLine]) -> (ChangeSetRef, HashMap<ContentRef, Vec<u8>>) {
    let mut writer = ChangeSetWriter::default();
    let mut objects: Vec<Vec<u8>> = lines.iter().filter_map(|line| writer.push(line).expect("in order")).collect();
    let finished = writer.finish().expect("finish").expect("lines");
    objects.extend([finished.chunk, finished.index]);
    (finished.reference, objects.into_iter().map(|bytes| (reference_to(&bytes), bytes)).collect())
}

/// One change to some bytes, as damage or an attacker makes it.
#[derive(Clone, Debug)]
enum Mutation {
    Set(Index, u8),
    Insert(Index, u8),
    Remove(Index),
    Truncate(Index),
    Repeat(Index, Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    // Heads of CBOR items and their neighbours do more harm than other bytes.
    let byte =
        || prop_oneof![any::<u8>(), proptest::sample::select(vec![0, 1, 0x17, 0x18, 0x5f, 0x80, 0xa0, 0xf9, 0xff])];
    prop_oneof![
        (any::<Index>(), byte()).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        (any::<Index>(), byte()).prop_map(|(at, byte)| Mutation::Insert(at, byte)),
        any::<Index>().prop_map(Mutation::Remove),
        any::<Index>().prop_map(Mutation::Truncate),
        (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Mutation::Repeat(a, b)),
    ]
}

fn mutate(bytes: &mut Vec<u8>, mutation: &Mutation) {
    if bytes.is_empty() {
        return;
    }
    match mutation {
        Mutation::Set(at, byte) => *at.get_mut(bytes) = *byte,
        Mutation::Insert(at, byte) => bytes.insert(at.index(bytes.len()), *byte),
        Mutation::Remove(at) => drop(bytes.remove(at.index(bytes.len()))),
        Mutation::Truncate(at) => bytes.truncate(at.index(bytes.len())),
        Mutation::Repeat(a, b) => {
            let (a, b) = (a.index(bytes.len()), b.index(bytes.len()));
            let part = bytes[a.min(b)..a.max(b)].to_vec();
            bytes.splice(a..a, part);
        }
    }
}

/// Hands `bytes` to every decoder; whatever one accepts must be exactly what its value encodes to.
fn check_all(bytes: &[u8], policy_bytes: &[u8]) -> Result<(), TestCaseError> {
    if let Ok(policy) = decode_policy(bytes) {
        prop_assert_eq!(encode_policy(&policy).expect("encode"), bytes);
    }
    if let Ok(event) = decode_event(bytes) {
        prop_assert_eq!(encode_event(&event).expect("encode"), bytes);
    }
    if let Ok(record) = decode_record(bytes, policy_bytes) {
        prop_assert_eq!(&encode_record(&record).expect("encode").bytes, bytes);
    }
    if let Ok(index) = decode_index(bytes) {
        prop_assert_eq!(encode_index(&index).expect("encode"), bytes);
    }
    if let Ok(lines) = decode_chunk(bytes) {
        let mut writer = ChangeSetWriter::default();
        if lines.iter().all(|line| writer.push(line).is_ok()) {
            prop_assert_eq!(&writer.finish().expect("finish").expect("lines").chunk, bytes);
        }
    }
    prop_assert!(children(bytes).is_ok() || decode_record(bytes, policy_bytes).is_err());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_record_is_read_back_as_it_was_written(record in arbitrary::record()) {
        let encoded = encode_record(&record).expect("encode");
        prop_assert_eq!(decode_record(&encoded.bytes, &encoded.policy_bytes), Ok(record.clone()));
        let children = children(&encoded.bytes).expect("children");
        prop_assert_eq!((children[0].role, children[0].reference), (ChildRole::Policy, reference_to(&encoded.policy_bytes)));
        let found = |role| children.iter().find(|child| child.role == role).map(|child| child.reference);
        let change_set = record.artifacts.change_set.map(|set| ContentRef { id: set.id, length: set.length });
        prop_assert_eq!(found(ChildRole::Stdout), record.artifacts.stdout);
        prop_assert_eq!(found(ChildRole::Stderr), record.artifacts.stderr);
        prop_assert_eq!(found(ChildRole::Timeline), record.artifacts.timeline);
        prop_assert_eq!(found(ChildRole::ChangeSet), change_set);
        prop_assert_eq!(found(ChildRole::Patch), record.artifacts.patch);
        prop_assert_eq!(found(ChildRole::WorkspaceGit), record.artifacts.workspace_git);
        prop_assert_eq!(found(ChildRole::V1Record), record.artifacts.v1_record);
        prop_assert_eq!(found(ChildRole::V1Files), record.artifacts.v1_files);
        prop_assert!(children.is_sorted_by(|a, b| a.role < b.role));
    }

    #[test]
    fn a_policy_is_read_back_as_it_was_written(policy in arbitrary::policy()) {
        prop_assert_eq!(decode_policy(&encode_policy(&policy).expect("encode")), Ok(policy));
    }

    #[test]
    fn an_event_is_read_back_as_it_was_written(event in arbitrary::event()) {
        prop_assert_eq!(decode_event(&encode_event(&event).expect("encode")), Ok(event));
    }

    #[test]
    fn a_change_set_is_read_back_as_it_was_written(lines in arbitrary::lines()) {
        let (reference, objects) = write(&lines);
        let reader = read_change_set(&reference, |part| Ok(objects[part].clone())).expect("open");
        prop_assert_eq!(reader.collect::<Result<Vec<_>, _>>().expect("read"), lines);
    }

    #[test]
    fn damaged_objects_are_refused_or_mean_what_they_say(
        record in arbitrary::record(),
        event in arbitrary::event(),
        lines in arbitrary::lines(),
        mutations in proptest::collection::vec(mutation(), 1..4),
    ) {
        let encoded = encode_record(&record).expect("encode");
        let (_, objects) = write(&lines);
        let mut all: Vec<Vec<u8>> = objects.into_values().collect();
        all.extend([encoded.bytes, encode_event(&event).expect("encode"), encoded.policy_bytes.clone()]);
        for mut bytes in all {
            mutations.iter().for_each(|mutation| mutate(&mut bytes, mutation));
            check_all(&bytes, &encoded.policy_bytes)?;
        }
    }

    #[test]
    fn random_bytes_are_no_object(bytes: Vec<u8>) {
        check_all(&bytes, &bytes)?;
    }
}
