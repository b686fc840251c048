//! Reserved addresses, physical memory and mappings.

use super::*;

const GRANULE: usize = 2 << 20;

/// `CUmemAllocationProp` of device 0.
const PROPERTIES: [u64; 4] = [1, 1, 0, 0];

fn create(bytes: usize) -> (u32, u64) {
    let mut handle = 0;
    let (to, properties): (*mut u64, *const [u64; 4]) = (&mut handle, &PROPERTIES);
    let code = call!(cuMemCreate(
        to => *mut u64, bytes => usize, properties => *const [u64; 4], 0 => u64
    ));
    (code, handle)
}

fn map(address: u64, bytes: usize, offset: usize, handle: u64) -> u32 {
    call!(cuMemMap(
        address => u64, bytes => usize, offset => usize, handle => u64, 0 => u64
    ))
}

fn set_access(address: u64, bytes: usize, flags: c_uint) -> u32 {
    let access: [c_uint; 3] = [1, 0, flags];
    let list: *const [c_uint; 3] = &access;
    call!(cuMemSetAccess(
        address => u64, bytes => usize, list => *const [c_uint; 3], 1 => usize
    ))
}

#[test]
fn mappings_side_by_side_are_one_memory_and_aliases_the_same() {
    context();
    let mut address = 0;
    let to: *mut u64 = &mut address;
    let reserve = |bytes: usize| {
        call!(cuMemAddressReserve(
            to => *mut u64, bytes => usize, 0 => usize, 0 => u64, 0 => u64
        ))
    };
    assert_eq!(reserve(GRANULE + 1), 1);
    assert_eq!(reserve(3 * GRANULE), 0);
    // SAFETY: the pointer is to a local variable.
    let address = unsafe { to.read() };
    assert_eq!(create(5).0, 1);
    let ((_, first), (_, second)) = (create(GRANULE), create(GRANULE));
    let granule = GRANULE as u64;
    assert_eq!(map(address, GRANULE, 0, first), 0);
    assert_eq!(map(address, GRANULE, 0, second), 1);
    assert_eq!(map(address + granule, GRANULE, 0, second), 0);
    // The third granule is the first one's memory again.
    assert_eq!(map(address + 2 * granule, GRANULE, 0, first), 0);
    assert_eq!(map(address + 3 * granule, GRANULE, 0, first), 1);

    // Without access it is no memory.
    assert_eq!(upload(address, &[1]), 1);
    assert_eq!(set_access(address, 3 * GRANULE, 3), 0);
    let at = address + granule - 500;
    let values: Vec<u32> = (0..250).collect();
    assert_eq!(upload(at, &values), 0);
    let add = function(load(ADD).1, c"add").1;
    assert_eq!(launch(add, NONE, [at, at, at], 250), 0);
    let mut result = vec![0; 250];
    assert_eq!(download(at, &mut result), 0);
    assert!(
        result
            .iter()
            .zip(&values)
            .all(|(result, value)| *result == 4 * value)
    );
    let mut alias = vec![0; 125];
    assert_eq!(download(at + 2 * granule, &mut alias), 0);
    assert_eq!(alias[..], result[..125]);
    let code = call!(cuMemsetD16_v2(at => u64, 0x102 => u16, 500 => usize));
    assert_eq!(code, 0);
    assert_eq!(download(at, &mut result), 0);
    assert_eq!(result, vec![0x0102_0102; 250]);

    // Mappings keep the memory that was released; what is not mapped is none.
    for handle in [first, second] {
        assert_eq!(call!(cuMemRelease(handle => u64)), 0);
        assert_eq!(call!(cuMemRelease(handle => u64)), 1);
    }
    assert_eq!(download(at, &mut result), 0);
    assert_eq!(
        call!(cuMemAddressFree(address => u64, 3 * GRANULE => usize)),
        1
    );
    assert_eq!(call!(cuMemUnmap(address => u64, 3 * GRANULE => usize)), 0);
    assert_eq!(download(at, &mut result), 1);
    assert_eq!(
        call!(cuMemAddressFree(address => u64, 3 * GRANULE => usize)),
        0
    );
}

/// As a program does that ends: the context first, and then its mappings.
#[test]
fn mappings_outlive_the_context_that_made_them() {
    let own = context();
    let mut address = 0;
    let to: *mut u64 = &mut address;
    let reserved = call!(cuMemAddressReserve(
        to => *mut u64, GRANULE => usize, 0 => usize, 0 => u64, 0 => u64
    ));
    assert_eq!(reserved, 0);
    // SAFETY: the pointer is to a local variable.
    let address = unsafe { to.read() };
    let (code, handle) = create(GRANULE);
    assert_eq!((code, map(address, GRANULE, 0, handle)), (0, 0));
    assert_eq!(set_access(address, GRANULE, 3), 0);
    assert_eq!(upload(address, &[1, 2, 3]), 0);
    assert_eq!(call!(cuCtxDestroy_v2(own => Handle)), 0);
    context();
    let mut values = vec![0; 3];
    assert_eq!(download(address, &mut values), 0);
    assert_eq!(values, [1, 2, 3]);
    assert_eq!(call!(cuMemUnmap(address => u64, GRANULE => usize)), 0);
    assert_eq!(call!(cuMemAddressFree(address => u64, GRANULE => usize)), 0);
    assert_eq!(call!(cuMemRelease(handle => u64)), 0);
}
