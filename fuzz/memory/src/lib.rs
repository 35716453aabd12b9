//! Ends a fuzz target that takes more memory than it may.
//!
//! AddressSanitizer calls what is installed here for every allocation, those of zstd in C as well. It gives what was freed
//! back late and keeps room around everything, so the size of the process says nothing; what is counted is what was asked
//! for since the target began, by whichever thread, and is not freed yet.

use std::ffi::{c_int, c_void};
use std::process::abort;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// The most memory that a target may hold at one time, in bytes.
pub const LIMIT: i64 = 64 << 20;

unsafe extern "C" {
    fn __sanitizer_install_malloc_and_free_hooks(
        malloc: extern "C" fn(*const c_void, usize),
        free: extern "C" fn(*const c_void),
    ) -> c_int;
    fn __sanitizer_get_allocated_size(start: *const c_void) -> usize;
}

static IS_WATCHED: AtomicBool = AtomicBool::new(false);
static HELD: AtomicI64 = AtomicI64::new(0);

/// Runs `target`, and aborts when over [`LIMIT`] bytes are held at any time.
pub fn watched(target: impl FnOnce()) {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: both functions live as long as the program and may be called from any thread.
        let installed = unsafe { __sanitizer_install_malloc_and_free_hooks(allocated, freed) };
        assert!(installed > 0, "there is room for one more pair of hooks");
    });
    HELD.store(0, Ordering::Relaxed);
    IS_WATCHED.store(true, Ordering::Relaxed);
    target();
    IS_WATCHED.store(false, Ordering::Relaxed);
}

extern "C" fn allocated(_: *const c_void, length: usize) {
    if !IS_WATCHED.load(Ordering::Relaxed) {
        return;
    }
    let held = HELD.fetch_add(length as i64, Ordering::Relaxed);
    if held + length as i64 > LIMIT {
        IS_WATCHED.store(false, Ordering::Relaxed);
        eprintln!("more than {LIMIT} bytes are held: {held}, and {length} are asked for");
        abort();
    }
}

extern "C" fn freed(start: *const c_void) {
    if IS_WATCHED.load(Ordering::Relaxed) && !start.is_null() {
        // SAFETY: the allocator calls this with what it handed out, before it takes it back.
        let length = unsafe { __sanitizer_get_allocated_size(start) };
        HELD.fetch_sub(length as i64, Ordering::Relaxed);
    }
}
