//! Forwarding, errors and wrappers, against a stand-in for the driver that is compiled here.

#![cfg(target_os = "linux")]

#[path = "fake_driver/mod.rs"]
mod fake_driver;

use cuda_driver::{
    Capture, DriverError, FunctionAttribute, JitOptions, LaunchConfig, LoadError, Module, Stream,
    TensorDescription, TensorElement, TensorMap, TensorMapError, TensorOutOfBounds,
    TensorPromotion, TensorSwizzle, Version,
};
use cust::context::Context;
use cust::device::Device;
use cust::error::CudaError;
use fake_driver::with_fake_driver;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Asks the stand-in itself.
fn ask<T: Default>(name: &std::ffi::CStr) -> T {
    type Function<T> = unsafe extern "C" fn(*mut T) -> u32;
    // SAFETY: this is the library that is loaded already.
    let library = unsafe { libloading::os::unix::Library::new("libcuda.so.1") }.unwrap();
    // SAFETY: the callers name functions of this type.
    let function = *unsafe { library.get::<Function<T>>(name.to_bytes_with_nul()) }.unwrap();
    let mut value = T::default();
    // SAFETY: the function writes one value.
    assert_eq!(unsafe { function(&mut value) }, 0);
    value
}

/// The primary context of the first device, made current.
fn context() -> Context {
    cuda_driver::load().unwrap();
    Context::new(Device::get_device(0).unwrap()).unwrap()
}

/// The module of this text, in the current context, which lives to the end of the test.
fn module(ptx: &str) -> Module {
    // SAFETY: each test keeps its context to its end.
    let loaded = unsafe { Module::load_ptx(ptx, &JitOptions::default()) };
    loaded.unwrap().0
}

#[test]
fn a_driver_that_is_too_old_is_an_error() {
    with_fake_driver(
        "a_driver_that_is_too_old_is_an_error",
        &[("FAKE_CUDA_VERSION", "11020")],
        || {
            let error = cuda_driver::load().unwrap_err();
            let version = |minor| Version { major: 11, minor };
            assert_eq!(
                error,
                LoadError::TooOld {
                    found: version(2),
                    needed: version(4)
                }
            );
        },
    );
}

#[test]
fn a_driver_without_a_device_is_an_error_in_its_words() {
    with_fake_driver(
        "a_driver_without_a_device_is_an_error_in_its_words",
        &[("FAKE_CUDA_INIT", "100")],
        || {
            let message = cuda_driver::load().unwrap_err().to_string();
            let part =
                "cuInit failed: CUDA_ERROR_NO_DEVICE (100), no CUDA-capable device is detected";
            assert!(message.contains(part), "{message}");
        },
    );
}

#[test]
fn cust_reaches_the_driver() {
    with_fake_driver("cust_reaches_the_driver", &[], || {
        cust::init(cust::CudaFlags::empty()).unwrap();
        let device = Device::get_device(0).unwrap();
        assert_eq!(device.name().unwrap(), "Fake GPU");
        assert_eq!(device.total_memory().unwrap(), 1 << 20);
        assert_eq!(Device::get_device(7).unwrap_err(), CudaError::InvalidDevice);
        let _context = Context::new(device).unwrap();
        let numbers = cust::memory::DeviceBuffer::from_slice(&[1.5_f32, -2.0]).unwrap();
        assert_eq!(numbers.as_host_vec().unwrap(), [1.5, -2.0]);
    });
}

#[test]
fn a_missing_function_is_named_and_returns_500() {
    with_fake_driver("a_missing_function_is_named_and_returns_500", &[], || {
        let driver = cuda_driver::load().unwrap();
        assert_eq!(
            driver.version(),
            Version {
                major: 13,
                minor: 0
            }
        );
        let missing = driver.missing_functions();
        assert!(missing.contains(&"cuTensorMapEncodeTiled"), "{missing:?}");
        assert!(!missing.contains(&"cuInit"), "{missing:?}");
        let tensor = TensorDescription {
            element: TensorElement::F32,
            address: 0,
            extents: &[64, 64],
            strides: &[256],
            box_extents: &[32, 8],
            swizzle: TensorSwizzle::Bytes128,
            promotion: TensorPromotion::None,
            out_of_bounds: TensorOutOfBounds::Zero,
        };
        let error = TensorMap::tiled(&tensor).unwrap_err();
        let expected = DriverError {
            call: "cuTensorMapEncodeTiled",
            code: 500,
        };
        assert_eq!(error, TensorMapError::Driver(expected));
    });
}

#[test]
fn device_properties_come_through() {
    with_fake_driver("device_properties_come_through", &[], || {
        use cuda_driver::DeviceAttribute;
        let driver = cuda_driver::load().unwrap();
        assert_eq!(driver.device_count(), Ok(1));
        let device = driver.device(0).unwrap();
        assert_eq!(device.pci_bus_id().unwrap(), "0000:3b:00.0");
        assert_eq!(device.uuid().unwrap()[15], 0xaf);
        assert_eq!(
            device.attribute(DeviceAttribute::ComputeCapabilityMajor),
            Ok(9)
        );
        assert_eq!(
            device
                .attribute(DeviceAttribute::ClusterLaunch)
                .unwrap_err()
                .code,
            1
        );
        assert_eq!(driver.device(1).unwrap_err().code, 101);
    });
}

#[test]
fn the_log_of_the_compiler_is_in_the_error() {
    with_fake_driver("the_log_of_the_compiler_is_in_the_error", &[], || {
        let _context = context();
        let options = JitOptions {
            max_registers: Some(96),
            ..JitOptions::default()
        };
        // SAFETY: the context lives to the end of the test.
        let error = unsafe { Module::load_ptx("syntax_error", &options) }.unwrap_err();
        assert_eq!(
            error.to_string(),
            "cuModuleLoadDataEx failed: CUDA_ERROR_INVALID_PTX (218), a PTX JIT compilation failed: ptxas \
             application ptx input, line 7; fatal   : Parsing error near 'syntax_error'"
        );
        assert_eq!(ask::<u32>(c"fakeMaxRegisters"), 96);
    });
}

#[test]
fn a_launch_passes_geometry_attributes_and_arguments() {
    with_fake_driver(
        "a_launch_passes_geometry_attributes_and_arguments",
        &[],
        || {
            let _context = context();
            let module = module(".entry echo");
            let echo = module.function("echo").unwrap();
            assert_eq!(echo.attribute(FunctionAttribute::Registers), Ok(80));
            assert_eq!(
                echo.max_active_blocks_per_multiprocessor(256, 100 * 1024),
                Ok(2)
            );
            assert_eq!(module.function("absent").unwrap_err().code, 500);

            let output = cust::memory::DeviceBuffer::from_slice(&[0_u32; 2]).unwrap();
            let (mut address, mut integer, mut float) =
                (output.as_device_ptr().as_raw(), 7_u32, 0.5_f32);
            let mut arguments = [
                (&raw mut address).cast(),
                (&raw mut integer).cast(),
                (&raw mut float).cast(),
            ];
            let plain = LaunchConfig::new([2, 3, 4], [32, 4, 1], 1024);
            let cluster = LaunchConfig {
                cluster: Some([2, 1, 1]),
                ..plain
            };
            let dependent = LaunchConfig {
                programmatic_serialization: true,
                ..cluster
            };
            for (config, attributes) in [
                (plain, [0, 0, 0, 0]),
                (cluster, [2, 1, 1, 0]),
                (dependent, [2, 1, 1, 1]),
            ] {
                // SAFETY: the arguments are those of `echo`, which writes to `output` alone.
                unsafe { echo.launch(&config, std::ptr::null_mut(), &mut arguments) }.unwrap();
                let launch: [u32; 11] = ask(c"fakeLastLaunch");
                assert_eq!(launch[..7], [2, 3, 4, 32, 4, 1, 1024]);
                assert_eq!(launch[7..], attributes);
            }
            assert_eq!(output.as_host_vec().unwrap(), [7, 0.5_f32.to_bits()]);
        },
    );
}

#[test]
fn what_a_stream_captures_runs_with_the_graph_alone() {
    with_fake_driver(
        "what_a_stream_captures_runs_with_the_graph_alone",
        &[],
        || {
            let _context = context();
            let module = module(".entry echo");
            let echo = module.function("echo").unwrap();
            // SAFETY: the context lives to the end of the test.
            let stream = unsafe { Stream::new() }.unwrap();
            let output = cust::memory::DeviceBuffer::from_slice(&[0_u32; 2]).unwrap();
            let (mut address, mut float) = (output.as_device_ptr().as_raw(), 0.5_f32);
            let mut launch = |mut integer: u32| {
                let mut arguments = [
                    (&raw mut address).cast(),
                    (&raw mut integer).cast(),
                    (&raw mut float).cast(),
                ];
                let config = LaunchConfig::new([1, 1, 1], [1, 1, 1], 0);
                // SAFETY: the arguments are those of `echo`, which writes to `output` alone.
                unsafe { echo.launch(&config, stream.as_raw(), &mut arguments) }.unwrap();
            };
            let written = || output.as_host_vec().unwrap();

            // One that is dropped ends, so that the stream takes launches, and another capture.
            let dropped = Capture::begin(&stream).unwrap();
            launch(1);
            assert_eq!(Capture::begin(&stream).unwrap_err().code, 401);
            drop(dropped);
            launch(2);
            assert_eq!(written()[0], 2);

            let capture = Capture::begin(&stream).unwrap();
            launch(3);
            launch(4);
            // SAFETY: the kernel and its array live to the end of the test.
            let graph = unsafe { capture.end() }.unwrap();
            assert_eq!(written()[0], 2);
            // SAFETY: the array and the stream live to the end of the test.
            unsafe { graph.launch(stream.as_raw()) }.unwrap();
            assert_eq!(written(), [4, 0.5_f32.to_bits()]);
        },
    );
}

#[test]
fn a_code_that_cust_does_not_know_stays_itself_here_and_is_999_there() {
    with_fake_driver(
        "a_code_that_cust_does_not_know_stays_itself_here_and_is_999_there",
        &[],
        || {
            let _context = context();
            let module = module(".entry refused");
            let refused = module.function("refused").unwrap();
            let config = LaunchConfig::new([1, 1, 1], [1, 1, 1], 0);
            // SAFETY: the kernel has no parameters.
            let error =
                unsafe { refused.launch(&config, std::ptr::null_mut(), &mut []) }.unwrap_err();
            assert_eq!(error.code, 912);
            assert!(
                error
                    .to_string()
                    .contains("CUDA_ERROR_INVALID_CLUSTER_SIZE (912), invalid cluster size")
            );
            let function = refused.as_raw();
            let null = std::ptr::null_mut::<*mut std::ffi::c_void>();
            // SAFETY: the kernel has no parameters.
            let code = unsafe {
                cust::sys::cuLaunchKernel(
                    function.cast(),
                    1,
                    1,
                    1,
                    1,
                    1,
                    1,
                    0,
                    null.cast(),
                    null,
                    null,
                )
            };
            assert_eq!(code, cust::sys::cudaError_enum::CUDA_ERROR_UNKNOWN);
        },
    );
}

/// A program in Rust with two calls of the driver, and no other crate.
const STANDALONE: &str = r#"
unsafe extern "C" {
    fn cuInit(flags: u32) -> u32;
    fn cuDeviceGetCount(count: *mut i32) -> u32;
}

fn main() {
    let mut count = -1;
    // SAFETY: both may be called at any time, and the second writes one number.
    let codes = unsafe { (cuInit(0), cuDeviceGetCount(&mut count)) };
    println!("{codes:?} {count}");
}
"#;

#[test]
fn the_table_by_itself_is_a_library_that_a_program_links() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("standalone");
    fs::create_dir_all(&folder).unwrap();
    let source = folder.join("main.rs");
    fs::write(&source, STANDALONE).unwrap();
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/standalone.rs");
    let compile = |source: &Path, output: &str, flags: &[&str]| {
        let output = folder.join(output);
        let compiler = std::env::var_os("RUSTC").unwrap_or("rustc".into());
        let mut command = Command::new(compiler);
        command.args(["--edition=2024", "-Dwarnings"]).args(flags);
        let status = command.arg("-o").arg(&output).arg(source).status().unwrap();
        assert!(status.success());
        output
    };
    let library = [
        "--crate-type=rlib",
        "-Cpanic=abort",
        "-Cembed-bitcode=no",
        "--cfg=feature=\"cust\"",
    ];
    compile(&table, "libdriver.a", &library);
    let search = format!("-Lnative={}", folder.display());
    let program = compile(&source, "main", &[&search, "-lstatic:-bundle=driver"]);

    let run = |library_path: &Path| {
        let mut command = Command::new(&program);
        let output = command.env("LD_LIBRARY_PATH", library_path).output();
        let output = output.unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    assert_eq!(
        run(fake_driver::folder()),
        ("(0, 0) 1".to_owned(), String::new())
    );
    let (codes, reason) = run(&folder);
    if codes == "(34, 34) -1" {
        assert!(
            reason.starts_with("no NVIDIA driver (libcuda.so.1: "),
            "{reason}"
        );
        assert_eq!(reason.lines().count(), 1, "said once: {reason}");
    } else {
        println!("half of it skipped: this machine has a CUDA driver");
    }
}
