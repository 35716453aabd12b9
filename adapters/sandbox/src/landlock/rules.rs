//! What Landlock lets a workload use: what its view shows, as the view shows it.

use crate::protocol::{Rule, Use};
use crate::view::{Access, Entry, Item};

/// The rules for a view.
pub(super) fn of(entries: &[Entry]) -> Vec<Rule> {
    // What is on the way to something can be listed, and is nothing else.
    let root = Rule { path: b"/".to_vec(), allowed: Use::List };
    let of_devices = entries.iter().filter(|entry| entry.item == Item::Devices);
    let shared_memory = of_devices.map(|entry| [&entry.path[..], b"/shm"].concat());
    let shared_memory = shared_memory.map(|path| Rule { path, allowed: Use::Everything });
    let shown =
        entries.iter().filter_map(|Entry { path, item }| Some(Rule { path: path.clone(), allowed: use_of(item)? }));
    [root].into_iter().chain(shared_memory).chain(shown).collect()
}

const fn use_of(item: &Item) -> Option<Use> {
    match item {
        Item::Host(_, Access::ReadOnly) => Some(Use::Execute),
        Item::Host(_, Access::ReadWrite) | Item::Memory(_) => Some(Use::Everything),
        Item::File(_) | Item::Proc(_) => Some(Use::Read),
        Item::Devices => Some(Use::Devices),
        // Neither is a place, or it is one of those that are on the way.
        Item::Directory | Item::Link(_) | Item::Masked | Item::Sealed => None,
    }
}
