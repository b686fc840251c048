//! `ldmatrix` and `stmatrix` of 8-bit elements, and of 4 and 6 bits that loads unpack, against the
//! figures of the PTX ISA.

use crate::common::{launch, module};
use ptx_emulator::sanitize::{Finding, Sanitizer, Tool};
use ptx_emulator::{Args, LaunchConfig, Memory, Module};

/// The target that has these shapes.
fn of_target(text: &str) -> String {
    text.replace(
        ".version 8.0\n.target sm_80",
        ".version 8.7\n.target sm_120a",
    )
}

/// Bytes of the 32 rows, 16 each.
fn rows() -> Vec<u8> {
    let noise = |at: u32| (at.wrapping_mul(2_654_435_761) >> 13) as u8;
    (0..512).map(noise).collect()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.chunks_exact(4);
    words
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect()
}

/// What each lane has in `count` registers after a load from the rows at its address.
fn load(opcode: &str, count: usize) -> Vec<[u8; 4]> {
    let registers: Vec<String> = (8..8 + count).map(|index| format!("%r{index}")).collect();
    let stores: String = (0..count)
        .map(|at| format!("st.global.b32 [%x2+{}], %r{};", 4 * at, 8 + at))
        .collect();
    let text = module(&format!(
        ".shared .align 16 .b8 tile[512]; mov.u32 %r1, tile; mad.lo.u32 %r2, %thread, 16, %r1;
         mad.wide.u32 %x1, %thread, 16, %base; ld.global.v4.b32 {{%r3, %r4, %r5, %r6}}, [%x1];
         st.shared.v4.b32 [%r2], {{%r3, %r4, %r5, %r6}}; bar.sync 0;
         ldmatrix.sync.aligned.{opcode} {{{}}}, [%r2];
         mad.wide.u32 %x2, %thread, {}, %base; {stores}",
        registers.join(", "),
        4 * count
    ));
    let mut data = words(&rows());
    let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
    launch(&of_target(&text), &config, &mut data).unwrap_or_else(|error| panic!("{error}"));
    let words = data.iter().take(32 * count);
    words.map(|word| word.to_le_bytes()).collect()
}

/// Element `at` of a row whose elements have `bits` bits.
fn element(row: &[u8], bits: usize, at: usize) -> u8 {
    let bit = |index: usize| row[index / 8] >> (index % 8) & 1;
    (0..bits).fold(0, |value, place| value | bit(bits * at + place) << place)
}

const PACKINGS: [(&str, usize); 3] = [("b8", 8), ("b8x16.b6x16_p32", 6), ("b8x16.b4x16_p64", 4)];

#[test]
fn squares_are_transposed() {
    let all = rows();
    for (types, bits) in PACKINGS {
        for matrices in [1, 2] {
            let opcode = format!("m16n16.x{matrices}.trans.shared.{types}");
            let found = load(&opcode, 2 * matrices);
            for (at, found) in found.iter().enumerate() {
                let (lane, register) = (at / (2 * matrices), at % (2 * matrices));
                let (matrix, half) = (register / 2, register % 2);
                let wanted: [u8; 4] = std::array::from_fn(|part| {
                    let row = 16 * matrix + 4 * (lane % 4) + part;
                    element(&all[16 * row..], bits, lane / 4 + 8 * half)
                });
                assert_eq!(*found, wanted, "{opcode}, lane {lane}, register {register}");
            }
        }
    }
}

#[test]
fn packed_rows_become_bytes() {
    let all = rows();
    for (types, bits) in &PACKINGS[1..] {
        for matrices in [1, 2, 4] {
            let opcode = format!("m8n16.x{matrices}.shared.{types}");
            let found = load(&opcode, matrices);
            for (at, found) in found.iter().enumerate() {
                let (lane, matrix) = (at / matrices, at % matrices);
                let row = &all[16 * (8 * matrix + lane / 4)..];
                let wanted: [u8; 4] =
                    std::array::from_fn(|part| element(row, *bits, 4 * (lane % 4) + part));
                assert_eq!(*found, wanted, "{opcode}, lane {lane}, register {matrix}");
            }
        }
    }
}

/// A lane has the elements that it has of D of an MMA: two columns of rows g and g + 8.
#[test]
fn tall_matrices_are_stored_by_column() {
    for count in [1, 2, 4] {
        let registers: Vec<String> = (8..8 + count).map(|index| format!("%r{index}")).collect();
        let loads: String = (0..count)
            .map(|at| format!("ld.global.b32 %r{}, [%x1+{}];", 8 + at, 4 * at))
            .collect();
        let text = module(&format!(
            ".shared .align 16 .b8 tile[512]; mov.u32 %r1, tile; mad.lo.u32 %r2, %thread, 16, %r1;
             mad.wide.u32 %x1, %thread, 16, %base; {loads}
             mov.b32 %r3, 0; st.shared.v4.b32 [%r2], {{%r3, %r3, %r3, %r3}}; bar.sync 0;
             stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8 [%r2], {{{}}};
             bar.sync 0; ld.shared.v4.b32 {{%r3, %r4, %r5, %r6}}, [%r2];
             st.global.v4.b32 [%x1], {{%r3, %r4, %r5, %r6}};",
            registers.join(", "),
        ));
        let given = rows();
        let mut data = words(&given);
        let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
        launch(&of_target(&text), &config, &mut data).unwrap_or_else(|error| panic!("{error}"));
        let found: Vec<u8> = data.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut wanted = vec![0; 512];
        for lane in 0..32 {
            for matrix in 0..count {
                for part in 0..4 {
                    let (row, column) = (lane / 4 + 8 * (part / 2), 2 * (lane % 4) + part % 2);
                    let value = given[16 * lane + 4 * matrix + part];
                    wanted[16 * (8 * matrix + column) + row] = value;
                }
            }
        }
        assert_eq!(found, wanted, "x{count}");
    }
}

/// Padding is no element: nothing is said of padding that was never written, and of elements is.
#[test]
fn padding_may_hold_anything() {
    let findings = |written: &str| -> Vec<Finding> {
        let text = of_target(&module(&format!(
            ".shared .align 16 .b8 tile[512]; mov.u32 %r1, tile; mad.lo.u32 %r2, %thread, 16, %r1;
             mov.b32 %r3, 0; {written} bar.sync 0;
             ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b6x16_p32 {{%r4, %r5, %r6, %r7}}, [%r2];"
        )));
        let kernel = Module::parse(&text).expect("parses").kernel("test");
        let memory = Memory::with_capacity(1 << 16);
        let mut args = Args::new();
        args.push_u64(memory.alloc(64).expect("room"));
        let mut sanitizer = Sanitizer::new(&[Tool::Initcheck]);
        let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
        let launched =
            kernel
                .expect("decodes")
                .launch_observed(&memory, &config, &args, &mut sanitizer);
        launched.expect("runs");
        sanitizer.findings().to_vec()
    };
    let whole = "st.shared.v2.b32 [%r2], {%r3, %r3}; st.shared.b32 [%r2+8], %r3;";
    assert_eq!(findings(whole).len(), 0);
    assert_ne!(findings("st.shared.v2.b32 [%r2], {%r3, %r3};").len(), 0);
}

#[test]
fn shapes_that_there_are_not_are_refused() {
    for opcode in [
        "ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8 {%r1, %r2, %r3, %r4}, [%r5]",
        "ldmatrix.sync.aligned.m16n16.x1.shared.b8 {%r1, %r2}, [%r5]",
        "ldmatrix.sync.aligned.m8n16.x1.shared.b8 {%r1}, [%r5]",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b8 {%r1}, [%r5]",
        "ldmatrix.sync.aligned.m8n16.x1.trans.shared.b8x16.b6x16_p32 {%r1}, [%r5]",
        "ldmatrix.sync.aligned.m16n8.x1.trans.shared.b8 {%r1}, [%r5]",
        "stmatrix.sync.aligned.m16n8.x1.shared.b8 [%r5], {%r1}",
        "stmatrix.sync.aligned.m16n16.x1.trans.shared.b8 [%r5], {%r1, %r2}",
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1}, [%r5]",
    ] {
        let text = of_target(&module(&format!("{opcode};")));
        let module = Module::parse(&text).expect("well formed");
        assert!(module.kernel("test").is_err(), "{opcode}");
    }
}
