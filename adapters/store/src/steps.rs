//! Moments at which a test holds a thread up, so that it can try every order of what several do at once.

use std::cell::RefCell;
use std::time::Duration;

type Hook = Box<dyn Fn(&'static str)>;

thread_local! {
    static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
}

/// Calls `hook` with the name of every step that this thread comes to, from now on: the real code, with its real locks.
#[doc(hidden)]
pub fn hook_steps(hook: impl Fn(&'static str) + 'static) {
    HOOK.with(|cell| *cell.borrow_mut() = Some(Box::new(hook)));
}

/// This thread comes to a step.
pub(crate) fn step(name: &'static str) {
    hooked(name);
}

/// This thread waits for a lock that another holds.
pub(crate) fn wait(pause: Duration) {
    if !hooked("waits") {
        std::thread::sleep(pause);
    }
}

fn hooked(name: &'static str) -> bool {
    HOOK.with(|cell| cell.borrow().as_ref().map(|hook| hook(name)).is_some())
}
