//! Result codes of the driver.

/// A `CUresult` as the driver returns it. A number and not an enumeration, which newer
/// drivers exceed.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) u32);

impl Code {
    pub(crate) const SUCCESS: Code = Code(0);
    pub(crate) const INVALID_VALUE: Code = Code(1);
    pub(crate) const STUB_LIBRARY: Code = Code(34);
    pub(crate) const NOT_FOUND: Code = Code(500);
    pub(crate) const NOT_READY: Code = Code(600);
    #[cfg(any(feature = "cust", test))]
    pub(crate) const UNKNOWN: Code = Code(999);

    /// The code itself where `cust_raw`'s `cudaError_enum` (CUDA 11.4) has it, else
    /// [`Code::UNKNOWN`]: cust takes the result as that enumeration, and a value outside it would
    /// be undefined behaviour.
    #[cfg(any(feature = "cust", test))]
    pub(crate) fn known_to_cust(self) -> Code {
        match self.0 {
            0..=8
            | 34
            | 100..=102
            | 200..=202
            | 205..=224
            | 300..=304
            | 400
            | 401
            | 500
            | 600
            | 700..=705
            | 708..=720
            | 800..=809
            | 900..=911 => self,
            _ => Code::UNKNOWN,
        }
    }
}
