use super::*;
use crate::address_space::{GLOBAL_END, SHARED_BASE};
use crate::allocation::HostStorage;

#[test]
fn allocations_are_aligned_apart_and_counted() {
    let memory = Memory::with_capacity(1024);
    let a = memory.alloc(1).expect("room");
    let b = memory.alloc(512).expect("room");
    assert_eq!(a % ALLOCATION_ALIGN, 0);
    assert!(b >= a + 2 * ALLOCATION_ALIGN);
    assert_eq!(memory.used(), 768);
    assert!(matches!(memory.alloc(257), Err(MemoryError::Full { .. })));
    memory.free(a).expect("allocated");
    assert_eq!(memory.used(), 512);
    assert!(memory.free(a).is_err());
}

#[test]
fn unaligned_reads_and_writes() {
    let memory = Memory::with_capacity(1 << 20);
    let a = memory.alloc(64).expect("room");
    for start in 0..5usize {
        for length in 0..12usize {
            memory.fill(a, 64, 0xee).expect("in bounds");
            let data: Vec<u8> = (0..length as u8).map(|i| i * 3 + 1).collect();
            memory.write(a + start as u64, &data).expect("in bounds");
            let mut all = [0u8; 64];
            memory.read(a, &mut all).expect("in bounds");
            assert_eq!(&all[start..start + length], data.as_slice());
            assert!(all[..start].iter().all(|&byte| byte == 0xee));
            assert!(all[start + length..].iter().all(|&byte| byte == 0xee));
            let mut back = vec![0u8; length];
            memory.read(a + start as u64, &mut back).expect("in bounds");
            assert_eq!(back, data);
        }
    }
}

#[test]
fn bounds_are_checked() {
    let memory = Memory::with_capacity(1 << 20);
    let a = memory.alloc(10).expect("room");
    assert!(memory.write(a + 9, &[1]).is_ok());
    assert!(memory.write(a + 10, &[1]).is_err());
    assert!(memory.read(a - 1, &mut [0]).is_err());
    assert!(memory.fill(a, u64::MAX, 0).is_err());
    assert!(memory.read(0, &mut [0]).is_err());
    memory.free(a).expect("allocated");
    assert!(memory.read(a, &mut [0]).is_err());
}

#[test]
fn what_was_written_and_what_was_freed_is_known() {
    let memory = Memory::with_capacity(1 << 20);
    let a = memory.alloc(64).expect("room");
    assert_eq!(memory.written(a, 64), []);
    memory.write(a + 4, &[0; 8]).expect("in bounds");
    memory.fill(a + 60, 4, 1).expect("in bounds");
    let expected = [(a + 4, a + 12), (a + 60, a + 64)];
    assert_eq!(memory.written(a, 64), expected);
    assert_eq!(memory.freed(a), None);
    memory.free(a).expect("allocated");
    assert_eq!(memory.freed(a + 63), Some((a, 64)));
    assert_eq!(memory.freed(a + 64), None);
    assert_eq!(memory.written(a, 64), []);
    let b = memory.alloc(64).expect("room");
    assert_eq!(memory.freed(b), None);
    memory.assume_written();
    assert_eq!(memory.written(b, 64), [(b, b + 64)]);
}

#[test]
fn memory_of_the_host_can_be_storage() {
    let memory = Memory::with_capacity(1 << 20);
    let mut words = Box::new([7u32; 1024]);
    let start = std::ptr::NonNull::from(&mut words[0]).cast();
    // SAFETY: the box lives until the end of the test, which uses it through `start` alone
    // while the allocation lives.
    let storage = |_| unsafe { HostStorage::new(start, 4096, Box::new(())) };
    let a = memory.alloc_over(4000, 4096, storage).expect("room");
    assert_eq!(a % 4096, 0);
    let mut first = [0; 4];
    memory.read(a, &mut first).expect("in bounds");
    assert_eq!(u32::from_le_bytes(first), 7);
    memory.fill(a + 4, 4, 1).expect("in bounds");
    assert!(memory.write(a + 4000, &[1]).is_err());
    let b = memory.alloc(8).expect("room");
    assert!(b >= a + 4096);
    memory.free(a).expect("allocated");
    assert_eq!(words[..3], [7, 0x0101_0101, 7]);
    assert!(memory.alloc_over(8192, 4096, storage).is_err());
}

#[test]
fn allocations_lie_at_addresses_of_the_callers_choice() {
    let memory = Memory::with_capacity(1 << 20);
    let mut words = vec![7u32; 64];
    let start = std::ptr::NonNull::from(&mut words[0]).cast();
    // SAFETY: the vector lives until the end of the test, which uses it through `start` alone
    // while an allocation lives.
    let storage = || unsafe { HostStorage::new(start, 256, Box::new(())) }.expect("aligned");
    let first = memory.alloc(300).expect("room");
    let next = memory.state().next;
    for wrong in [
        first + 256,
        next - 512 - 4,
        2,
        HEAP_BASE,
        SHARED_BASE,
        u64::MAX - 3,
    ] {
        let made = memory.alloc_at(wrong, 256, storage());
        assert!(
            matches!(made, Err(MemoryError::Occupied { .. })),
            "{wrong:#x}"
        );
    }
    // Beside others, in front of what is allocated next, and behind the device heap.
    for address in [next + 4, 0x5555_0000_0010, HEAP_BASE + (1 << 30)] {
        memory.alloc_at(address, 256, storage()).expect("free");
        let mut word = [0; 4];
        memory.read(address + 252, &mut word).expect("in bounds");
        assert_eq!(u32::from_le_bytes(word), 7);
        assert!(memory.read(address + 253, &mut word).is_err());
    }
    let small = memory.alloc_at(0x6000_0000_0000, 260, storage());
    assert!(matches!(small, Err(MemoryError::Full { .. })));
    let behind = memory.alloc(300).expect("room");
    assert!(behind >= next + 260);
    memory.prepare_heap().expect("room");
    let bases: Vec<u64> = memory.regions().iter().map(|(base, _)| *base).collect();
    assert!(
        bases.is_sorted() && bases.contains(&HEAP_BASE),
        "{bases:x?}"
    );
    memory.free(next + 4).expect("allocated");
    assert!(memory.read(next + 4, &mut [0]).is_err());
}

#[test]
fn gaps_are_found_when_addresses_run_out() {
    let memory = Memory::with_capacity(u64::MAX);
    let a = memory.alloc(256).expect("room");
    let b = memory.alloc(256).expect("room");
    memory.state_mut().next = GLOBAL_END;
    memory.free(a).expect("allocated");
    assert_eq!(memory.alloc(200).expect("the gap"), a);
    assert_eq!(memory.freed(a), None);
    assert!(memory.alloc(512).expect("behind the last") > b);
}
