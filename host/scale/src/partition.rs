//! How rows, columns and ranks are divided.

use std::ops::Range;

/// `extent` elements in `parts` pieces that differ by one element at most, the longer ones first.
pub fn even(extent: usize, parts: usize) -> Vec<Range<usize>> {
    let parts = parts.max(1);
    let (each, more) = (extent / parts, extent % parts);
    let mut start = 0;
    let piece = |index| {
        let range = start..start + each + usize::from(index < more);
        start = range.end;
        range
    };
    (0..parts).map(piece).collect()
}

/// `range` in pieces of `step` elements at most, which differ by one at most.
pub fn pieces(range: Range<usize>, step: usize) -> Vec<Range<usize>> {
    let count = range.len().div_ceil(step.max(1));
    let pieces = even(range.len(), count);
    let pieces = pieces.into_iter().filter(|piece| !piece.is_empty());
    let shift = |piece: Range<usize>| range.start + piece.start..range.start + piece.end;
    pieces.map(shift).collect()
}

/// The grid of `ranks` ranks, p × q, that is nearest to the aspect of C: it moves the least in a
/// 2-D product, where a rank receives about m·k/p + k·n/q elements.
pub fn grid(ranks: usize, m: usize, n: usize) -> [usize; 2] {
    let divisors = (1..=ranks.max(1)).filter(|p| ranks.max(1).is_multiple_of(*p));
    let moved = |p: usize| {
        let q = ranks.max(1) / p;
        m as f64 / p as f64 + n as f64 / q as f64
    };
    let best = divisors.min_by(|&a, &b| moved(a).total_cmp(&moved(b)));
    let p = best.unwrap_or(1);
    [p, ranks.max(1) / p]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_everything_once() {
        for extent in [0, 1, 2, 31, 33, 97] {
            for parts in 1..=16 {
                let pieces = even(extent, parts);
                assert_eq!(pieces.len(), parts);
                assert_eq!(pieces[0].start, 0);
                assert!(pieces.windows(2).all(|pair| pair[0].end == pair[1].start));
                assert_eq!(pieces[parts - 1].end, extent);
                let lengths = pieces.iter().map(ExactSizeIterator::len);
                assert!(lengths.clone().max().unwrap() - lengths.min().unwrap() <= 1);
            }
        }
        assert_eq!(super::pieces(5..12, 3), [5..8, 8..10, 10..12]);
        assert!(super::pieces(5..5, 3).is_empty());
    }

    #[test]
    fn grids_follow_the_shape() {
        assert_eq!(grid(16, 100, 100), [4, 4]);
        assert_eq!(grid(8, 100, 400), [1, 8]);
        assert_eq!(grid(7, 100, 100), [1, 7]);
        assert_eq!(grid(12, 400, 300), [4, 3]);
        assert_eq!(grid(0, 1, 1), [1, 1]);
    }
}
