//! The bytes of an enclosure.

use super::{Enclosure, Inside, OwnNetwork, Privileges, Rule, Use};
use crate::filter::Strictness;
use crate::protocol::encoding::{
    put_all, put_each, put_one, put_option, take, take_all, take_each, take_number, take_one, take_option,
};
use crate::protocol::mounting::{put_overlay, take_overlay};
use crate::view::{Access, Content, Entry, Item, ProcView};

/// One letter for each value.
type Letters<T> = &'static [(u8, T)];

const USES: Letters<Use> =
    &[(b'l', Use::List), (b'r', Use::Read), (b'x', Use::Execute), (b'd', Use::Devices), (b'w', Use::Everything)];
const STRICTNESS: Letters<Strictness> = &[
    (b'n', Strictness::InNamespaces),
    (b'd', Strictness::AloneDenyingNetwork),
    (b'h', Strictness::AloneOnHostNetwork),
];
const PRIVILEGES: Letters<Privileges> = &[(b'u', Privileges::UserNamespace), (b'r', Privileges::Root)];
const NETWORKS: Letters<OwnNetwork> = &[(b'y', OwnNetwork::Yes), (b'n', OwnNetwork::No)];
const ACCESSES: Letters<Access> = &[(b'r', Access::ReadOnly), (b'w', Access::ReadWrite)];
const PROC_VIEWS: Letters<ProcView> = &[(b'f', ProcView::Fresh), (b'h', ProcView::OfHost)];

fn put_letter<T: PartialEq>(bytes: &mut Vec<u8>, letters: Letters<T>, value: &T) {
    bytes.extend(letters.iter().find(|(_, known)| known == value).map(|(letter, _)| *letter));
}

fn take_letter<T: Copy>(bytes: &mut &[u8], letters: Letters<T>) -> Option<T> {
    let letter = take(bytes, 1)?[0];
    letters.iter().find(|(known, _)| *known == letter).map(|(_, value)| *value)
}

impl Enclosure {
    /// Appends the same as bytes.
    pub(in crate::protocol) fn put(bytes: &mut Vec<u8>, enclosure: &Self) {
        put_option(bytes, enclosure.inside.as_ref(), Inside::put);
        bytes.extend(enclosure.landlock_abi.to_le_bytes());
        put_each(bytes, &enclosure.rules, |bytes, Rule { path, allowed }| {
            put_one(bytes, path);
            put_letter(bytes, USES, allowed);
        });
        put_letter(bytes, STRICTNESS, &enclosure.strictness);
        put_all(bytes, &enclosure.own_directories);
    }

    /// Takes one from the front of some bytes.
    pub(in crate::protocol) fn take(bytes: &mut &[u8]) -> Option<Self> {
        let inside = take_option(bytes, Inside::take)?;
        let landlock_abi = take_number(bytes)?;
        let rule =
            |bytes: &mut &[u8]| Some(Rule { path: take_one(bytes)?.to_vec(), allowed: take_letter(bytes, USES)? });
        let rules = take_each(bytes, rule)?;
        let strictness = take_letter(bytes, STRICTNESS)?;
        Some(Self { inside, landlock_abi, rules, strictness, own_directories: take_all(bytes)? })
    }
}

impl Inside {
    fn put(bytes: &mut Vec<u8>, inside: &Self) {
        put_letter(bytes, PRIVILEGES, &inside.privileges);
        put_letter(bytes, NETWORKS, &inside.network);
        put_option(bytes, inside.overlay.as_ref(), put_overlay);
        put_each(bytes, &inside.layers, put_overlay);
        put_each(bytes, &inside.entries, |bytes, Entry { path, item }| {
            put_one(bytes, path);
            put_item(bytes, item);
        });
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let entry = |bytes: &mut &[u8]| Some(Entry { path: take_one(bytes)?.to_vec(), item: take_item(bytes)? });
        Some(Self {
            privileges: take_letter(bytes, PRIVILEGES)?,
            network: take_letter(bytes, NETWORKS)?,
            overlay: take_option(bytes, take_overlay)?,
            layers: take_each(bytes, take_overlay)?,
            entries: take_each(bytes, entry)?,
        })
    }
}

fn put_item(bytes: &mut Vec<u8>, item: &Item) {
    match item {
        Item::Directory => bytes.push(b'd'),
        Item::Link(target) => {
            bytes.push(b'l');
            put_one(bytes, target);
        }
        Item::Host(host_path, access) => {
            bytes.push(b'h');
            put_one(bytes, host_path);
            put_letter(bytes, ACCESSES, access);
        }
        Item::File(Content::Made(content)) => {
            bytes.push(b'f');
            put_one(bytes, content);
        }
        Item::File(Content::OfHost) => bytes.push(b'c'),
        Item::Memory(mode) => {
            bytes.push(b'm');
            bytes.extend(u64::from(*mode).to_le_bytes());
        }
        Item::Devices => bytes.push(b'v'),
        Item::Proc(proc_view) => {
            bytes.push(b'p');
            put_letter(bytes, PROC_VIEWS, proc_view);
        }
        Item::Masked => bytes.push(b'n'),
        Item::Sealed => bytes.push(b's'),
    }
}

fn take_item(bytes: &mut &[u8]) -> Option<Item> {
    Some(match take(bytes, 1)?[0] {
        b'd' => Item::Directory,
        b'l' => Item::Link(take_one(bytes)?.to_vec()),
        b'h' => Item::Host(take_one(bytes)?.to_vec(), take_letter(bytes, ACCESSES)?),
        b'f' => Item::File(Content::Made(take_one(bytes)?.to_vec())),
        b'c' => Item::File(Content::OfHost),
        b'm' => Item::Memory(u32::try_from(take_number(bytes)?).ok()?),
        b'v' => Item::Devices,
        b'p' => Item::Proc(take_letter(bytes, PROC_VIEWS)?),
        b'n' => Item::Masked,
        b's' => Item::Sealed,
        _ => return None,
    })
}
