//! Which CUDA the program was linked for, where functions of one name differ.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// Tags of a dynamic section: its end, a library's name, the table of names.
const END: u64 = 0;
const NEEDED: u64 = 1;
const NAMES: u64 = 5;

/// Whether something in the process is linked with the runtime of CUDA 12, and nothing with that of
/// CUDA 13.
pub(super) fn is_12() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let mut found = [false; 2];
        let place: *mut [bool; 2] = &mut found;
        // SAFETY: the function is called with objects that stay loaded during the call, and with
        // this place, which outlives it.
        unsafe { libc::dl_iterate_phdr(Some(look_at), place.cast()) };
        found == [true, false]
    })
}

/// Notes in two `bool`s whether an object needs the library of CUDA 12 or of CUDA 13.
unsafe extern "C" fn look_at(
    object: *mut libc::dl_phdr_info,
    _bytes: usize,
    found: *mut c_void,
) -> c_int {
    // SAFETY: the caller passes a loaded object, and the place of `is_12`.
    let (object, found) = unsafe { (&*object, &mut *found.cast::<[bool; 2]>()) };
    for index in 0..usize::from(object.dlpi_phnum) {
        // SAFETY: the object has this many headers.
        let header = unsafe { &*object.dlpi_phdr.add(index) };
        if header.p_type == libc::PT_DYNAMIC {
            let start = object.dlpi_addr.wrapping_add(header.p_vaddr);
            for name in needed(start as usize, object.dlpi_addr) {
                found[0] |= name == c"libcudart.so.12";
                found[1] |= name == c"libcudart.so.13";
            }
        }
    }
    0
}

/// The libraries that a dynamic section in memory names; none where its table of names has no
/// address of this process, as in the kernel's own object.
fn needed(section: usize, base: u64) -> Vec<&'static CStr> {
    let entries: *const [u64; 2] = std::ptr::with_exposed_provenance(section);
    let all = (0..).map(|index| {
        // SAFETY: a loaded object's section ends with an entry that the loop below stops at.
        unsafe { entries.add(index).read_unaligned() }
    });
    let all: Vec<[u64; 2]> = all.take_while(|entry| entry[0] != END).collect();
    let names = all.iter().find(|entry| entry[0] == NAMES);
    let Some(&[_, names]) = names.filter(|entry| entry[1] >= base.max(1 << 16)) else {
        return Vec::new();
    };
    let offsets = all.iter().filter(|entry| entry[0] == NEEDED);
    let texts = offsets.map(|entry| {
        let text: *const c_char = std::ptr::with_exposed_provenance((names + entry[1]) as usize);
        // SAFETY: the table of a loaded object has texts that end in a null byte.
        unsafe { CStr::from_ptr(text) }
    });
    texts.collect()
}
