//! Which texels a coordinate takes, and with what weight.

use crate::texture::{AddressMode, Filter, Image, ImageKind, Sampler};

/// Bits of the weights' fraction (CUDA C++ Programming Guide, "Linear Filtering"). Those of the
/// four texels of a plane are products of two, and have as many again: their sum is 1.
const WEIGHT_STEPS: f64 = 256.0;

/// The texels of one access: the address, or none for the border, and the weight.
#[derive(Debug)]
pub(super) struct Taps {
    taps: [(Option<u64>, f64); Taps::MAX],
    count: usize,
}

impl Taps {
    /// The corners of a cube of texels.
    pub(super) const MAX: usize = 8;

    pub(super) fn all(&self) -> &[(Option<u64>, f64)] {
        &self.taps[..self.count]
    }

    fn empty() -> Self {
        Taps {
            taps: [(None, 0.0); Taps::MAX],
            count: 0,
        }
    }

    fn push(&mut self, address: Option<u64>, weight: f64) {
        if let Some(tap) = self.taps.get_mut(self.count) {
            *tap = (address, weight);
            self.count += 1;
        }
    }
}

/// The coordinates within the planes of an image, and the plane.
struct PlaneCoordinates {
    at: [f32; 3],
    dimensions: usize,
    plane: u64,
    is_normalized: bool,
}

/// Splits the coordinates of an instruction into layer, face and place.
fn place(image: &Image, sampler: &Sampler, coordinates: [u32; 4]) -> PlaneCoordinates {
    let a = coordinates[0];
    let [x, y, z, w] = coordinates.map(f32::from_bits);
    let layers = u64::from(image.extents[2]);
    let is_normalized = sampler.normalized_coordinates;
    let flat = |at: [f32; 3], dimensions: usize, plane: u64| PlaneCoordinates {
        at,
        dimensions,
        plane,
        is_normalized,
    };
    match image.kind {
        ImageKind::Line => flat([x, 0.0, 0.0], 1, 0),
        ImageKind::Plane => flat([x, y, 0.0], 2, 0),
        ImageKind::Volume => flat([x, y, z], 3, 0),
        ImageKind::Lines => flat([y, 0.0, 0.0], 1, u64::from(a).min(layers - 1)),
        ImageKind::Planes => flat([y, z, 0.0], 2, u64::from(a).min(layers - 1)),
        ImageKind::Cube => {
            let (face, at) = face([x, y, z]);
            of_face(at, face)
        }
        ImageKind::Cubes => {
            let (face, at) = face([y, z, w]);
            of_face(at, 6 * u64::from(a).min(layers / 6 - 1) + face)
        }
    }
}

fn of_face([s, t]: [f32; 2], plane: u64) -> PlaneCoordinates {
    PlaneCoordinates {
        at: [s, t, 0.0],
        dimensions: 2,
        plane,
        is_normalized: true,
    }
}

/// The face that a direction hits, and where (CUDA C++ Programming Guide, "Cubemap Textures").
fn face([x, y, z]: [f32; 3]) -> (u64, [f32; 2]) {
    let [ax, ay, az] = [x.abs(), y.abs(), z.abs()];
    let (face, major, s, t) = match (ax > ay && ax > az, ay > ax && ay > az) {
        (true, _) if x >= 0.0 => (0, ax, -z, -y),
        (true, _) => (1, ax, z, -y),
        (_, true) if y >= 0.0 => (2, ay, x, z),
        (_, true) => (3, ay, x, -z),
        _ if z >= 0.0 => (4, az, x, -y),
        _ => (5, az, -x, -y),
    };
    let within = |value: f32| (value / major + 1.0) / 2.0;
    (face, [within(s), within(t)])
}

/// The texel number that an index outside of an image stands for; none for the border.
fn addressed(mode: AddressMode, is_normalized: bool, index: i64, extent: i64) -> Option<i64> {
    match mode {
        AddressMode::Border => (0..extent).contains(&index).then_some(index),
        AddressMode::Wrap if is_normalized => Some(index.rem_euclid(extent)),
        AddressMode::Mirror if is_normalized => {
            let within = index.rem_euclid(2 * extent);
            Some(within.min(2 * extent - 1 - within))
        }
        AddressMode::Wrap | AddressMode::Mirror | AddressMode::Clamp => {
            Some(index.clamp(0, extent - 1))
        }
    }
}

/// A coordinate in texels. One that repeats is brought to the image first, as large numbers have no
/// fraction.
fn scaled(coordinate: f32, is_normalized: bool, mode: AddressMode, extent: i64) -> f64 {
    let coordinate = f64::from(coordinate);
    let coordinate = if coordinate.is_nan() { 0.0 } else { coordinate };
    if !is_normalized {
        return coordinate;
    }
    let reduced = match mode {
        AddressMode::Wrap => coordinate - coordinate.floor(),
        AddressMode::Mirror => coordinate - 2.0 * (coordinate / 2.0).floor(),
        AddressMode::Clamp | AddressMode::Border => coordinate,
    };
    // An infinite coordinate lies nowhere in an image that repeats.
    let reduced = if reduced.is_nan() { 0.0 } else { reduced };
    reduced * extent as f64
}

/// An index far outside stays there.
fn index_of(texel: f64) -> i64 {
    const FAR: f64 = (1u64 << 40) as f64;
    texel.clamp(-FAR, FAR) as i64
}

fn address(image: &Image, place: [Option<i64>; 3], plane: u64) -> Option<u64> {
    let [x, y, z] = place;
    let z = match image.kind {
        ImageKind::Volume => z? as u64,
        _ => plane,
    };
    let offset = (x? as u64 * u64::from(image.texel_bytes()))
        .wrapping_add((y? as u64).wrapping_mul(image.row_bytes))
        .wrapping_add(z.wrapping_mul(image.plane_bytes));
    Some(image.address.wrapping_add(offset))
}

/// Extents of the dimensions that coordinates have.
fn extents(image: &Image) -> [i64; 3] {
    image.extents.map(i64::from)
}

/// How a dimension is addressed: the faces of cubes at their edges.
fn mode(image: &Image, sampler: &Sampler, axis: usize) -> AddressMode {
    match image.kind {
        ImageKind::Cube | ImageKind::Cubes => AddressMode::Clamp,
        _ => sampler.addressing[axis],
    }
}

/// The texels of a fetch.
pub(super) fn taps(
    image: &Image,
    sampler: &Sampler,
    (coordinates, are_floats): ([u32; 4], bool),
    offsets: [i32; 4],
) -> Taps {
    if !are_floats {
        return texel_number(image, sampler, coordinates, offsets);
    }
    let place = place(image, sampler, coordinates);
    let extents = extents(image);
    let is_linear = sampler.filter == Filter::Linear;
    // The two neighbours in each dimension, and the weight of the second.
    let mut neighbours = [[Some(0); 2]; 3];
    let mut weights = [0.0; 3];
    for axis in 0..place.dimensions {
        let mode = mode(image, sampler, axis);
        let extent = extents[axis];
        let at = scaled(place.at[axis], place.is_normalized, mode, extent);
        // Of a place between texels 8 bits of fraction count, also for which texels it is between.
        let at = match is_linear {
            true => ((at - 0.5) * WEIGHT_STEPS + 0.5).floor() / WEIGHT_STEPS,
            false => at,
        };
        let first = at.floor();
        if is_linear {
            weights[axis] = at - first;
        }
        let first = index_of(first) + i64::from(offsets[axis]);
        neighbours[axis] =
            [first, first + 1].map(|index| addressed(mode, place.is_normalized, index, extent));
    }
    let mut taps = Taps::empty();
    if !is_linear {
        taps.push(
            address(image, neighbours.map(|[first, _]| first), place.plane),
            1.0,
        );
        return taps;
    }
    let of_plane = plane_weights([weights[0], weights[1]]);
    for corner in 0..1usize << place.dimensions {
        let mut at = [Some(0); 3];
        for axis in 0..place.dimensions {
            at[axis] = neighbours[axis][corner >> axis & 1];
        }
        let of_depth = match corner >> 2 {
            0 => 1.0 - weights[2],
            _ => weights[2],
        };
        let weight = of_plane[corner & 3] * of_depth;
        taps.push(address(image, at, place.plane), weight);
    }
    taps
}

/// The weights of the four texels around a place in a plane, the first axis first. They have 8 bits
/// of fraction like those of the axes: that of the last texel is rounded, halves up, and the others
/// are what is left. The CUDA C++ Programming Guide does not say so; it was found in results of
/// GPUs that were published.
fn plane_weights([x, y]: [f64; 2]) -> [f64; 4] {
    let both = (x * y * WEIGHT_STEPS + 0.5).floor() / WEIGHT_STEPS;
    [1.0 - x - y + both, x - both, y - both, both]
}

/// The texel of integer coordinates, which count texels.
fn texel_number(
    image: &Image,
    sampler: &Sampler,
    coordinates: [u32; 4],
    offsets: [i32; 4],
) -> Taps {
    let [a, b, c, _] = coordinates.map(|coordinate| i64::from(coordinate as i32));
    let layer = u64::from(coordinates[0]).min(u64::from(image.extents[2]) - 1);
    let (at, plane, dimensions) = match image.kind {
        ImageKind::Line => ([a, 0, 0], 0, 1),
        ImageKind::Plane => ([a, b, 0], 0, 2),
        ImageKind::Volume => ([a, b, c], 0, 3),
        ImageKind::Lines => ([b, 0, 0], layer, 1),
        ImageKind::Planes | ImageKind::Cube | ImageKind::Cubes => ([b, c, 0], layer, 2),
    };
    let extents = extents(image);
    let mut place = [Some(0); 3];
    for axis in 0..dimensions {
        let index = at[axis] + i64::from(offsets[axis]);
        place[axis] = addressed(mode(image, sampler, axis), false, index, extents[axis]);
    }
    let mut taps = Taps::empty();
    taps.push(address(image, place, plane), 1.0);
    taps
}

/// The four texels of `tld4`, in its order: (0, 1), (1, 1), (1, 0), (0, 0).
pub(super) fn gather_taps(
    image: &Image,
    sampler: &Sampler,
    coordinates: [u32; 4],
    offsets: [i32; 4],
) -> Taps {
    let linear = Sampler {
        filter: Filter::Linear,
        ..*sampler
    };
    let all = taps(image, &linear, (coordinates, true), offsets);
    let mut ordered = Taps::empty();
    for corner in [2, 3, 1, 0] {
        if let Some(&(address, weight)) = all.all().get(corner) {
            ordered.push(address, weight);
        }
    }
    ordered
}

/// The level of detail at which neighbouring threads are a texel apart.
pub(super) fn lod_of_gradient(image: &Image, is_normalized: bool, changes: [[f32; 4]; 2]) -> f32 {
    let lengths = changes.map(|change| {
        let squares = change.iter().zip(image.extents).map(|(&change, extent)| {
            let texels = match is_normalized {
                true => change * extent as f32,
                false => change,
            };
            texels * texels
        });
        squares.sum::<f32>().sqrt()
    });
    lengths[0].max(lengths[1]).log2()
}

/// The sum of texels by their weights, rounded to f32.
pub(super) fn weighted(terms: &[([u32; 4], f64)]) -> [u32; 4] {
    std::array::from_fn(|channel| {
        // A texel without weight does not count, even where it is infinite.
        let terms = terms.iter().filter(|(_, weight)| *weight != 0.0);
        let sum: f64 = terms
            .map(|(texel, weight)| f64::from(f32::from_bits(texel[channel])) * weight)
            .sum();
        (sum as f32).to_bits()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_outside_are_brought_in() {
        let all = |mode, is_normalized| {
            (-4..8).map(move |index| addressed(mode, is_normalized, index, 3))
        };
        let mirror: Vec<i64> = all(AddressMode::Mirror, true).flatten().collect();
        assert_eq!(mirror, [2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]);
        let wrap: Vec<i64> = all(AddressMode::Wrap, true).flatten().collect();
        assert_eq!(wrap, [2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]);
        let clamp: Vec<i64> = all(AddressMode::Wrap, false).flatten().collect();
        assert_eq!(clamp, [0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2]);
        let border: Vec<i64> = all(AddressMode::Border, true).flatten().collect();
        assert_eq!(border, [0, 1, 2]);
    }

    /// What another GPU printed for texels at a border, in 256ths of the texel: 8 for 179/256 ×
    /// 26/256 taken from 1, 18 and 161.
    #[test]
    fn weights_of_four_texels_add_up_to_one() {
        let parts = |x: u32, y: u32| {
            let weights = plane_weights([x, y].map(|weight| f64::from(weight) / 256.0));
            weights.map(|weight| weight * 256.0)
        };
        assert_eq!(parts(179, 230), [8.0, 18.0, 69.0, 161.0]);
        for (x, y) in [(0, 0), (0, 77), (77, 0), (1, 128), (128, 1), (255, 255)] {
            let all = parts(x, y);
            assert_eq!(all.iter().sum::<f64>(), 256.0, "{x} {y}");
            assert!(all.iter().all(|one| *one >= 0.0 && one.fract() == 0.0));
        }
    }

    /// Texels 38 and 39, 118 and 13, at the height 1/16 and from 0 on in steps of 1/32: what a GPU
    /// gives, as a question on interpolation with textures lists it.
    #[test]
    fn weights_of_four_texels_have_eight_bits() {
        let texels = [38.0, 39.0, 118.0, 13.0];
        let wanted = [
            43.0, 42.6171875, 42.6484375, 42.265625, 42.296875, 41.9140625, 41.9453125, 41.5625,
            41.59375, 41.2109375, 41.2421875, 40.859375, 40.890625, 40.5078125, 40.5390625,
        ];
        for (step, wanted) in wanted.into_iter().enumerate() {
            let weights = plane_weights([step as f64 / 32.0, 1.0 / 16.0]);
            let terms = weights
                .iter()
                .zip(texels)
                .map(|(weight, texel)| weight * texel);
            assert_eq!(terms.sum::<f64>(), wanted, "{step}");
        }
    }

    #[test]
    fn directions_hit_faces() {
        for (direction, wanted) in [
            ([2.0, 1.0, 0.0], (0, [0.5, 0.25])),
            ([-2.0, 0.0, 1.0], (1, [0.75, 0.5])),
            ([1.0, 2.0, 0.0], (2, [0.75, 0.5])),
            ([0.0, -2.0, 1.0], (3, [0.5, 0.25])),
            ([0.0, 0.0, 3.0], (4, [0.5, 0.5])),
            ([1.0, 0.0, -2.0], (5, [0.25, 0.5])),
        ] {
            assert_eq!(face(direction), wanted, "{direction:?}");
        }
    }
}
