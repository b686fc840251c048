use super::*;

fn is_ordered(clocks: &Clocks, (warp, lane): (u32, u32), stamp: u32, by: (u32, u32)) -> bool {
    clocks.is_ordered(Origin::new(0, false, warp, lane), stamp, by)
}

#[test]
fn a_barrier_of_some_warps_orders_those() {
    let mut clocks = Clocks::new(96, 1, 1);
    let stamp = clocks.now;
    assert!(!is_ordered(&clocks, (0, 3), stamp, (1, 3)));
    clocks.synchronise_warps(1, &[u32::MAX, u32::MAX, 0]);
    assert!(is_ordered(&clocks, (0, 3), stamp, (1, 3)));
    assert!(is_ordered(&clocks, (1, 3), stamp, (0, 4)));
    assert!(!is_ordered(&clocks, (0, 3), stamp, (2, 3)));
    // By way of warp 1, warp 2 sees what warp 0 did before the first barrier.
    let later = clocks.now;
    clocks.synchronise_warps(2, &[0, u32::MAX, u32::MAX]);
    assert!(is_ordered(&clocks, (0, 3), stamp, (2, 3)));
    assert!(!is_ordered(&clocks, (0, 3), later, (2, 3)));
}

#[test]
fn arriving_orders_what_was_before_and_nothing_after() {
    let mut clocks = Clocks::new(64, 1, 1);
    let before = clocks.now;
    clocks.arrive(0, 1);
    let after = clocks.now;
    clocks.synchronise_warps(1, &[u32::MAX, u32::MAX]);
    assert!(is_ordered(&clocks, (0, 0), before, (1, 0)));
    assert!(!is_ordered(&clocks, (0, 0), after, (1, 0)));
    assert!(!is_ordered(&clocks, (1, 0), before, (0, 0)));
}

#[test]
fn lanes_are_ordered_by_the_masks_that_join_them() {
    let mut clocks = Clocks::new(32, 1, 1);
    let stamp = clocks.now;
    clocks.synchronise_lanes(0, 0x3);
    assert!(is_ordered(&clocks, (0, 0), stamp, (0, 1)));
    assert!(!is_ordered(&clocks, (0, 0), stamp, (0, 2)));
    clocks.synchronise_lanes(0, 0x6);
    assert!(is_ordered(&clocks, (0, 0), stamp, (0, 2)));
    assert!(!is_ordered(&clocks, (0, 0), stamp, (0, 3)));
    let stamp = clocks.now;
    clocks.synchronise_lanes(0, u32::MAX);
    assert!(is_ordered(&clocks, (0, 31), stamp, (0, 0)));
}

#[test]
fn an_arrival_is_of_one_lane_and_one_phase() {
    let mut clocks = Clocks::new(64, 1, 1);
    let key = (Space::Shared, 8);
    let before = clocks.now;
    clocks.arrive_at(8, 0, 1);
    clocks.acquire(key, 1, u32::MAX);
    assert!(
        !is_ordered(&clocks, (0, 0), before, (1, 0)),
        "no phase is over"
    );
    clocks.complete_phase(8);
    let after = clocks.now;
    clocks.acquire(key, 1, 2);
    assert!(is_ordered(&clocks, (0, 0), before, (1, 1)));
    assert!(
        !is_ordered(&clocks, (0, 0), before, (1, 0)),
        "another lane waited"
    );
    assert!(
        !is_ordered(&clocks, (0, 1), before, (1, 1)),
        "another lane arrived"
    );
    assert!(!is_ordered(&clocks, (0, 0), after, (1, 1)));
    // Lanes that synchronise share what they have observed, and arrive for each other from then
    // on.
    clocks.synchronise_lanes(1, u32::MAX);
    assert!(is_ordered(&clocks, (0, 0), before, (1, 0)));
    clocks.synchronise_lanes(0, u32::MAX);
    clocks.arrive_at(8, 0, 1);
    clocks.complete_phase(8);
    clocks.acquire(key, 1, u32::MAX);
    assert!(is_ordered(&clocks, (0, 1), before, (1, 0)));
}

#[test]
fn a_copy_is_observed_by_a_wait_at_the_mbarrier_it_signals() {
    let mut clocks = Clocks::new(32, 1, 1);
    let copy = Origin::new(0, false, 0, 0).asynchronous();
    assert!(!clocks.is_ordered(copy, IN_FLIGHT, (0, 0)));
    let stamp = clocks.now;
    clocks.signal(8);
    clocks.complete_phase(8);
    clocks.acquire((Space::Shared, 16), 0, 1);
    assert!(!clocks.is_ordered(copy, stamp, (0, 0)));
    clocks.acquire((Space::Shared, 8), 0, 1);
    assert!(clocks.is_ordered(copy, stamp, (0, 0)));
    assert!(!clocks.is_ordered(copy, stamp, (0, 1)));
}

#[test]
fn a_release_orders_for_later_acquires() {
    let mut clocks = Clocks::new(64, 1, 1);
    let key = (Space::Global, 256);
    let before = clocks.now;
    clocks.acquire(key, 1, 1);
    assert!(!is_ordered(&clocks, (0, 0), before, (1, 0)));
    clocks.release(key, (0, 0), true, true);
    let after = clocks.now;
    clocks.acquire(key, 1, 1);
    assert!(is_ordered(&clocks, (0, 0), before, (1, 0)));
    assert!(!is_ordered(&clocks, (0, 0), after, (1, 0)));
}

#[test]
fn relaxed_operations_hand_on_what_lies_before_a_fence() {
    let mut clocks = Clocks::new(64, 1, 1);
    let key = (Space::Global, 256);
    let before = clocks.now;
    clocks.release(key, (0, 0), false, true);
    clocks.fence(0, 1);
    let behind = clocks.now;
    clocks.read(key, 1, 1);
    clocks.fence(1, 1);
    assert!(
        !is_ordered(&clocks, (0, 0), before, (1, 0)),
        "no fence was before"
    );
    clocks.release(key, (0, 0), false, true);
    clocks.read(key, 1, 1);
    assert!(
        !is_ordered(&clocks, (0, 0), before, (1, 0)),
        "no fence follows"
    );
    clocks.fence(1, 1);
    assert!(is_ordered(&clocks, (0, 0), before, (1, 0)));
    assert!(!is_ordered(&clocks, (0, 0), behind, (1, 0)));
}

#[test]
fn a_launch_keeps_its_first_stamp_until_stamps_begin_anew() {
    let first = 71;
    let mut clocks = Clocks::new(64, 1, first);
    assert_eq!(clocks.launch_start, first);
    for _ in 0..3 {
        clocks.arrive(0, 1);
        clocks.synchronise_warps(1, &[u32::MAX, u32::MAX]);
        let before = clocks.now;
        clocks.start_block();
        assert_eq!(
            clocks.launch_start, first,
            "of the launch, not of the block"
        );
        assert!(clocks.block_start > before);
    }
    assert!(!clocks.stamps_exhausted());
    clocks.now = u32::MAX / 2 + 1;
    assert!(clocks.stamps_exhausted());
    clocks.start_again();
    // No stamp of other launches lies below: recycled cells are cleared from here on.
    let starts = [
        clocks.launch_start,
        clocks.block_start,
        clocks.since,
        clocks.now,
    ];
    assert_eq!(starts, [1; 4]);
    assert!(!clocks.stamps_exhausted());
}
