//! Records of version 1, as somebody left them.

use isobox_domain::content::ContentId;
use isobox_domain::record::RecordedArgument;
use isobox_domain::record::TaskArtifacts;
use isobox_domain::task_id::TaskId;
use isobox_domain::timestamp::Timestamp;
use isobox_domain::v1::Import;
use isobox_ports::{V1Format, V1ParseError};
use isobox_store_format::event::encode_event;
use isobox_store_format::record::encode_record;
use isobox_v1::V1Json;

// What is accepted is read back from what it is written as, and the store accepts the record that stands for it.
pub(crate) fn v1_record(bytes: &[u8]) {
    let import = import();
    let record = match V1Json.parse(bytes) {
        Ok(v1) => {
            assert_eq!(V1Json.parse(&V1Json.encode(&v1)).map(|again| again.policy), Ok(v1.policy.clone()));
            let arguments = v1.command().0.into_iter();
            let command = arguments.map(|shown| RecordedArgument { shown, masked_digest: None }).collect();
            let record = v1.record(import, command);
            if let Some(event) = v1.promotion(&record, ContentId::new([7; 32])) {
                encode_event(&event).expect("an event that the store accepts");
            }
            record
        }
        Err(V1ParseError::NotImportable(why)) => why.record(import),
        Err(V1ParseError::View | V1ParseError::Refused { .. }) => return,
    };
    encode_record(&record).expect("a record that the store accepts");
}

fn import() -> Import {
    Import {
        task: TaskId::new([1; 8]),
        attempt: 1,
        parents: Vec::new(),
        now: Timestamp::nearest(1_800_000_000_000),
        salt: [2; 16],
        version: "0".to_owned(),
        artifacts: TaskArtifacts::default(),
        missing: Vec::new(),
        warnings: Vec::new(),
    }
}
