//! sha2, sha3, md5, blake3 and k256.

use super::put;
use cuda_std::kernel;
use k256::elliptic_curve::sec1::ToEncodedPoint;
use k256::{ProjectivePoint, Scalar};
use sha2::Digest;

/// SHA-256 of `input`.
///
/// # Safety
/// `output` has 32 bytes.
#[kernel]
pub unsafe fn sha256(input: &[u8], output: *mut u8) {
    // SAFETY: the digest has 32 bytes.
    unsafe { put(output, &sha2::Sha256::digest(input)) };
}

/// SHA3-256 of `input`.
///
/// # Safety
/// `output` has 32 bytes.
#[kernel]
pub unsafe fn sha3_256(input: &[u8], output: *mut u8) {
    // SAFETY: the digest has 32 bytes.
    unsafe { put(output, &sha3::Sha3_256::digest(input)) };
}

/// MD5 of `input`.
///
/// # Safety
/// `output` has 16 bytes.
#[kernel]
pub unsafe fn md5_of(input: &[u8], output: *mut u8) {
    // SAFETY: the digest has 16 bytes.
    unsafe { put(output, &md5::compute(input).0) };
}

/// BLAKE3 of `input`.
///
/// # Safety
/// `output` has 32 bytes.
#[kernel]
pub unsafe fn blake3_of(input: &[u8], output: *mut u8) {
    // SAFETY: the digest has 32 bytes.
    unsafe { put(output, blake3::hash(input).as_bytes()) };
}

/// The x coordinate of `factor` times the generator of secp256k1.
///
/// # Safety
/// `output` has 32 bytes.
#[kernel]
pub unsafe fn secp256k1(factor: u32, output: *mut u8) {
    let point = ProjectivePoint::GENERATOR * Scalar::from(factor);
    let encoded = point.to_affine().to_encoded_point(false);
    if let Some(x) = encoded.x() {
        // SAFETY: a coordinate has 32 bytes.
        unsafe { put(output, x) };
    }
}
