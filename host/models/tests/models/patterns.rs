//! Coalescing and bank conflicts: source 003, and the closed forms against the emulator's counters.

use ptx_emulator::{Args, Counters, LaunchConfig, Memory, Module};
use warpladder_models::PatternError;
use warpladder_models::bank_conflicts::Banks;
use warpladder_models::coalescing::WarpAccess;

#[test]
fn transposes_of_003() {
    // A copy's row is 4 sectors of one cache line: "32 float belonging to the same cache line".
    let row = WarpAccess::contiguous(4).unwrap();
    assert_eq!((row.sectors(), row.lines(), row.efficiency()), (4, 1, 1.0));
    // "The naive transpose kernel performs 32 different stores per row", in a 2048×2048 matrix.
    let column = WarpAccess::new(32, 2048 * 4, 4, 0).unwrap();
    assert_eq!((column.sectors(), column.efficiency()), (32, 0.125));
    // "Any read/write access to this tile by column will get a 32 bank conflict"; 32×33 has none.
    assert_eq!(Banks::CC_2.wavefronts(32 * 4, 4), Ok(32));
    assert_eq!(Banks::CC_2.wavefronts(33 * 4, 4), Ok(1));
    assert_eq!(Banks::CC_2.wavefronts(4, 4), Ok(1));
}

#[test]
fn half_warps_of_compute_capability_1() {
    // 16 banks: 16-way at worst for each half, and a row of 17 is enough padding.
    assert_eq!(Banks::CC_1.wavefronts(16 * 4, 4), Ok(32));
    assert_eq!(Banks::CC_1.wavefronts(17 * 4, 4), Ok(2));
    assert_eq!(Banks::CC_1.wavefronts(0, 4), Ok(2));
    assert_eq!(Banks::CC_1.bytes_per_cycle(), 32.0);
    assert_eq!(Banks::CC_3.bytes_per_cycle(), 128.0);
}

#[test]
fn negative_strides_and_unaligned_starts() {
    let backwards = WarpAccess::new(32, -4, 4, 31 * 4).unwrap();
    assert_eq!(backwards.sectors(), 4);
    assert_eq!(WarpAccess::new(32, 4, 4, 4).unwrap().sectors(), 5);
    assert_eq!(WarpAccess::new(32, 4, 4, -4).unwrap().sectors(), 5);
    assert_eq!(WarpAccess::new(1, i64::MIN, 16, 0).unwrap().sectors(), 1);
    assert_eq!(WarpAccess::new(32, i64::MIN, 16, 0).unwrap().sectors(), 32);
}

#[test]
fn what_has_no_closed_form_is_an_error() {
    let refused =
        |lanes, stride, bytes, offset| WarpAccess::new(lanes, stride, bytes, offset).unwrap_err();
    assert_eq!(refused(0, 4, 4, 0), PatternError::Lanes(0));
    assert_eq!(refused(33, 4, 4, 0), PatternError::Lanes(33));
    assert_eq!(refused(32, 4, 3, 0), PatternError::AccessBytes(3));
    assert!(
        refused(32, 2, 4, 0)
            .to_string()
            .starts_with("stride of 2 bytes")
    );
    assert!(
        refused(32, 4, 4, 1)
            .to_string()
            .starts_with("offset of 1 bytes")
    );
    assert_eq!(
        Banks::CC_3.wavefronts(2, 2),
        Err(PatternError::NarrowerThanBank(2))
    );
    let row = WarpAccess::contiguous(8).unwrap();
    assert_eq!(row.segments(64), Ok(4));
    assert!(row.segments(4).is_err() && row.segments(48).is_err() && row.segments(0).is_err());
}

const PTX: &str = r#"
.version 7.0
.target sm_70
.address_size 64
.visible .entry strided(.param .u64 base, .param .u32 stride)
{
    .reg .b32 %r<6>; .reg .b64 %rd<6>;
    .shared .align 16 .b8 tile[32768];
    ld.param.u64 %rd0, [base];
    ld.param.u32 %r0, [stride];
    mov.u32 %r1, %tid.x;
    mul.lo.u32 %r2, %r1, %r0;
    cvt.u64.u32 %rd1, %r2;
    add.u64 %rd2, %rd0, %rd1;
    mov.u64 %rd3, tile;
    add.u64 %rd4, %rd3, %rd1;
    LOADS
    ret;
}
"#;

/// Sectors and wavefronts that the emulator counts for one load of each kind.
fn counted(stride: u32, bytes: u32, offset: u32) -> (u64, u64) {
    let vector = match bytes {
        4 => ("u32", "%r3"),
        8 => ("v2.u32", "{%r3, %r4}"),
        _ => ("v4.u32", "{%r2, %r3, %r4, %r5}"),
    };
    let loads = format!(
        "ld.global.{0} {1}, [%rd2]; ld.shared.{0} {1}, [%rd4];",
        vector.0, vector.1
    );
    let module = Module::parse(&PTX.replace("LOADS", &loads)).unwrap();
    let kernel = module.kernel("strided").unwrap();
    let memory = Memory::with_capacity(1 << 20);
    let base = memory.alloc(1 << 16).unwrap() + u64::from(offset);
    let mut args = Args::new();
    args.push_u64(base);
    args.push_u32(stride);
    let mut counters = Counters::new();
    let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
    kernel
        .launch_observed(&memory, &config, &args, &mut counters)
        .unwrap();
    let total = counters.total();
    (total.global_loads.sectors, total.shared_loads.wavefronts)
}

#[test]
fn closed_forms_agree_with_the_emulator() {
    for bytes in [4, 8, 16] {
        for elements in (0..=40).chain([48, 63, 64]) {
            let stride = elements * bytes;
            for offset in [0, bytes, 3 * bytes] {
                let case = format!("{bytes} bytes, stride {stride}, at {offset}");
                let access = WarpAccess::new(32, stride.into(), bytes, offset.into()).unwrap();
                let (sectors, wavefronts) = counted(stride, bytes, offset);
                assert_eq!(u64::from(access.sectors()), sectors, "sectors of {case}");
                let closed = Banks::CC_3.wavefronts(stride.into(), bytes).unwrap();
                assert_eq!(u64::from(closed), wavefronts, "wavefronts of {case}");
            }
        }
    }
}
