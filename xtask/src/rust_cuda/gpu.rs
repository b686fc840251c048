//! The GPU of this machine, by the driver alone.

use anyhow::Result;

#[cfg(target_os = "linux")]
pub use here::{Gpu, Loaded};
#[cfg(not(target_os = "linux"))]
pub use nowhere::{Gpu, Loaded};

#[cfg(target_os = "linux")]
mod here {
    use super::Result;
    use anyhow::{Context, ensure};
    use cuda_driver::{DeviceAttribute, JitOptions, LaunchConfig, Module, PrimaryContext, memory};
    use std::cell::RefCell;
    use std::ffi::c_void;

    /// A GPU, and its context, which is current in this thread.
    pub struct Gpu {
        context: PrimaryContext,
        name: String,
        /// Its compute capability: the major and the minor number.
        capability: (u32, u32),
    }

    impl Gpu {
        /// The first GPU.
        ///
        /// # Errors
        ///
        /// Where there is none.
        pub fn open() -> Result<Self> {
            let device = cuda_driver::load()?.device(0)?;
            let context = PrimaryContext::retain(device)?;
            context.set_current()?;
            let major = device.attribute(DeviceAttribute::ComputeCapabilityMajor)?;
            let minor = device.attribute(DeviceAttribute::ComputeCapabilityMinor)?;
            Ok(Gpu {
                context,
                name: device.name()?,
                capability: (major.unsigned_abs(), minor.unsigned_abs()),
            })
        }

        pub fn name(&self) -> &str {
            &self.name
        }

        /// Whether it runs PTX for `target`, such as `sm_80` or `sm_120a` (PTX ISA, `.target`): a
        /// name with a letter is for that generation, or its family, alone.
        pub fn runs(&self, target: &str) -> bool {
            let number = target.trim_start_matches("sm_");
            let digits = number.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
            let exact = digits.len() < number.len();
            digits.parse().is_ok_and(|digits: u32| {
                let wanted = (digits / 10, digits % 10);
                wanted == self.capability || (wanted < self.capability && !exact)
            })
        }

        pub fn load(&self, ptx: &str) -> Result<Loaded<'_>> {
            self.context.set_current()?;
            // SAFETY: the context is this GPU's, which the result borrows.
            let (module, _) = unsafe { Module::load_ptx(ptx, &JitOptions::default()) }?;
            Ok(Loaded {
                _gpu: self,
                module,
                arrays: RefCell::default(),
            })
        }
    }

    /// PTX that is compiled for the GPU, and memory for its launches.
    pub struct Loaded<'g> {
        _gpu: &'g Gpu,
        module: Module,
        arrays: RefCell<Vec<(u64, usize)>>,
    }

    impl Loaded<'_> {
        pub fn allocate(&self, bytes: usize) -> Result<u64> {
            let address = memory::allocate(bytes.max(1))?;
            self.arrays.borrow_mut().push((address, bytes));
            self.write(address, &vec![0xff; bytes])?;
            Ok(address)
        }

        pub fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
            self.check(address, bytes.len())?;
            // SAFETY: `check` found the allocation, and every launch was waited for.
            Ok(unsafe { memory::upload(address, bytes) }?)
        }

        pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
            self.check(address, bytes.len())?;
            // SAFETY: `check` found the allocation, and every launch was waited for.
            Ok(unsafe { memory::download(bytes, address) }?)
        }

        /// Launches `entry` and waits for it.
        pub fn launch(
            &self,
            entry: &str,
            grid: [u32; 3],
            block: [u32; 3],
            arguments: &[Vec<u8>],
        ) -> Result<()> {
            let function = self.module.function(entry).context(entry.to_owned())?;
            let mut pointers: Vec<*mut c_void> = arguments
                .iter()
                .map(|bytes| bytes.as_ptr().cast_mut().cast())
                .collect();
            let config = LaunchConfig::new(grid, block, 0);
            // SAFETY: the default stream is the context's. The emulator has run the same launch,
            // with arguments of the same sizes, under all sanitizers: it touches no other memory.
            unsafe { function.launch(&config, std::ptr::null_mut(), &mut pointers) }
                .context(entry.to_owned())?;
            cuda_driver::synchronize_context().context(entry.to_owned())
        }

        fn check(&self, address: u64, bytes: usize) -> Result<()> {
            let arrays = self.arrays.borrow();
            let inside = arrays
                .iter()
                .any(|(at, size)| *at == address && bytes <= *size);
            ensure!(inside, "no array of {bytes} bytes begins at {address:#x}");
            Ok(())
        }
    }

    impl Drop for Loaded<'_> {
        fn drop(&mut self) {
            for (address, _) in self.arrays.borrow_mut().drain(..) {
                // SAFETY: each was allocated once, and its arrays go with `self`. An error leaves
                // nothing to be done.
                _ = unsafe { memory::free(address) };
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod nowhere {
    use super::Result;
    use anyhow::bail;
    use std::convert::Infallible;

    /// There is none: the driver is loaded on Linux alone.
    pub struct Gpu(Infallible);

    impl Gpu {
        pub fn open() -> Result<Self> {
            bail!("GPUs are used on Linux alone")
        }

        pub fn name(&self) -> &str {
            match self.0 {}
        }

        pub fn runs(&self, _: &str) -> bool {
            match self.0 {}
        }

        pub fn load(&self, _: &str) -> Result<Loaded<'_>> {
            match self.0 {}
        }
    }

    pub struct Loaded<'g>(&'g Infallible);

    impl Loaded<'_> {
        pub fn allocate(&self, _: usize) -> Result<u64> {
            match *self.0 {}
        }

        pub fn write(&self, _: u64, _: &[u8]) -> Result<()> {
            match *self.0 {}
        }

        pub fn read(&self, _: u64, _: &mut [u8]) -> Result<()> {
            match *self.0 {}
        }

        pub fn launch(&self, _: &str, _: [u32; 3], _: [u32; 3], _: &[Vec<u8>]) -> Result<()> {
            match *self.0 {}
        }
    }
}
