//! Whole kernels from rustc, run and checked against the host.

use ptx_emulator::{Args, FaultKind, Kernel, LaunchConfig, LaunchError, Memory, Module};

const SAMPLES: [&str; 2] = [
    include_str!("../data/lines.ptx"),
    include_str!("../data/with_calls.ptx"),
];

fn kernel(text: &str, name: &str) -> Kernel {
    let module = Module::parse(text).expect("well-formed PTX");
    module.kernel(name).expect("a known kernel")
}

fn upload(memory: &Memory, values: &[f32]) -> u64 {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let address = memory.alloc(bytes.len() as u64).expect("room");
    memory.write(address, &bytes).expect("in bounds");
    address
}

fn download(memory: &Memory, address: u64, count: usize) -> Vec<f32> {
    let mut bytes = vec![0; 4 * count];
    memory.read(address, &mut bytes).expect("in bounds");
    let words = bytes.chunks_exact(4);
    words
        .map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect()
}

/// Values with all 24 bits of the significand in use.
fn noise(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

/// The GEMM in the order of the kernels: multiply, then add, both rounded.
fn product(a: &[f32], b: &[f32], m: usize, n: usize, k: usize) -> Vec<f32> {
    let mut c = vec![0.0f32; m * n];
    for row in 0..m {
        for column in 0..n {
            let mut sum = 0.0f32;
            for i in 0..k {
                sum += a[row * k + i] * b[i * n + column];
            }
            c[row * n + column] = sum;
        }
    }
    c
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn naive_product_is_exact_at_awkward_sizes() {
    for text in SAMPLES {
        let naive = kernel(text, "naive");
        assert_eq!(naive.params().len(), 8);
        for (m, n, k) in [(1, 1, 1), (2, 31, 33), (33, 17, 0), (40, 50, 60)] {
            let memory = Memory::with_capacity(1 << 20);
            let (a, b) = (noise(m * k, 1), noise(k * n, 2));
            let (da, db) = (upload(&memory, &a), upload(&memory, &b));
            let c = upload(&memory, &vec![f32::NAN; m * n]);
            let mut args = Args::new();
            args.push_u64(da).push_u64(a.len() as u64);
            args.push_u64(db).push_u64(b.len() as u64);
            args.push_u64(c);
            args.push_u32(m as u32)
                .push_u32(n as u32)
                .push_u32(k as u32);
            let grid = [n.div_ceil(16) as u32, m.div_ceil(16) as u32, 1];
            let config = LaunchConfig::new(grid, [16, 16, 1]);
            let report = naive.launch(&memory, &config, &args).expect("runs");
            assert_eq!(report.blocks, u64::from(grid[0] * grid[1]));
            let got = download(&memory, c, m * n);
            assert_eq!(bits(&got), bits(&product(&a, &b, m, n, k)), "{m}x{n}x{k}");
        }
    }
}

#[test]
fn tiled_product_is_exact() {
    let (m, n, k) = (48, 64, 80);
    for text in SAMPLES {
        let tiled = kernel(text, "tiled");
        assert_eq!(tiled.static_shared_bytes(), 2048);
        let memory = Memory::with_capacity(1 << 20);
        let (a, b) = (noise(m * k, 3), noise(k * n, 4));
        let (da, db) = (upload(&memory, &a), upload(&memory, &b));
        let c = upload(&memory, &vec![f32::NAN; m * n]);
        let mut args = Args::new();
        args.push_u64(da).push_u64(a.len() as u64);
        args.push_u64(db).push_u64(b.len() as u64);
        args.push_u64(c).push_u32(n as u32).push_u32(k as u32);
        let config = LaunchConfig::new([n as u32 / 16, m as u32 / 16, 1], [16, 16, 1]);
        tiled.launch(&memory, &config, &args).expect("runs");
        assert_eq!(
            bits(&download(&memory, c, m * n)),
            bits(&product(&a, &b, m, n, k))
        );
    }
}

#[test]
fn vectors_of_128_bits() {
    for text in SAMPLES {
        let vec4 = kernel(text, "vec4");
        let memory = Memory::with_capacity(1 << 20);
        let (a, b) = (noise(128, 5), noise(128, 6));
        let (da, db) = (upload(&memory, &a), upload(&memory, &b));
        let (ca, cb) = (upload(&memory, &[0.0; 128]), upload(&memory, &[0.0; 128]));
        let mut args = Args::new();
        args.push_u64(da).push_u64(128).push_u64(db).push_u64(128);
        args.push_u64(ca).push_u64(cb);
        let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
        vec4.launch(&memory, &config, &args).expect("runs");
        assert_eq!(bits(&download(&memory, ca, 128)), bits(&a));
        assert_eq!(bits(&download(&memory, cb, 128)), bits(&b));
    }
}

#[test]
fn a_failed_bounds_check_names_the_source_line() {
    let naive = kernel(SAMPLES[0], "naive");
    let memory = Memory::with_capacity(1 << 20);
    let a = upload(&memory, &[1.0; 64]);
    let mut args = Args::new();
    // The slice of the first matrix is one element short.
    args.push_u64(a)
        .push_u64(63)
        .push_u64(a)
        .push_u64(64)
        .push_u64(a);
    args.push_u32(8).push_u32(8).push_u32(8);
    let config = LaunchConfig::new([1, 1, 1], [8, 8, 1]);
    let error = naive.launch(&memory, &config, &args).expect_err("traps");
    let LaunchError::Fault(fault) = error else {
        panic!("not a fault: {error}");
    };
    assert_eq!(fault.kind, FaultKind::Trap);
    let location = fault.location.clone().expect("a line");
    assert!(location.file.ends_with("panicking.rs"), "{fault}");
    assert_eq!(fault.thread.map(|thread| thread[1]), Some(7));

    let naive = kernel(SAMPLES[1], "naive");
    let error = naive.launch(&memory, &config, &args).expect_err("panics");
    assert!(error.to_string().contains("panic_bounds_check"), "{error}");
}
