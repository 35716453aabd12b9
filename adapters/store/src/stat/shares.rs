//! What each member of a block takes of it.

use isobox_store_format::block::Member;
use isobox_store_format::entry::{EntryHeader, HEADER_LEN};

/// The shares of members: of the bytes behind the table, each has as much as it has of the raw bytes.
pub(super) struct Shares {
    /// Each member with the bytes that it takes.
    pub(super) members: Vec<(Member, u64)>,
    /// What is nobody's: the header, the table, and all of a block of empty members.
    pub(super) rest: u64,
}

/// Divides the block with this header among its members.
pub(super) fn divide(header: &EntryHeader, members: Vec<Member>, table_length: u64) -> Shares {
    let frame = header.stored_length.saturating_sub(table_length);
    // Rounded at the ends of members, so that nothing is lost between them.
    let share_up_to = |raw: u64| match header.raw_length {
        0 => 0,
        all => (u128::from(frame) * u128::from(raw) / u128::from(all)) as u64,
    };
    let mut raw = 0;
    let divided = members.into_iter().map(|member| {
        let before = share_up_to(raw);
        raw += u64::from(member.length);
        (member, share_up_to(raw) - before)
    });
    let members: Vec<_> = divided.collect();
    let rest = HEADER_LEN as u64 + header.stored_length - members.iter().map(|(_, share)| share).sum::<u64>();
    Shares { members, rest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::content::ContentId;
    use isobox_store_format::entry::{Codec, EntryKind};

    #[test]
    fn members_and_what_is_nobodys_take_all_of_a_block() {
        for lengths in [&[1u32, 2, 4][..], &[7; 100], &[0, 5], &[0]] {
            let member = |(n, length): (usize, &u32)| Member {
                kind: EntryKind::Artifact,
                id: ContentId::new([n as u8; 32]),
                length: *length,
            };
            let members: Vec<_> = lengths.iter().enumerate().map(member).collect();
            let header = EntryHeader {
                kind: EntryKind::Block,
                codec: Codec::Block,
                id: ContentId::new([0; 32]),
                raw_length: lengths.iter().map(|length| u64::from(*length)).sum(),
                stored_length: 1000,
                payload_crc: 0,
            };
            let Shares { members, rest } = divide(&header, members, 100);
            assert_eq!(rest + members.iter().map(|(_, share)| share).sum::<u64>(), header.entry_length());
            let is_empty = header.raw_length == 0;
            assert_eq!(rest, if is_empty { header.entry_length() } else { HEADER_LEN as u64 + 100 });
        }
    }
}
