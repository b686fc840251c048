//! Uses everything of this crate on a real GPU, checks what comes back, and measures what a
//! forwarded call costs. Ends with status 1 where something is wrong; without a driver it says so
//! and does nothing.
//!
//! `cargo run --release -p warpladder-cuda-driver --example exercise`

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: {:?}", cuda_driver::load());
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    gpu::main()
}

#[cfg(target_os = "linux")]
mod gpu {
    use std::error::Error;
    use std::ffi::{c_int, c_void};
    use std::hint::black_box;
    use std::process::ExitCode;
    use std::ptr::null_mut;
    use std::time::Instant;

    use cuda_driver::{
        Device, DeviceAttribute, Driver, Function, FunctionAttribute, JitOptions, LaunchConfig,
        Module, TensorDescription, TensorElement, TensorMap, TensorOutOfBounds, TensorPromotion,
        TensorSwizzle,
    };
    use cust::context::Context;
    use cust::memory::DeviceBuffer;

    type Outcome = Result<(), Box<dyn Error>>;

    /// Stores a number at the end of the dynamic shared memory, reads it back and stores it at the
    /// output.
    const SHARED_PTX: &str = "
.version 7.0
.target sm_70
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry shared_end(.param .u64 shared_end_param_0, .param .u32 shared_end_param_1)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [shared_end_param_0];
    ld.param.u32 %r1, [shared_end_param_1];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r2, dynamic;
    add.u32 %r3, %r2, %r1;
    st.volatile.shared.u32 [%r3+-4], %r1;
    ld.volatile.shared.u32 %r4, [%r3+-4];
    st.global.u32 [%rd2], %r4;
    ret;
}
";

    /// Every block stores its rank in its cluster, and waits for the kernel in front of it first.
    const CLUSTER_PTX: &str = "
.version 7.8
.target sm_90
.address_size 64
.visible .entry cluster_rank(.param .u64 cluster_rank_param_0)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<5>;
    griddepcontrol.wait;
    ld.param.u64 %rd1, [cluster_rank_param_0];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %cluster_ctarank;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r2;
    ret;
}
";

    pub fn main() -> ExitCode {
        let driver = match cuda_driver::load() {
            Ok(driver) => driver,
            Err(reason) => {
                println!("skipped: {reason}");
                return ExitCode::SUCCESS;
            }
        };
        match exercise(driver) {
            Ok(()) => {
                println!("all right");
                ExitCode::SUCCESS
            }
            Err(error) => {
                println!("wrong: {error}");
                ExitCode::FAILURE
            }
        }
    }

    fn exercise(driver: &Driver) -> Outcome {
        println!(
            "driver for CUDA {}, lacks {:?}",
            driver.version(),
            driver.missing_functions()
        );
        let device = driver.device(0)?;
        println!(
            "{} at {}, {} bytes",
            device.name()?,
            device.pci_bus_id()?,
            device.total_memory()?
        );
        let _context = Context::new(cust::device::Device::get_device(0)?)?;
        compile_errors()?;
        shared_memory(device)?;
        if device
            .attribute(DeviceAttribute::ClusterLaunch)
            .unwrap_or(0)
            != 0
        {
            clusters()?;
            tensor_map()?;
        } else {
            println!("skipped: clusters and tensor maps, which this device lacks");
        }
        call_cost()
    }

    fn expect<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Outcome {
        if found == expected {
            println!("{what}: {found:?}");
            Ok(())
        } else {
            Err(format!("{what} is {found:?}, not {expected:?}").into())
        }
    }

    fn compile(ptx: &str, entry: &str) -> Result<Function, Box<dyn Error>> {
        let options = JitOptions {
            verbose: true,
            line_info: true,
            ..JitOptions::default()
        };
        // SAFETY: the context lives to the end of `exercise`, and no function leaves it.
        let (module, log) = unsafe { Module::load_ptx(ptx, &options) }?;
        println!("{entry}: {}", log.info.lines().last().unwrap_or("no log"));
        Ok(module.function(entry)?)
    }

    fn compile_errors() -> Outcome {
        let broken = SHARED_PTX.replace("add.u32", "add.u33");
        // SAFETY: the context lives to the end of `exercise`.
        match unsafe { Module::load_ptx(&broken, &JitOptions::default()) } {
            Ok(_) => Err("a wrong instruction was compiled".into()),
            Err(error) => {
                println!("a wrong instruction: {error}");
                if error.to_string().contains("line") {
                    Ok(())
                } else {
                    Err("no line in the message".into())
                }
            }
        }
    }

    fn shared_memory(device: Device) -> Outcome {
        let function = compile(SHARED_PTX, "shared_end")?;
        let bytes = device
            .attribute(DeviceAttribute::MaxSharedMemoryPerBlockOptin)?
            .unsigned_abs();
        function.set_attribute(
            FunctionAttribute::MaxDynamicSharedBytes,
            bytes.cast_signed(),
        )?;
        let resident = function.max_active_blocks_per_multiprocessor(32, bytes)?;
        expect(
            "blocks per multiprocessor with all shared memory",
            resident,
            1,
        )?;
        let output = DeviceBuffer::from_slice(&[0_u32])?;
        let (mut address, mut size) = (output.as_device_ptr().as_raw(), bytes);
        let mut arguments: [*mut c_void; 2] = [(&raw mut address).cast(), (&raw mut size).cast()];
        let config = LaunchConfig::new([1, 1, 1], [1, 1, 1], bytes);
        // SAFETY: the arguments are those of `shared_end`, which writes to `output` alone.
        unsafe { function.launch(&config, null_mut(), &mut arguments) }?;
        expect(
            "number at the end of shared memory",
            output.as_host_vec()?,
            vec![bytes],
        )
    }

    fn clusters() -> Outcome {
        let function = compile(CLUSTER_PTX, "cluster_rank")?;
        let output = DeviceBuffer::from_slice(&[u32::MAX; 8])?;
        let mut address = output.as_device_ptr().as_raw();
        let mut arguments: [*mut c_void; 1] = [(&raw mut address).cast()];
        let plain = LaunchConfig::new([8, 1, 1], [32, 1, 1], 0);
        let config = LaunchConfig {
            cluster: Some([4, 1, 1]),
            programmatic_serialization: true,
            ..plain
        };
        println!(
            "clusters of 4 blocks resident: {}",
            function.max_active_clusters(&config)?
        );
        for _ in 0..2 {
            // SAFETY: the argument is that of `cluster_rank`, which writes one number per block.
            unsafe { function.launch(&config, null_mut(), &mut arguments) }?;
        }
        expect(
            "ranks in clusters",
            output.as_host_vec()?,
            vec![0, 1, 2, 3, 0, 1, 2, 3],
        )
    }

    fn tensor_map() -> Outcome {
        let memory = DeviceBuffer::<u8>::zeroed(256 * 1024 * 2)?;
        let map = TensorMap::tiled(&TensorDescription {
            element: TensorElement::Bf16,
            address: memory.as_device_ptr().as_raw(),
            extents: &[1024, 256],
            strides: &[2048],
            box_extents: &[64, 128],
            swizzle: TensorSwizzle::Bytes128,
            promotion: TensorPromotion::Bytes256,
            out_of_bounds: TensorOutOfBounds::Zero,
        })?;
        expect(
            "tensor map has bits set",
            map.as_bytes().iter().any(|&byte| byte != 0),
            true,
        )
    }

    /// Times the shortest call that does something, through the exported symbol as cust calls it,
    /// and through the driver's own address.
    fn call_cost() -> Outcome {
        type GetVersion = unsafe extern "C" fn(*mut c_int) -> cust_raw::CUresult;
        // SAFETY: this library is loaded already.
        let library = unsafe { libloading::os::unix::Library::new("libcuda.so.1") }?;
        // SAFETY: the type is that of cuda.h.
        let direct = *unsafe { library.get::<GetVersion>(b"cuDriverGetVersion\0") }?;
        let mut best = [f64::INFINITY; 2];
        for _ in 0..20 {
            let functions: [GetVersion; 2] = [cust_raw::cuDriverGetVersion, direct];
            for (function, best) in functions.into_iter().zip(&mut best) {
                *best = best.min(nanoseconds_per_call(black_box(function)));
            }
        }
        let [forwarded, direct] = best;
        println!("cuDriverGetVersion: {forwarded:.2} ns forwarded, {direct:.2} ns called directly");
        Ok(())
    }

    fn nanoseconds_per_call(
        function: unsafe extern "C" fn(*mut c_int) -> cust_raw::CUresult,
    ) -> f64 {
        const CALLS: u32 = 200_000;
        let mut version = 0;
        let start = Instant::now();
        for _ in 0..CALLS {
            // SAFETY: the function writes one int.
            black_box(unsafe { function(&mut version) });
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    }
}
