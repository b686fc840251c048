//! Memory that programs allocate, register and divide.

use super::*;

#[test]
fn managed_and_pinned_memory_is_the_hosts_too() {
    context();
    let (add, n) = (function(load(ADD).1, c"add").1, 500usize);
    let mut addresses = [0u64; 3];
    for (index, address) in addresses.iter_mut().enumerate() {
        let to: *mut u64 = address;
        let code = match index {
            0 => call!(cuMemAllocHost_v2(to => *mut u64, 4 * n => usize)),
            _ => call!(cuMemAllocManaged(to => *mut u64, 4 * n => usize, 1 => c_uint)),
        };
        assert_eq!(code, 0);
    }
    let pointers: [*mut u32; 3] =
        addresses.map(|address| std::ptr::with_exposed_provenance_mut(address as usize));
    for index in 0..n {
        // SAFETY: the allocations hold `n` values, and no kernel runs.
        unsafe {
            pointers[0].add(index).write(index as u32);
            pointers[1].add(index).write(2);
        }
    }
    assert_eq!(launch(add, NONE, addresses, n as u32), 0);
    for index in 0..n {
        // SAFETY: the allocation holds `n` values, and no kernel runs.
        assert_eq!(unsafe { pointers[2].add(index).read() }, index as u32 + 6);
    }
    assert_eq!(call!(cuMemFreeHost(addresses[0] => u64)), 0);
    assert_eq!(call!(cuMemFree_v2(addresses[1] => u64)), 0);
    assert_eq!(call!(cuMemFree_v2(addresses[1] => u64)), 1);
}

#[test]
fn the_limit_of_the_device_heap_counts() {
    context();
    let (limit, mut now) = (16usize << 20, 0usize);
    let to: *mut usize = &mut now;
    assert_eq!(call!(cuCtxSetLimit(2 => c_uint, limit => usize)), 0);
    assert_eq!(call!(cuCtxGetLimit(to => *mut usize, 2 => c_uint)), 0);
    assert_eq!(now, limit);
    let (code, module) = load(
        ".version 7.0\n.target sm_70\n.address_size 64
         .extern .func (.param .b64 result) malloc (.param .b64 bytes);
         .visible .entry take(.param .u64 to) {
             .reg .pred %p; .reg .b32 %r; .reg .b64 %rd<3>;
             .param .b64 bytes; .param .b64 block;
             mov.u32 %r, %tid.x; setp.ne.u32 %p, %r, 0; @%p ret;
             ld.param.u64 %rd1, [to];
             mov.u64 %rd2, 12000000; st.param.b64 [bytes], %rd2;
             call.uni (block), malloc, (bytes);
             ld.param.b64 %rd2, [block]; st.global.u64 [%rd1], %rd2;
             ret;
         }",
    );
    assert_eq!(code, 0);
    let (code, take) = function(module, c"take");
    assert_eq!(code, 0);
    let data = alloc(8);
    assert_eq!(launch(take, std::ptr::null_mut(), [data, 0, 0], 1), 0);
    let mut block = [0; 2];
    assert_eq!(download(data, &mut block), 0);
    assert_ne!(block, [0; 2]);
    // The heap is there now.
    assert_eq!(call!(cuCtxSetLimit(2 => c_uint, 8 << 20 => usize)), 1);
    super::device_launches::memory_of_the_device_heap_is_passed_on();
}

#[test]
fn a_pool_tells_who_may_access_its_memory() {
    context();
    let mut pool: Handle = NONE;
    let to: *mut Handle = &mut pool;
    assert_eq!(
        call!(cuDeviceGetDefaultMemPool(to => *mut Handle, 0 => c_int)),
        0
    );
    let access = |location: [c_int; 2]| {
        let mut access = 9;
        let (to, at): (*mut c_uint, *const [c_int; 2]) = (&mut access, &location);
        let code = call!(cuMemPoolGetAccess(
            to => *mut c_uint, pool => Handle, at => *const [c_int; 2]
        ));
        (code, access)
    };
    assert_eq!(access([1, 0]), (0, 3));
    assert_eq!(access([2, 0]), (0, 0));
    assert_eq!(access([1, 99]), (101, 9));
}

/// Programs allocate half of a GPU's memory and divide it themselves: what they do not touch takes
/// neither memory of the host nor time.
#[test]
fn memory_that_is_not_used_takes_none_of_the_host() {
    context();
    let (mut free, mut total) = (0usize, 0usize);
    let places: (*mut usize, *mut usize) = (&mut free, &mut total);
    assert_eq!(
        call!(cuMemGetInfo_v2(places.0 => *mut usize, places.1 => *mut usize)),
        0
    );
    let bytes = (total / 2) & !7;
    let begun = std::time::Instant::now();
    let start = alloc(bytes);
    assert!(begun.elapsed().as_secs() < 2, "{bytes} bytes");
    let end = start + bytes as u64 - 8;
    assert_eq!(upload(end, &[5, 6]), 0);
    let mut found = [1; 2];
    assert_eq!((download(start, &mut found), found), (0, [0, 0]));
    assert_eq!((download(end, &mut found), found), (0, [5, 6]));
    assert_eq!(upload(end, &[5, 6, 7]), 1);
    assert_eq!(call!(cuMemFree_v2(start => u64)), 0);
}

/// Programs put pages of their own into an allocation that has just the bytes for them.
#[test]
fn large_allocations_start_at_a_page_of_a_gpu() {
    context();
    let _small = alloc(300);
    for bytes in [1 << 20, (3 << 20) + 8] {
        let start = alloc(bytes);
        assert!(start.is_multiple_of(2 << 20), "{bytes} bytes at {start:#x}");
        assert_eq!(call!(cuMemFree_v2(start => u64)), 0);
    }
}

#[test]
fn a_pool_of_the_host_has_memory_that_both_use() {
    context();
    let mut pool = NONE;
    // The kind of memory, handles, and the place: the host, or a node that it does not say.
    let (mut properties, to): ([c_int; 22], *mut Handle) = ([0; 22], &mut pool);
    for (place, code) in [(5, 1), (3, 0), (2, 0)] {
        (properties[0], properties[2]) = (1, place);
        let from = properties.as_ptr();
        assert_eq!(
            call!(cuMemPoolCreate(to => *mut Handle, from => *const c_int)),
            code
        );
    }
    let mut address = 0u64;
    let to: *mut u64 = &mut address;
    let code = call!(cuMemAllocFromPoolAsync(
        to => *mut u64, 64 => usize, pool => Handle, NONE => Handle
    ));
    assert_eq!(code, 0);
    assert_eq!(upload(address, &[5, 6]), 0);
    let pointer: *const [u32; 2] = std::ptr::with_exposed_provenance(address as usize);
    // SAFETY: the allocation has 64 bytes, and no kernel runs.
    assert_eq!(unsafe { pointer.read() }, [5, 6]);
    let mut access = 0;
    let (to, host): (*mut c_uint, *const [c_int; 2]) = (&mut access, &[2, 0]);
    let code = call!(cuMemPoolGetAccess(
        to => *mut c_uint, pool => Handle, host => *const [c_int; 2]
    ));
    assert_eq!((code, access), (0, 3));
    assert_eq!(call!(cuMemFreeAsync(address => u64, NONE => Handle)), 0);
    assert_eq!(upload(address, &[5]), 1);
}

#[test]
fn kernels_know_registered_memory_by_the_programs_address() {
    context();
    let (code, module) = load(ADD);
    assert_eq!(code, 0);
    let (code, add) = function(module, c"add");
    assert_eq!(code, 0);
    let mut words = vec![5u32; 100];
    // From the second word on, so that the address is no page's.
    let start = (&raw mut words[1]).expose_provenance() as u64;
    assert_eq!(
        call!(cuMemHostRegister_v2(start => u64, 64 * 4 => usize, 0 => c_uint)),
        0
    );
    let mut found = 0;
    let to: *mut u64 = &mut found;
    let code = call!(cuMemHostGetDevicePointer_v2(to => *mut u64, start => u64, 0 => c_uint));
    assert_eq!((code, found), (0, start));
    assert_eq!(launch(add, NONE, [start; 3], 64), 0);
    assert_eq!(call!(cuCtxSynchronize()), 0);
    assert_eq!(call!(cuMemHostUnregister(start => u64)), 0);
    assert_ne!(words[1], 5);
    assert_eq!((words[0], words[65]), (5, 5));
    // Now the address is the host's alone.
    assert_eq!(launch(add, NONE, [start; 3], 64), 0);
    assert_eq!(call!(cuCtxSynchronize()), 700);
}
