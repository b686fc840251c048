//! The benchmark, where there is a GPU engine.

use criterion::Criterion;
use cuda_driver::{JitOptions, LaunchConfig, Module};
use std::ffi::c_void;
use std::time::{Duration, Instant};
use warpladder::device::ComputeCapability;
use warpladder::gemm::tuning::Choices;
use warpladder::gemm::{self, Description, DeviceLimits};
use warpladder::gpu::Gpu;
use warpladder::launch::Param;
use warpladder::ptx;

/// Launches between two waits: fewer than a stream holds, so that none waits for the GPU.
const BURST: u64 = 256;

/// The smallest product, so that the GPU is done before the host.
const EXTENT: u32 = 8;

pub fn main() {
    let gpu = match Gpu::new() {
        Ok(gpu) => gpu,
        Err(reason) => {
            println!("benchmarks of launches left out: {reason}");
            return;
        }
    };
    println!("on {}", gpu.name());
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("launch");
    if benches::once() {
        group.sample_size(10);
    }
    group.bench_function("gemm", |bencher| {
        let extent = EXTENT as usize;
        let (a, b) = (gpu.zeros::<f32>(extent, extent), gpu.zeros(extent, extent));
        let (a, b) = (a.unwrap(), b.unwrap());
        let mut c = gpu.zeros(extent, extent).unwrap();
        bencher.iter_custom(|launches| {
            bursts(&gpu, launches, || {
                gpu.gemm(1.0, a.view(), b.view(), 0.0, c.view_mut())
                    .unwrap();
            })
        });
    });
    group.bench_function("bare", |bencher| {
        let launch = Bare::new(&gpu);
        bencher.iter_custom(|launches| bursts(&gpu, launches, || launch.start()));
    });
    group.finish();
    criterion.final_summary();
}

/// The time of `calls` calls, without that of waiting for the GPU.
fn bursts(gpu: &Gpu, calls: u64, mut call: impl FnMut()) -> Duration {
    let mut total = Duration::ZERO;
    let mut left = calls;
    while left > 0 {
        let burst = left.min(BURST);
        gpu.synchronize().unwrap();
        let start = Instant::now();
        for _ in 0..burst {
            call();
        }
        total += start.elapsed();
        left -= burst;
    }
    gpu.synchronize().unwrap();
    total
}

/// The same kernel, loaded by hand into the context of the library, and launched on the default
/// stream.
struct Bare {
    // Keeps the function loaded.
    _module: Module,
    function: cuda_driver::Function,
    config: LaunchConfig,
    matrices: warpladder::gpu::DeviceArray<f32>,
    parameters: Vec<u8>,
}

impl Bare {
    fn new(gpu: &Gpu) -> Self {
        let device = DeviceLimits::new(132, ComputeCapability::V8_0);
        let product = Description::<f32>::dense([EXTENT; 3], [false; 2]);
        let plan = gemm::plan(&product, device, &Choices::new()).unwrap();
        let [launch] = &plan.launches[..] else {
            panic!("a product of this size is one launch");
        };
        let Some(Param::Product(parameters)) = launch.params.last() else {
            panic!("parameters come last");
        };
        let text = ptx::module(launch.compute_capability).only(launch.entry);
        let matrices = gpu
            .upload(&[0.0f32; 3 * (EXTENT * EXTENT) as usize])
            .unwrap();
        // SAFETY: the library has made its context current in this thread, and lives longer.
        let (module, _) = unsafe { Module::load_ptx(&text, &JitOptions::default()) }.unwrap();
        let function = module.function(launch.entry).unwrap();
        let grid = launch.grid.map(|extent| extent as u32);
        let block = [launch.block.x, launch.block.y, launch.block.z];
        Bare {
            _module: module,
            function,
            config: LaunchConfig::new(grid, block, launch.shared_bytes),
            matrices,
            parameters: parameters.clone(),
        }
    }

    fn start(&self) {
        let elements = u64::from(EXTENT * EXTENT);
        let a = self.matrices.pointer().0;
        let (b, c) = (a + 4 * elements, a + 8 * elements);
        let none = 0u64;
        let pointer = |value: &u64| std::ptr::from_ref(value).cast_mut().cast::<c_void>();
        let mut arguments = [
            pointer(&a),
            pointer(&elements),
            pointer(&b),
            pointer(&elements),
            pointer(&c),
            pointer(&none),
            self.parameters.as_ptr().cast_mut().cast(),
        ];
        // SAFETY: the arguments are those of the kernel, and the matrices are as large as they say.
        unsafe {
            self.function
                .launch(&self.config, std::ptr::null_mut(), &mut arguments)
        }
        .unwrap();
    }
}
