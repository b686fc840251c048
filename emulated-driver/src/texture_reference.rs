//! Texture and surface references: variables of a module that hold the handle of a texture or a
//! surface. What a reference says becomes a texture when a kernel of its module is launched next:
//! until then a program may set one property after another.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::array::{Resource, TextureDescriptor};
use crate::code::{Code, Result};
use crate::state::{Driver, Handle, lock};

/// What a reference says, with the defaults of one that nothing was set for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Properties {
    /// What is bound, without its format where that is memory.
    pub(crate) resource: Option<Resource>,
    pub(crate) format: u32,
    pub(crate) channels: u32,
    pub(crate) addressing: [u32; 3],
    pub(crate) filter: u32,
    pub(crate) flags: u32,
    pub(crate) anisotropy: u32,
    pub(crate) level_filter: u32,
    pub(crate) level_bias: f32,
    pub(crate) level_clamp: [f32; 2],
    pub(crate) border: [f32; 4],
}

const CLAMP: u32 = 1;

impl Default for Properties {
    fn default() -> Self {
        Properties {
            resource: None,
            format: 0,
            channels: 0,
            addressing: [CLAMP; 3],
            filter: 0,
            flags: 0,
            anisotropy: 0,
            level_filter: 0,
            level_bias: 0.0,
            level_clamp: [0.0; 2],
            border: [0.0; 4],
        }
    }
}

/// A texture or surface reference.
#[derive(Debug)]
pub(crate) struct Reference {
    /// The module and the address of its variable; none where the program made the reference.
    variable: Option<(Handle, u64)>,
    pub(crate) is_surface: bool,
    properties: Mutex<Properties>,
    is_changed: AtomicBool,
    /// The texture or surface that the variable holds, or 0.
    bound: Mutex<u64>,
}

impl Reference {
    pub(crate) fn new(variable: Option<(Handle, u64)>, is_surface: bool) -> Self {
        Reference {
            variable,
            is_surface,
            properties: Mutex::default(),
            is_changed: AtomicBool::new(false),
            bound: Mutex::default(),
        }
    }

    pub(crate) fn properties(&self) -> Properties {
        *lock(&self.properties)
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Properties)) {
        change(&mut lock(&self.properties));
        self.is_changed.store(true, Ordering::Release);
    }

    pub(crate) fn is_of(&self, module: Handle, address: u64) -> bool {
        self.variable == Some((module, address))
    }

    pub(crate) fn is_in(&self, module: Handle) -> bool {
        self.module() == Some(module)
    }

    pub(crate) fn module(&self) -> Option<Handle> {
        self.variable.map(|(module, _)| module)
    }

    /// Makes the texture or the surface, and stores its handle in the module's variable.
    fn bind(&self, driver: &Driver) -> Result {
        let Some((_, address)) = self.variable else {
            return Ok(());
        };
        if !self.is_changed.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let properties = self.properties();
        let mut bound = lock(&self.bound);
        if *bound != 0 {
            driver.destroy_texture(std::mem::take(&mut *bound))?;
        }
        if let Some(resource) = properties.resource {
            *bound = match self.is_surface {
                true => driver.create_surface(resource)?,
                false => {
                    driver.create_texture(properties.typed(resource), properties.sampler(), None)?
                }
            };
        }
        let written = driver.memory.write(address, &bound.to_le_bytes());
        written.map_err(|_| Code::INVALID_VALUE)
    }
}

impl Properties {
    /// A resource with the format, which of an array is its own.
    fn typed(&self, mut resource: Resource) -> Resource {
        const LINEAR: u64 = 2;
        if resource.kind == LINEAR {
            resource.words[1] = u64::from(self.format) | u64::from(self.channels) << 32;
        }
        resource
    }

    fn sampler(&self) -> TextureDescriptor {
        TextureDescriptor::new(
            (self.addressing, self.filter, self.flags, self.anisotropy),
            (self.level_filter, self.level_bias, self.level_clamp),
            self.border,
        )
    }
}

impl Driver {
    /// Binds what the references of a module say, before a kernel of it runs.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where a reference says what no texture can be, after a line that
    /// says why.
    pub(crate) fn bind_references(&self, module: Handle) -> Result {
        let all = self.references.all();
        let mut of_module = all.iter().filter(|one| one.is_in(module));
        of_module.try_for_each(|one| one.bind(self))
    }
}

/// Whether a module's text declares a variable of a kind, `.texref` or `.surfref`.
pub(crate) fn declares(text: &str, kind: &str, name: &str) -> bool {
    text.match_indices(kind).any(|(at, _)| {
        let mut rest = text[at + kind.len()..]
            .split(|one: char| !(one.is_ascii_alphanumeric() || matches!(one, '_' | '$' | '%')));
        rest.find(|word| !word.is_empty()) == Some(name)
    })
}
