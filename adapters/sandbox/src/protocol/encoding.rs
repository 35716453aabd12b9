//! Values as bytes, and back from the front of some bytes.
//!
//! A list is its length, then its items; an item of any length comes after its own. Numbers are 8 bytes, little endian.

pub(super) fn put_one(bytes: &mut Vec<u8>, item: &[u8]) {
    bytes.extend((item.len() as u64).to_le_bytes());
    bytes.extend(item);
}

pub(super) fn put_all(bytes: &mut Vec<u8>, items: &[Vec<u8>]) {
    put_each(bytes, items, |bytes, item| put_one(bytes, item));
}

pub(super) fn put_each<T>(bytes: &mut Vec<u8>, items: &[T], put: impl Fn(&mut Vec<u8>, &T)) {
    bytes.extend((items.len() as u64).to_le_bytes());
    items.iter().for_each(|item| put(bytes, item));
}

pub(super) fn put_option<T>(bytes: &mut Vec<u8>, value: Option<&T>, put: impl FnOnce(&mut Vec<u8>, &T)) {
    bytes.push(if value.is_some() { b'+' } else { b'-' });
    if let Some(value) = value {
        put(bytes, value);
    }
}

pub(super) fn take<'a>(bytes: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    Some(taken)
}

pub(super) fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(take(bytes, 8)?.try_into().ok()?))
}

pub(super) fn take_one<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take_number(bytes)?;
    take(bytes, length)
}

pub(super) fn take_all(bytes: &mut &[u8]) -> Option<Vec<Vec<u8>>> {
    take_each(bytes, |bytes| take_one(bytes).map(<[u8]>::to_vec))
}

pub(super) fn take_each<T>(bytes: &mut &[u8], take_it: impl Fn(&mut &[u8]) -> Option<T>) -> Option<Vec<T>> {
    (0..take_number(bytes)?).map(|_| take_it(bytes)).collect()
}

/// `None` if there is neither a value nor none.
pub(super) fn take_option<T>(bytes: &mut &[u8], take_it: impl FnOnce(&mut &[u8]) -> Option<T>) -> Option<Option<T>> {
    match take(bytes, 1)?[0] {
        b'+' => take_it(bytes).map(Some),
        b'-' => Some(None),
        _ => None,
    }
}
