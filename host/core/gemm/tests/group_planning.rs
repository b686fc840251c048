//! When lists of products are one launch, by the clocks of the planner.

use crate::gemm::grouped::{Group, Member};
use crate::gemm::{Description, DeviceLimits, HOPPER, Tf32};
use half::bf16;

/// The H200's multiprocessors.
const MULTIPROCESSORS: u32 = 132;

fn members(extents: &[[u32; 3]], device: DeviceLimits) -> Vec<Member> {
    let description = |&extents| Description::<bf16>::dense(extents, [false, true]);
    let member = |extents| Member::of(&description(extents), device).unwrap();
    extents.iter().map(member).collect()
}

/// The clocks of a list in one launch, and in a launch each.
fn clocks(extents: &[[u32; 3]]) -> [f64; 2] {
    let device = DeviceLimits::new(MULTIPROCESSORS, HOPPER);
    let members = members(extents, device);
    let kernels = Description::<bf16>::dense([1; 3], [false; 2]).kernels(device);
    let kernels = kernels.unwrap();
    let group = Group::of(&members, kernels, device, false).unwrap();
    let alone = members.iter().map(|member| member.clocks(kernels).unwrap());
    [group.clocks().unwrap(), alone.sum()]
}

#[test]
fn experts_are_one_launch_and_products_that_want_splits_are_not() {
    if !cfg!(feature = "sm_90a") {
        return;
    }
    for experts in [[16, 2048, 1408], [40, 512, 512], [512, 4096, 14336]] {
        let [together, each] = clocks(&[experts; 32]);
        assert!(together < each, "{experts:?}: {together}, {each}");
    }
    // Two tiles of a long k are two multiprocessors in one launch. Alone, all compute splits.
    let [together, each] = clocks(&[[64, 64, 16_384]; 2]);
    assert!(together > each, "{together}, {each}");
}

#[test]
fn members_are_products_that_tma_takes_as_they_lie() {
    if !cfg!(feature = "sm_90a") {
        return;
    }
    let device = DeviceLimits::new(MULTIPROCESSORS, HOPPER);
    let dense = Description::<bf16>::dense([40, 24, 16], [false; 2]);
    let is_member =
        |description: Description<bf16>, device| Member::of(&description, device).is_some();
    assert!(is_member(dense, device));
    let odd_rows = Description {
        leading: [17, 24, 24],
        ..dense
    };
    let odd_start = Description {
        aligned: [true, false, true],
        ..dense
    };
    let batch = Description { batch: 2, ..dense };
    let empty = Description::dense([0, 24, 16], [false; 2]);
    for other in [odd_rows, odd_start, batch, empty] {
        assert!(!is_member(other, device), "{other:?}");
    }
    // A C that TMA cannot store, and no k, are nothing to the kernel.
    let odd_c = Description {
        leading: [16, 24, 25],
        aligned: [true, true, false],
        ..dense
    };
    let of_no_k = Description {
        leading: [0, 3, 3],
        aligned: [false; 3],
        ..Description::dense([40, 3, 0], [false; 2])
    };
    assert!(is_member(odd_c, device) && is_member(of_no_k, device));
    let ampere = DeviceLimits::new(108, crate::gemm::COMPUTE_CAPABILITY);
    assert!(!is_member(dense, ampere));
    let tf32 = Description::<Tf32>::dense([40, 24, 16], [false; 2]);
    assert!(Member::of(&tf32, device).is_none());
}
