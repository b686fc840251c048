//! Starts the driver through cust, as a program linked with cust does, and says what came of it.
//!
//! `cargo run -p warpladder-cuda-driver --example init`

#[cfg(target_os = "linux")]
fn main() {
    match cuda_driver::load() {
        Ok(driver) => {
            println!("cuda_driver: CUDA {}", driver.version());
            println!(
                "functions that this driver lacks: {:?}",
                driver.missing_functions()
            );
        }
        Err(reason) => println!("cuda_driver: {reason}"),
    }
    match cust::init(cust::CudaFlags::empty()) {
        Ok(()) => println!("cust: initialised"),
        Err(error) => println!("cust: {error:?}: {error}"),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("{:?}", cuda_driver::load());
}
