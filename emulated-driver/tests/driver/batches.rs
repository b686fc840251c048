//! Batches of copies, what is said of where memory should be, and what pools tell.

use super::*;

#[test]
fn a_batch_copies_all_or_tells_which_failed() {
    context();
    let (mut stream, from, to) = (NONE, alloc(64), alloc(64));
    let place: *mut Handle = &mut stream;
    assert_eq!(call!(cuStreamCreate(place => *mut Handle, 1 => c_uint)), 0);
    assert_eq!(upload(from, &[1, 2, 3, 4]), 0);
    let targets = [to + 8, to];
    let sources = [from, from + 8];
    let bytes = [8usize, 8];
    let copy = |targets: &[u64; 2]| {
        let mut failed = 9usize;
        let place: *mut usize = &mut failed;
        let code = call!(cuMemcpyBatchAsync(
            targets.as_ptr() => *const u64, sources.as_ptr() => *const u64,
            bytes.as_ptr() => *const usize, 2 => usize, NONE => Handle, NONE => Handle,
            0 => usize, place => *mut usize, stream => Handle
        ));
        (code, failed)
    };
    assert_eq!(copy(&targets), (0, usize::MAX));
    let mut found = [0; 4];
    assert_eq!((download(to, &mut found), found), (0, [3, 4, 1, 2]));
    // The second one ends behind the allocation.
    assert_eq!(copy(&[to, to + 60]), (1, 1));

    // Two rows of two words, from rows of 16 bytes to rows without gaps.
    let operand = |address: u64, row: u64| [1, address, row, 2, 0];
    let mut operation = [0u64; 14];
    operation[..5].copy_from_slice(&operand(from, 16));
    operation[5..10].copy_from_slice(&operand(to, 8));
    operation[10..13].copy_from_slice(&[8, 2, 1]);
    assert_eq!(upload(from, &[5, 6, 0, 0, 7, 8, 0, 0]), 0);
    let all = operation.as_ptr();
    let code = call!(cuMemcpy3DBatchAsync_v2(
        1 => usize, all => *const u64, 0 => u64, stream => Handle
    ));
    assert_eq!(code, 0);
    assert_eq!((download(to, &mut found), found), (0, [5, 6, 7, 8]));
}

#[test]
fn managed_memory_tells_what_was_said_of_it() {
    context();
    let mut address = 0u64;
    let (to, bytes): (*mut u64, usize) = (&mut address, 3 << 16);
    let code = call!(cuMemAllocManaged(to => *mut u64, bytes => usize, 1 => c_uint));
    assert_eq!(code, 0);
    let ask = |attribute: c_uint, start: u64, bytes: usize| {
        let mut value = 9i32;
        let to: *mut i32 = &mut value;
        let code = call!(cuMemRangeGetAttribute(
            to => *mut i32, 4 => usize, attribute => c_uint, start => u64, bytes => usize
        ));
        (code, value)
    };
    assert_eq!(ask(1, address, bytes), (0, 0));
    assert_eq!(ask(2, address, bytes), (0, -2));
    let advise = |advice: c_uint, device: c_int| {
        call!(cuMemAdvise(
            address => u64, 1 << 16 => usize, advice => c_uint, device => c_int
        ))
    };
    assert_eq!(advise(1, 0), 0);
    assert_eq!(advise(3, 0), 0);
    assert_eq!(advise(3, 99), 101);
    assert_eq!(advise(9, 0), 1);
    assert_eq!(ask(1, address, 1 << 16), (0, 1));
    assert_eq!(ask(2, address, 1 << 16), (0, 0));
    assert_eq!(ask(2, address, bytes), (0, -2));
    let code = call!(cuMemPrefetchAsync(
        address => u64, bytes => usize, -1 => c_int, NONE => Handle
    ));
    assert_eq!(code, 0);
    assert_eq!(ask(4, address, bytes), (0, -1));
    assert_eq!(ask(7, address, bytes), (0, 2));
    assert_eq!(ask(4, alloc(64), 64).0, 1);
    assert_eq!(call!(cuMemFree_v2(address => u64)), 0);
}

#[test]
fn pools_tell_what_is_used_and_was_at_most() {
    context();
    let mut pool = NONE;
    let (mut properties, to): ([c_int; 22], *mut Handle) = ([0; 22], &mut pool);
    (properties[0], properties[2]) = (1, 1);
    let from = properties.as_ptr();
    assert_eq!(
        call!(cuMemPoolCreate(to => *mut Handle, from => *const c_int)),
        0
    );
    let ask = |attribute: c_uint| {
        let mut value = 9u64;
        let to: *mut u64 = &mut value;
        let code = call!(cuMemPoolGetAttribute(
            pool => Handle, attribute => c_uint, to => *mut u64
        ));
        assert_eq!(code, 0);
        value
    };
    assert_eq!([5, 6, 7, 8].map(ask), [0; 4]);
    let mut address = 0u64;
    let to: *mut u64 = &mut address;
    let code = call!(cuMemAllocFromPoolAsync(
        to => *mut u64, 4096 => usize, pool => Handle, NONE => Handle
    ));
    assert_eq!(code, 0);
    assert_eq!([5, 6, 7, 8].map(ask), [4096; 4]);
    assert_eq!(call!(cuMemFreeAsync(address => u64, NONE => Handle)), 0);
    assert_eq!([5, 6, 7, 8].map(ask), [0, 4096, 0, 4096]);
    let set = |value: u64| {
        let from: *const u64 = &value;
        call!(cuMemPoolSetAttribute(
            pool => Handle, 8 => c_uint, from => *const u64
        ))
    };
    assert_eq!(set(5), 1);
    assert_eq!(set(0), 0);
    assert_eq!([6, 8].map(ask), [4096, 0]);
    // The pool that a device's allocations are from is its default one again when that one is gone.
    assert_eq!(call!(cuDeviceSetMemPool(0 => c_int, pool => Handle)), 0);
    assert_eq!(call!(cuMemPoolDestroy(pool => Handle)), 0);
    let (mut now, mut default) = (NONE, NONE);
    let (to, other): (*mut Handle, *mut Handle) = (&mut now, &mut default);
    assert_eq!(call!(cuDeviceGetMemPool(to => *mut Handle, 0 => c_int)), 0);
    assert_eq!(
        call!(cuDeviceGetDefaultMemPool(other => *mut Handle, 0 => c_int)),
        0
    );
    assert_eq!(now, default);
    assert_eq!(call!(cuMemPoolDestroy(default => Handle)), 1);
}

#[test]
fn pools_have_managed_memory_and_batches_prefetch_it() {
    context();
    // Managed memory has no place by default.
    let (mut pool, place) = (NONE, [0, 0]);
    let (to, from): (*mut Handle, *const [c_int; 2]) = (&mut pool, &place);
    let code = call!(cuMemGetMemPool(
        to => *mut Handle, from => *const [c_int; 2], 2 => c_uint
    ));
    assert_eq!(code, 0);
    let mut ranges = [0u64; 3];
    for (range, bytes) in ranges.iter_mut().zip([4096usize, 4096, 0]) {
        let to: *mut u64 = range;
        let code = call!(cuMemAllocFromPoolAsync(
            to => *mut u64, bytes => usize, pool => Handle, NONE => Handle
        ));
        assert_eq!(code, 0);
        assert_ne!(*range, 0);
    }
    let value: *mut u32 = std::ptr::with_exposed_provenance_mut(ranges[0] as usize);
    // SAFETY: managed memory is the host's too.
    unsafe { value.write(3) };
    let mut found = [0];
    assert_eq!((download(ranges[0], &mut found), found), (0, [3]));

    let bytes = [4096usize; 2];
    // The host, and the first device.
    let (places, indices) = ([[2, 0], [1, 0]], [0usize, 1]);
    let prefetch = |indices: &[usize; 2]| {
        call!(cuMemPrefetchBatchAsync(
            ranges.as_ptr() => *const u64, bytes.as_ptr() => *const usize, 2 => usize,
            places.as_ptr() => *const [c_int; 2], indices.as_ptr() => *const usize, 2 => usize,
            0 => u64, NONE => Handle
        ))
    };
    assert_eq!((prefetch(&[1, 0]), prefetch(&[0, 2])), (1, 1));
    assert_eq!(prefetch(&indices), 0);
    for (range, expected) in ranges.into_iter().zip([-1, 0]) {
        let mut last = 9;
        let to: *mut c_int = &mut last;
        // CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION.
        let code = call!(cuMemRangeGetAttribute(
            to => *mut c_int, 4 => usize, 4 => c_uint, range => u64, 4096 => usize
        ));
        assert_eq!((code, last), (0, expected));
    }
    let code = call!(cuMemFreeAsync(ranges[2] => u64, NONE => Handle));
    assert_eq!(code, 0);
}
