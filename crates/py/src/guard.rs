//! The boundary that no panic crosses: each becomes an `EngineError` that says where it happened.

use crate::errors::EngineError;
use pyo3::prelude::*;
use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

thread_local! {
    /// Calls of [`guarded`] that are under way in this thread, and where the last panic happened.
    static GUARDED: RefCell<(u32, Option<String>)> = const { RefCell::new((0, None)) };
}

/// Set to break any run on purpose: how the package's tests see what a panic becomes.
const BREAK: &str = "LEAFSPINE_TEST_PANIC";

/// Set to see the engine's own words about a panic, and its backtrace (`RUST_BACKTRACE=1`).
const DEBUG: &str = "LEAFSPINE_DEBUG";

/// Panics if the environment asks for it.
pub(crate) fn break_on_purpose() {
    assert!(std::env::var_os(BREAK).is_none(), "{BREAK} is set");
}

/// Does `work`; a panic in it is an `EngineError`, and says nothing on standard error unless
/// `LEAFSPINE_DEBUG` asks for more.
pub(crate) fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !noted(info) || std::env::var_os(DEBUG).is_some() {
                loud(info);
            }
        }));
    });
    GUARDED.with_borrow_mut(|state| state.0 += 1);
    // What `work` has changed is its own and goes with it, or is a progress, which is atomic.
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    let place = GUARDED.with_borrow_mut(|state| {
        state.0 -= 1;
        state.1.take()
    });
    result.unwrap_or_else(|payload| Err(broken(payload.as_ref(), place)))
}

/// Remembers where a guarded thread panics. False in any other thread.
fn noted(info: &PanicHookInfo<'_>) -> bool {
    let note = |state: &RefCell<(u32, Option<String>)>| {
        let Ok(mut state) = state.try_borrow_mut() else { return false };
        if state.0 > 0 {
            state.1 = info.location().map(|at| format!("{}:{}", at.file(), at.line()));
        }
        state.0 > 0
    };
    GUARDED.try_with(note).unwrap_or(false)
}

fn broken(payload: &(dyn Any + Send), place: Option<String>) -> PyErr {
    let said = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "no message".to_owned(),
    };
    let place = place.unwrap_or_else(|| "an unknown place".to_owned());
    EngineError::new_err(format!(
        "the engine broke off at {place}: {said}; this is a fault of leafspine or of a scheme from outside: \
         please report it with the scenario"
    ))
}
