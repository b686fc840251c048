//! Loading: the one function that every system has.

use std::fmt;

/// A version of CUDA, as the driver counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Major version: 13 of 13.0.
    pub major: u32,
    /// Minor version: 0 of 13.0.
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Why the CUDA driver cannot be used. Each message is one line with what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// CUDA is not supported on this operating system.
    #[error("no CUDA on this operating system: the GPU engine needs Linux")]
    Unsupported,
    /// There is no driver library, or the dynamic linker refuses it.
    #[error(
        "no NVIDIA driver ({reason}): install the driver, or add its folder to LD_LIBRARY_PATH"
    )]
    NotFound {
        /// The dynamic linker's message.
        reason: String,
    },
    /// The driver supports an older CUDA than cust needs.
    #[error(
        "the NVIDIA driver supports CUDA {found} and {needed} is needed: install a newer driver"
    )]
    TooOld {
        /// The newest CUDA that the driver supports.
        found: Version,
        /// The oldest that will do.
        needed: Version,
    },
    /// The driver is there and does not start.
    #[error("the NVIDIA driver does not start: {message}: see whether nvidia-smi lists a GPU")]
    Initialise {
        /// The call that failed, and the driver's message.
        message: String,
    },
}

#[cfg(target_os = "linux")]
pub use linux::{Driver, load};

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Driver, load};

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::CStr;
    use std::sync::OnceLock;

    use super::{LoadError, Version};
    use crate::error::DriverError;
    use crate::{library, table};

    /// The CUDA version of the interface that `cust_raw` declares.
    const NEEDED: Version = Version {
        major: 11,
        minor: 4,
    };

    /// The CUDA driver: loaded, new enough and initialised.
    #[derive(Debug)]
    pub struct Driver {
        version: Version,
    }

    impl Driver {
        /// The newest CUDA version that the driver supports (`cuDriverGetVersion`).
        pub fn version(&self) -> Version {
            self.version
        }

        /// The functions of this crate's table that the driver lacks; a call of one returns
        /// `CUDA_ERROR_NOT_FOUND` (500). None on drivers for CUDA 12.0 and newer.
        pub fn missing_functions(&self) -> Vec<&'static str> {
            let missing = |name: &&&CStr| library::symbol(name).is_err();
            let names = table::NAMES.iter().filter(missing);
            names.filter_map(|name| name.to_str().ok()).collect()
        }
    }

    /// Loads and initialises the CUDA driver. Later calls return the result of the first.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn load() -> Result<&'static Driver, LoadError> {
        static DRIVER: OnceLock<Result<Driver, LoadError>> = OnceLock::new();
        DRIVER.get_or_init(start).as_ref().map_err(LoadError::clone)
    }

    fn start() -> Result<Driver, LoadError> {
        library::open().map_err(|reason| LoadError::NotFound {
            reason: reason.to_owned(),
        })?;
        let version = version().map_err(initialise)?;
        if version < NEEDED {
            return Err(LoadError::TooOld {
                found: version,
                needed: NEEDED,
            });
        }
        // SAFETY: cuInit may be called at any time; 0 is its only flag.
        unsafe { table::cuInit::call(0) }
            .check("cuInit")
            .map_err(initialise)?;
        Ok(Driver { version })
    }

    fn initialise(error: DriverError) -> LoadError {
        LoadError::Initialise {
            message: error.to_string(),
        }
    }

    fn version() -> Result<Version, DriverError> {
        let mut number = 0;
        // SAFETY: the driver writes one int.
        unsafe { table::cuDriverGetVersion::call(&mut number) }.check("cuDriverGetVersion")?;
        let number = number.unsigned_abs();
        Ok(Version {
            major: number / 1000,
            minor: number % 1000 / 10,
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use super::{LoadError, Version};

    /// The CUDA driver, which does not exist here: this type has no value.
    #[derive(Debug)]
    pub enum Driver {}

    impl Driver {
        /// The newest CUDA version that the driver supports.
        pub fn version(&self) -> Version {
            match *self {}
        }
    }

    /// Loads the CUDA driver: on this operating system always [`LoadError::Unsupported`].
    pub fn load() -> Result<&'static Driver, LoadError> {
        Err(LoadError::Unsupported)
    }
}
