//! Contexts, and each thread's stack of them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex};

use crate::code::{Code, Result};
use crate::device::EmulatedDevice;
use crate::state::{Driver, Handle, driver, lock};

/// A context.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) device: usize,
    pub(crate) flags: Mutex<u32>,
    /// What a kernel did wrong. Every later call of the context returns it.
    pub(crate) sticky: Mutex<Option<Code>>,
    /// Limits that were set, by `CUlimit`.
    pub(crate) limits: Mutex<HashMap<u32, usize>>,
    pub(crate) cache_config: Mutex<u32>,
    pub(crate) shared_config: Mutex<u32>,
    /// How often it was attached to, with its creation.
    pub(crate) users: Mutex<u32>,
}

impl Context {
    pub(crate) fn new(device: usize, flags: u32) -> Self {
        Context {
            device,
            flags: Mutex::new(flags),
            sticky: Mutex::default(),
            limits: Mutex::default(),
            cache_config: Mutex::default(),
            shared_config: Mutex::default(),
            users: Mutex::new(1),
        }
    }
}

/// A device's primary context.
#[derive(Debug, Default)]
pub(crate) struct Primary {
    pub(crate) users: usize,
    pub(crate) handle: Option<Handle>,
    pub(crate) flags: u32,
}

/// A thread's current context, 0 for none, and those below it. Nothing of it is dropped: functions
/// that a program registers by `atexit` run after the destructors of the main thread's variables.
struct Stack {
    top: Handle,
    below: ManuallyDrop<Vec<Handle>>,
}

thread_local! {
    static STACK: RefCell<Stack> = const {
        RefCell::new(Stack { top: 0, below: ManuallyDrop::new(Vec::new()) })
    };
}

impl Stack {
    fn push(&mut self, handle: Handle) {
        if self.top != 0 {
            self.below.push(self.top);
        }
        self.top = handle;
    }

    fn pop(&mut self) -> Handle {
        let below = self.below.pop().unwrap_or(0);
        std::mem::replace(&mut self.top, below)
    }
}

/// The thread's current context, 0 for none.
pub(crate) fn current_handle() -> Handle {
    STACK.with_borrow(|stack| stack.top)
}

pub(crate) fn set_current(handle: Handle) {
    STACK.with_borrow_mut(|stack| {
        stack.pop();
        if handle != 0 {
            stack.push(handle);
        }
    });
}

pub(crate) fn push(handle: Handle) {
    STACK.with_borrow_mut(|stack| stack.push(handle));
}

/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT` where there is none.
pub(crate) fn pop() -> Result<Handle> {
    match STACK.with_borrow_mut(Stack::pop) {
        0 => Err(Code::INVALID_CONTEXT),
        handle => Ok(handle),
    }
}

/// What a call works in: the driver and the thread's current context.
#[derive(Clone)]
pub(crate) struct Current {
    pub(crate) driver: &'static Driver,
    pub(crate) handle: Handle,
    pub(crate) context: Arc<Context>,
}

impl Current {
    /// The context of an object, whatever the thread's is.
    ///
    /// # Errors
    /// `CUDA_ERROR_CONTEXT_IS_DESTROYED`, and what a kernel of the context did wrong.
    pub(crate) fn of(driver: &'static Driver, handle: Handle) -> Result<Self> {
        let context = driver.contexts.get(handle);
        let context = context.map_err(|_| Code::CONTEXT_IS_DESTROYED)?;
        if let Some(code) = *lock(&context.sticky) {
            return Err(code);
        }
        Ok(Current {
            driver,
            handle,
            context,
        })
    }

    pub(crate) fn device(&self) -> &'static EmulatedDevice {
        &self.driver.devices[self.context.device]
    }
}

/// The current context, whatever its kernels did.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT` where there is none, or `CUDA_ERROR_CONTEXT_IS_DESTROYED`.
pub(crate) fn any_current() -> Result<Current> {
    let driver = driver()?;
    let handle = current_handle();
    if handle == 0 {
        return Err(Code::INVALID_CONTEXT);
    }
    let context = driver.contexts.get(handle);
    let context = context.map_err(|_| Code::CONTEXT_IS_DESTROYED)?;
    Ok(Current {
        driver,
        handle,
        context,
    })
}

/// The current context.
///
/// # Errors
/// As [`any_current`], and what a kernel of the context did wrong.
pub(crate) fn current() -> Result<Current> {
    let current = any_current()?;
    match *lock(&current.context.sticky) {
        Some(code) => Err(code),
        None => Ok(current.clone()),
    }
}

impl Driver {
    /// Retains a device's primary context.
    pub(crate) fn retain_primary(&self, device: usize) -> Handle {
        let mut primary = lock(&self.primaries[device]);
        primary.users += 1;
        let flags = primary.flags;
        *primary
            .handle
            .get_or_insert_with(|| self.contexts.insert(Context::new(device, flags)))
    }

    /// Releases it; with the last user, or where `reset`, it is destroyed.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_CONTEXT` where it has no user.
    pub(crate) fn release_primary(&self, device: usize, reset: bool) -> Result {
        let mut primary = lock(&self.primaries[device]);
        if !reset {
            primary.users = primary.users.checked_sub(1).ok_or(Code::INVALID_CONTEXT)?;
        }
        if (primary.users == 0 || reset)
            && let Some(handle) = primary.handle.take()
        {
            self.destroy_context(handle)?;
        }
        Ok(())
    }

    /// Destroys a context with all that lives in it.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_CONTEXT` where there is none of that handle.
    pub(crate) fn destroy_context(&self, handle: Handle) -> Result {
        let removed = self.contexts.remove(handle);
        removed.map_err(|_| Code::INVALID_CONTEXT)?;
        self.modules.retain(|module| module.context != handle);
        self.functions.retain(|function| function.context != handle);
        self.references
            .retain(|one| one.module().is_none_or(|of| self.modules.get(of).is_ok()));
        self.streams.retain(|stream| stream.context != handle);
        self.events.retain(|event| event.context != handle);
        self.arrays.retain(|array| array.context != handle);
        self.mipmapped.retain(|array| array.context != handle);
        self.free_all_of(handle);
        Ok(())
    }
}
