//! What the page's script calls: a request goes in as JSON, and its answer comes out as JSON.

use crate::answer;
use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Memory for a request of `bytes` bytes, which the caller fills before it calls
/// [`warpladder_answer`].
#[unsafe(no_mangle)]
pub extern "C" fn warpladder_request(bytes: usize) -> *mut u8 {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| std::panic::set_hook(Box::new(keep_panic)));
    REQUEST.with_borrow_mut(|request| {
        *request = vec![0; bytes];
        request.as_mut_ptr()
    })
}

/// Answers the request. Where it traps, the answer is the error, and the instance is not to be
/// used any more.
#[unsafe(no_mangle)]
pub extern "C" fn warpladder_answer() {
    let request = REQUEST.take();
    let text = answer(&String::from_utf8_lossy(&request));
    ANSWER.set(text);
}

/// The first byte of the answer, which stays until the next request.
#[unsafe(no_mangle)]
pub extern "C" fn warpladder_answer_start() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}

/// The length of the answer in bytes of UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn warpladder_answer_bytes() -> usize {
    ANSWER.with_borrow(String::len)
}

/// A panic traps in WebAssembly, and its message would be lost.
fn keep_panic(panic: &std::panic::PanicHookInfo<'_>) {
    let message = panic.to_string().replace('\n', " ");
    let error = format!("the emulator failed, please report it with what you ran: {message}");
    ANSWER.set(serde_json::json!({ "error": error }).to_string());
}
