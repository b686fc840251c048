//! The kernels on the emulator, under sanitizers: no GPU is needed.

use @crate@::axpy;
use warpladder::gpu::Gpu;

#[test]
fn axpy_is_right_at_any_length() {
    // Less than a warp, more than a block, no multiple of either.
    for n in [1, 31, 33, 257, 1000] {
        let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let y = vec![1.0; n];
        let expected: Vec<f32> = x.iter().map(|x| 0.5 * x + 1.0).collect();

        let gpu = Gpu::sanitized();
        assert_eq!(axpy(&gpu, 0.5, &x, &y).unwrap(), expected);
        assert_eq!(gpu.findings(), []);
    }
}
