//! `warpladder draw`.

use super::warpladder;

/// The pictures of a transpose before padding and after: the same words in one bank, or in all.
#[test]
fn padding_is_seen_in_the_banks() {
    let picture = |kernel: &str| {
        let ended = warpladder(&format!("draw {kernel} --shape 64 --svg -"));
        assert_eq!(ended.status, Some(0), "{ended:?}");
        ended.stdout
    };
    let conflicts = picture("transpose_coalesced");
    assert!(conflicts.contains("32 words in 1 bank, 32 wavefronts, 1 without bank conflicts"));
    let padded = picture("transpose_padded");
    assert!(!padded.contains("32 wavefronts"), "{padded}");
    assert!(padded.contains("32 words in 32 banks, 1 wavefront, 1 without bank conflicts"));
    for part in [
        "<desc id=\"desc\">",
        "prefers-color-scheme:dark",
        "transpose_coalesced",
    ] {
        assert!(conflicts.contains(part), "{part}");
    }
}

#[test]
fn sectors_of_a_column_are_one_for_each_lane() {
    let ended = warpladder("draw transpose_naive --shape 32x96 --svg -");
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert!(
        ended.stdout.contains("4 bytes each: 32 sectors"),
        "{ended:?}"
    );
}

#[test]
fn a_warp_that_is_not_there_is_refused() {
    for (args, part) in [
        ("draw naive --shape 8 --warp 99", "block (0, 0, 0), warp 99"),
        ("draw naive --shape 8 --block 9,x", "is no block"),
    ] {
        let ended = warpladder(args);
        assert_eq!(ended.status, Some(2), "{args}: {ended:?}");
        assert!(ended.stderr.contains(part), "{args}: {ended:?}");
    }
}
