//! Whether a launch fits a device, with a message that says what does not: the driver's own answer
//! is `CUDA_ERROR_INVALID_VALUE` for all of it.

use crate::launch::{Dim3, Launch};

/// What a device and a kernel compiled for it allow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Largest grid, in blocks.
    pub grid: Dim3,
    /// Largest block, in threads.
    pub block: Dim3,
    /// Most threads of a block, given the kernel's registers and launch bounds.
    pub block_threads: u32,
    /// Registers per thread of the kernel.
    pub registers: u32,
    /// Shared memory that a block can have, in bytes.
    pub shared_bytes: u32,
    /// The part of it that the kernel's static arrays take, in bytes.
    pub static_shared_bytes: u32,
    /// Most blocks of a cluster; 1 where the device has no clusters.
    pub cluster_blocks: u64,
}

/// Checks a launch; the error is one line.
pub(super) fn check(launch: &Launch<'_>, limits: &Limits) -> Result<(), String> {
    check_extents("grid", launch.grid, limits.grid)?;
    check_extents("block", launch.block, limits.block)?;
    check_cluster(launch, limits)?;
    let threads = launch.block.count();
    if threads > u64::from(limits.block_threads) {
        return Err(format!(
            "a block of {threads} threads exceeds the {} that this kernel can have with its {} registers per \
             thread and its launch bounds: use a smaller block",
            limits.block_threads, limits.registers
        ));
    }
    let (fixed, dynamic) = (limits.static_shared_bytes, launch.shared_bytes);
    if u64::from(fixed) + u64::from(dynamic) > u64::from(limits.shared_bytes) {
        return Err(format!(
            "a block needs {fixed} bytes of static and {dynamic} bytes of dynamic shared memory, the device \
             gives a block {}: use a smaller tile",
            limits.shared_bytes
        ));
    }
    Ok(())
}

fn check_cluster(launch: &Launch<'_>, limits: &Limits) -> Result<(), String> {
    let Dim3 { x, y, z } = launch.cluster;
    if launch.cluster == Dim3::ONE {
        return Ok(());
    }
    let (grid, blocks) = (launch.grid, launch.cluster.count());
    if limits.cluster_blocks < 2 {
        return Err(format!(
            "clusters of {x} × {y} × {z} blocks need compute capability 9.0, which the device has not: launch without"
        ));
    }
    if blocks > limits.cluster_blocks {
        return Err(format!(
            "a cluster of {blocks} blocks exceeds the {} that every device with clusters can run: use a smaller one",
            limits.cluster_blocks
        ));
    }
    let divides = |extent: u32, of: u32| extent != 0 && of.is_multiple_of(extent);
    if !(divides(x, grid.x) && divides(y, grid.y) && divides(z, grid.z)) {
        return Err(format!(
            "clusters of {x} × {y} × {z} blocks do not divide the grid of {} × {} × {}: choose divisors of its extents",
            grid.x, grid.y, grid.z
        ));
    }
    Ok(())
}

fn check_extents(what: &str, extents: Dim3, most: Dim3) -> Result<(), String> {
    let axes = [
        ('x', extents.x, most.x),
        ('y', extents.y, most.y),
        ('z', extents.z, most.z),
    ];
    for (axis, extent, most) in axes {
        if extent == 0 {
            return Err(format!(
                "the {what} has extent 0 in {axis}: every extent must be at least 1"
            ));
        }
        if extent > most {
            return Err(format!(
                "{what} extent {extent} in {axis} exceeds the device's {most}: use a smaller size"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::KernelId;

    /// A kernel of 80 registers and 4 KiB of static shared memory on compute capability 9.0.
    const LIMITS: Limits = Limits {
        grid: Dim3::new(i32::MAX as u32, 65_535, 65_535),
        block: Dim3::new(1024, 1024, 64),
        block_threads: 768,
        registers: 80,
        shared_bytes: 232_448,
        static_shared_bytes: 4096,
        cluster_blocks: 8,
    };

    fn message(grid: Dim3, block: Dim3, shared_bytes: u32) -> Option<String> {
        let launch = Launch {
            kernel: KernelId(0),
            grid,
            block,
            cluster: Dim3::ONE,
            shared_bytes,
            args: &[],
        };
        check(&launch, &LIMITS).err()
    }

    #[test]
    fn clusters_divide_the_grid_and_are_small() {
        let message = |grid: Dim3, cluster: Dim3, limits: &Limits| {
            let launch = Launch {
                kernel: KernelId(0),
                grid,
                block: Dim3::ONE,
                cluster,
                shared_bytes: 0,
                args: &[],
            };
            check(&launch, limits).err()
        };
        let (grid, small) = (Dim3::new(12, 4, 1), Dim3::new(4, 2, 1));
        assert_eq!(message(grid, small, &LIMITS), None);
        let without = Limits {
            cluster_blocks: 1,
            ..LIMITS
        };
        assert_eq!(message(grid, Dim3::ONE, &without), None);
        let cases = [
            (small, &without, "need compute capability 9.0"),
            (
                Dim3::new(4, 4, 1),
                &LIMITS,
                "a cluster of 16 blocks exceeds the 8",
            ),
            (
                Dim3::new(5, 1, 1),
                &LIMITS,
                "clusters of 5 × 1 × 1 blocks do not divide the grid of 12 × 4 × 1",
            ),
            (Dim3::new(2, 1, 2), &LIMITS, "do not divide"),
            (Dim3::new(2, 0, 1), &LIMITS, "clusters of 2 × 0 × 1"),
        ];
        for (cluster, limits, part) in cases {
            let message = message(grid, cluster, limits).expect(part);
            assert!(message.contains(part), "{message:?} lacks {part:?}");
            assert!(!message.contains('\n'));
        }
    }

    #[test]
    fn a_launch_at_the_limits_fits() {
        let grid = Dim3::new(i32::MAX as u32, 65_535, 65_535);
        assert_eq!(message(grid, Dim3::new(32, 24, 1), 232_448 - 4096), None);
    }

    #[test]
    fn each_limit_is_named_with_its_value() {
        let (one, block) = (Dim3::new(1, 1, 1), Dim3::new(256, 1, 1));
        let cases = [
            (
                message(Dim3::new(1, 0, 1), block, 0),
                "the grid has extent 0 in y",
            ),
            (
                message(one, Dim3::new(1, 1, 0), 0),
                "the block has extent 0 in z",
            ),
            (
                message(Dim3::new(1, 65_536, 1), block, 0),
                "grid extent 65536 in y exceeds the device's 65535",
            ),
            (
                message(one, Dim3::new(1, 1, 65), 0),
                "block extent 65 in z exceeds the device's 64",
            ),
            (
                message(one, Dim3::new(769, 1, 1), 0),
                "769 threads exceeds the 768",
            ),
            (
                message(one, block, 232_448),
                "232448 bytes of dynamic shared memory",
            ),
            (message(one, block, u32::MAX), "4096 bytes of static"),
        ];
        for (message, part) in cases {
            let message = message.expect(part);
            assert!(message.contains(part), "{message:?} lacks {part:?}");
            assert!(!message.contains('\n'));
        }
    }
}
