//! The GPU as the laboratory opens it, with cust, against a stand-in for the CUDA driver.

use crate::fake_driver::with_fake_driver;
use warpladder::engine::{Buffer, EngineChoice};
use warpladder_lab::engine;

#[test]
fn the_engine_works_on_a_stream_of_cust() {
    with_fake_driver("engine::the_engine_works_on_a_stream_of_cust", &[], || {
        let (engine, reason) = engine::open(EngineChoice::Auto).unwrap();
        assert!(reason.is_none());
        assert_eq!(engine.device_name(), "Fake GPU");
        let buffer = Buffer::new(&*engine, 8).unwrap();
        buffer.upload(&[7_u32, 9]).unwrap();
        engine.synchronize().unwrap();
        let mut words = [0_u32; 2];
        buffer.download(&mut words).unwrap();
        assert_eq!(words, [7, 9]);
        // The stand-in aborts where a context is released before what lives in it.
        drop(buffer);
        drop(engine);
    });
}

#[test]
fn what_cust_refuses_is_one_line() {
    with_fake_driver("engine::what_cust_refuses_is_one_line", &[], || {
        let message = engine::gpu(7).err().unwrap().to_string();
        assert!(message.contains("GPU 7 gives no context"), "{message}");
        assert!(!message.contains('\n'), "{message}");
    });
}
