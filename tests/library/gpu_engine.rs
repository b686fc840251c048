//! The GPU engine's own logic, against a stand-in for the CUDA driver: no GPU is needed.

#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "the driver is a fake one: no kernel runs"
)]

use crate::fake_driver;
use warpladder::device::{self, ComputeCapability};
use warpladder::engine::gpu::GpuEngine;
use warpladder::engine::streams::StreamId;
use warpladder::engine::{Buffer, Engine};
use warpladder::error::EngineError;
use warpladder::launch::{Arg, DevicePtr, Dim3, KernelId, Launch};

const PTX: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry echo(.param .u64 echo_param_0, .param .u32 echo_param_1, .param .f32 echo_param_2)
{ ret; }
.visible .entry fault()
{ ret; }
";

const ONE: Dim3 = Dim3::ONE;

fn launch<'a>(kernel: KernelId, args: &'a [Arg<'a>]) -> Launch<'a> {
    Launch {
        kernel,
        grid: ONE,
        block: Dim3::new(32, 1, 1),
        cluster: ONE,
        shared_bytes: 0,
        args,
    }
}

/// Runs a test of this module with the stand-in of the driver.
fn with_fake_driver(test: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    fake_driver::with_fake_driver(&format!("gpu_engine::{test}"), variables, body);
}

#[test]
fn a_launch_gets_its_arguments_and_its_time() {
    with_fake_driver("a_launch_gets_its_arguments_and_its_time", &[], || {
        let engine = GpuEngine::new(0).unwrap();
        let output = Buffer::new(&engine, 8).unwrap();
        output.upload(&[1_u32, 2]).unwrap();
        let echo = engine.load(PTX, "echo").unwrap();
        assert_eq!(engine.load(PTX, "echo").unwrap(), echo);
        let args = [Arg::Ptr(output.ptr()), Arg::U32(7), Arg::F32(0.5)];
        assert_eq!(
            unsafe { engine.time(&[launch(echo, &args)], 1) }.unwrap(),
            1.25
        );
        let mut words = [0_u32; 2];
        output.download(&mut words).unwrap();
        assert_eq!(words, [7, 0.5_f32.to_bits()]);
    });
}

#[test]
fn streams_and_events_reach_the_driver() {
    with_fake_driver("streams_and_events_reach_the_driver", &[], || {
        let engine = GpuEngine::new(0).unwrap();
        let output = Buffer::new(&engine, 8).unwrap();
        let copy = Buffer::new(&engine, 8).unwrap();
        output.upload(&[1_u32, 2]).unwrap();
        let echo = engine.load(PTX, "echo").unwrap();
        let args = [Arg::Ptr(output.ptr()), Arg::U32(7), Arg::F32(0.5)];
        let streams = engine.streams().unwrap();
        let stream = streams.open_stream().unwrap();
        let [start, stop] = [(); 2].map(|()| streams.open_event().unwrap());
        streams.record(start, StreamId::OWN).unwrap();
        streams.wait(stream, start).unwrap();
        for _ in 0..2 {
            unsafe { streams.enqueue_on(stream, &launch(echo, &args)) }.unwrap();
        }
        streams
            .copy_on(stream, copy.ptr(), output.ptr(), 8)
            .unwrap();
        streams.record(stop, stream).unwrap();
        streams.synchronize_event(stop).unwrap();
        assert!(streams.is_reached(stop).unwrap());
        // Each launch takes 1.25 ms.
        assert_eq!(streams.elapsed_ms(start, stop).unwrap(), 2.5);
        streams.synchronize_stream(stream).unwrap();
        engine.synchronize().unwrap();
        let mut words = [0_u32; 2];
        copy.download(&mut words).unwrap();
        assert_eq!(words, [7, 0.5_f32.to_bits()]);

        streams.close_stream(stream);
        streams.close_event(stop);
        let error = unsafe { streams.enqueue_on(stream, &launch(echo, &args)) }.unwrap_err();
        assert!(error.to_string().contains("is not one of this engine"));
        assert!(streams.record(stop, StreamId::OWN).is_err());
    });
}

#[test]
fn shared_memory_above_48_kib_is_opted_in_to() {
    with_fake_driver("shared_memory_above_48_kib_is_opted_in_to", &[], || {
        let engine = GpuEngine::new(0).unwrap();
        let output = Buffer::new(&engine, 8).unwrap();
        let echo = engine.load(PTX, "echo").unwrap();
        let args = [Arg::Ptr(output.ptr()), Arg::U32(7), Arg::F32(0.5)];
        let shared_bytes = 100 * 1024;
        unsafe {
            engine.run(&Launch {
                shared_bytes,
                ..launch(echo, &args)
            })
        }
        .unwrap();
        let shared_bytes = 227 * 1024;
        let error = unsafe {
            engine.run(&Launch {
                shared_bytes,
                ..launch(echo, &args)
            })
        }
        .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("1024 bytes of static and 232448 bytes of dynamic"),
            "{error}"
        );
    });
}

#[test]
fn wrong_launches_are_refused_with_their_reason() {
    with_fake_driver("wrong_launches_are_refused_with_their_reason", &[], || {
        let engine = GpuEngine::new(0).unwrap();
        let echo = engine.load(PTX, "echo").unwrap();
        let args = [Arg::Ptr(DevicePtr(0)), Arg::U32(7), Arg::F32(0.5)];
        let wide = Dim3::new(513, 1, 1);
        let cases = [
            (
                Launch {
                    block: wide,
                    ..launch(echo, &args)
                },
                "513 threads exceeds the 512",
            ),
            (
                Launch {
                    grid: Dim3::new(1, 0, 1),
                    ..launch(echo, &args)
                },
                "extent 0 in y",
            ),
            (
                Launch {
                    cluster: Dim3::new(2, 1, 1),
                    ..launch(echo, &args)
                },
                "clusters of 2 × 1 × 1 blocks do not divide the grid of 1 × 1 × 1",
            ),
            (launch(echo, &args[..2]), "takes 3 arguments, not 2"),
            (launch(KernelId(5), &args), "has not loaded it"),
        ];
        for (launch, part) in cases {
            let error = unsafe { engine.run(&launch) }.unwrap_err();
            assert!(matches!(error, EngineError::Launch { .. }), "{error:?}");
            assert!(error.to_string().contains(part), "{error}");
        }
    });
}

#[test]
fn modules_that_do_not_load_say_why() {
    with_fake_driver("modules_that_do_not_load_say_why", &[], || {
        let engine = GpuEngine::new(0).unwrap();
        let error = engine.load("syntax_error", "echo").unwrap_err().to_string();
        assert!(error.starts_with("cannot load echo: "), "{error}");
        assert!(
            error.ends_with("line 7; fatal   : Parsing error near 'syntax_error'"),
            "{error}"
        );
        let error = engine.load(PTX, "absent").unwrap_err().to_string();
        assert_eq!(error, "cannot load absent: the PTX has no such entry");
    });
}

#[test]
fn memory_has_its_limits() {
    with_fake_driver("memory_has_its_limits", &[], || {
        let engine = GpuEngine::new(0).unwrap();
        let buffer = Buffer::new(&engine, 1000).unwrap();
        let free = (1 << 20) - 1000;
        assert_eq!(engine.free_memory().unwrap(), free);
        // More than there is, and more than there is in one piece.
        for bytes in [1 << 20, 600 * 1024] {
            match engine.alloc(bytes) {
                Err(EngineError::OutOfMemory { needed, free: left }) => {
                    assert_eq!((needed, left), (bytes as u64, free));
                }
                other => panic!("{other:?}"),
            }
        }
        drop(buffer);
        assert_eq!(engine.free_memory().unwrap(), 1 << 20);
    });
}

#[test]
fn copies_stay_inside_allocations() {
    with_fake_driver("copies_stay_inside_allocations", &[], || {
        let engine = GpuEngine::new(0).unwrap();
        let buffer = Buffer::new(&engine, 16).unwrap();
        let DevicePtr(start) = buffer.ptr();
        engine.upload(DevicePtr(start + 8), &[1; 8]).unwrap();
        engine.download(&mut [], DevicePtr(start)).unwrap();
        let mut bytes = [0; 8];
        for address in [start + 9, start - 1, 0, u64::MAX] {
            engine.upload(DevicePtr(address), &bytes).unwrap_err();
            engine.download(&mut bytes, DevicePtr(address)).unwrap_err();
        }
    });
}

#[test]
fn a_kernel_that_faults_is_named_from_then_on() {
    with_fake_driver("a_kernel_that_faults_is_named_from_then_on", &[], || {
        let engine = GpuEngine::new(0).unwrap();
        let _buffer = Buffer::new(&engine, 16).unwrap();
        let fault = engine.load(PTX, "fault").unwrap();
        let error = unsafe { engine.run(&launch(fault, &[])) }.unwrap_err();
        let text = "fault failed: CUDA_ERROR_ILLEGAL_ADDRESS (700), an illegal memory access was encountered";
        assert_eq!(error.to_string(), text);
        let error = engine.alloc(16).unwrap_err();
        assert!(matches!(error, EngineError::Unavailable(_)), "{error:?}");
        assert!(
            error.to_string().contains("since fault failed on it"),
            "{error}"
        );
    });
}

#[test]
fn a_device_that_is_not_there_is_an_error() {
    with_fake_driver("a_device_that_is_not_there_is_an_error", &[], || {
        let error = GpuEngine::new(3).err().unwrap();
        assert_eq!(
            error.to_string(),
            "there is no GPU 3: the driver lists 1, counted from 0"
        );
    });
}

#[test]
fn the_device_query_reads_the_driver() {
    with_fake_driver("the_device_query_reads_the_driver", &[], || {
        let devices = device::devices().unwrap();
        assert_eq!(devices.len(), 1);
        let device = &devices[0];
        assert_eq!(device.name, "Fake GPU");
        assert_eq!(device.uuid, "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf");
        assert_eq!(device.cuda_version, "13.0");
        assert_eq!(device.compute_capability, ComputeCapability::V9_0);
        assert_eq!(device.max_block, Dim3::new(1024, 1024, 64));
        assert_eq!(device.shared_bytes_per_block_optin, 232_448);
        assert!((device.peak_bandwidth_gbs - 3352.32).abs() < 1e-9);
        assert!(!device.cluster_launch, "CUDA 11.4 has no such attribute");
    });
}
