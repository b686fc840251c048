//! Pools of memory, and allocations in the order of a stream.

use std::ffi::{c_int, c_uint};

use super::any_node::{self, captured_allocation};
use super::ipc::is_shareable;
use super::memory::{free, store};
use crate::code::{Code, Result};
use crate::memory::{Kind, Pool, PoolKind};
use crate::pointer::{Host, In, Out};
use crate::state::{Handle, driver, lock};
use crate::stream;

/// Kinds of allocations (`CUmemAllocationType`).
const PINNED: c_uint = 1;
const MANAGED: c_uint = 2;

/// Places of a pool (`CUmemLocationType`).
const NO_PLACE: c_int = 0;
const DEVICE: c_int = 1;
const HOST: c_int = 2;
const NUMA_NODE: c_int = 3;
const THIS_NUMA_NODE: c_int = 4;

/// `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`.
const READ_AND_WRITE: c_uint = 3;

/// The pool that a device's allocations are from where they name none.
fn pool_of(device: usize) -> Result<Handle> {
    let pools = lock(&driver()?.current_pools);
    pools.get(device).copied().ok_or(Code::INVALID_DEVICE)
}

/// What the pools of a place are, by the kind of their allocations (`CUmemAllocationType`), and the
/// number of a place's device.
fn kind_of([place, device]: [c_int; 2], kind: c_uint) -> Result<(PoolKind, usize)> {
    match (kind, place) {
        (PINNED, DEVICE) => Ok((PoolKind::Device, driver()?.device(device)?.0)),
        (PINNED, HOST | NUMA_NODE | THIS_NUMA_NODE) => Ok((PoolKind::Host, 0)),
        // The place is where it had best be.
        (MANAGED, DEVICE) => driver()?.device(device).map(|_| (PoolKind::Managed, 0)),
        (MANAGED, NO_PLACE | HOST | NUMA_NODE | THIS_NUMA_NODE) => Ok((PoolKind::Managed, 0)),
        _ => Err(Code::INVALID_VALUE),
    }
}

/// Which of the default pools has memory of a kind.
fn index_of((kind, device): (PoolKind, usize)) -> Result<usize> {
    let devices = driver()?.devices.len();
    Ok(match kind {
        PoolKind::Device => device,
        PoolKind::Host => devices,
        PoolKind::Managed => devices + 1,
    })
}

/// Makes a pool the one of its place (`CUmemLocation`).
fn set_pool(index: usize, handle: Handle) -> Result {
    let driver = driver()?;
    let pool = driver.pools.get(handle)?;
    if index_of((pool.kind, pool.device))? != index {
        return Err(Code::INVALID_VALUE);
    }
    lock(&driver.current_pools)[index] = handle;
    Ok(())
}

fn allocate_from(to: Out<u64>, bytes: usize, pool: Option<Handle>, on: Handle) -> Result {
    let (current, captured) = stream::target(on)?;
    let handle = pool.map_or_else(|| pool_of(current.context.device), Ok)?;
    let pool = current.driver.pools.get(handle)?;
    if to.is_null() || pool.is_imported {
        return Err(Code::INVALID_VALUE);
    }
    let place = (pool.device, current.handle, handle);
    let driver = current.driver;
    if let Some(captured) = captured {
        let owner = (pool.device, current.handle);
        let (operation, address) = captured_allocation(owner, bytes as u64)?;
        captured.append(driver, operation)?;
        return to.set(address);
    }
    let kind = match pool.kind {
        PoolKind::Host => Kind::Pinned(0),
        PoolKind::Device => Kind::EmulatedDevice,
        PoolKind::Managed => Kind::Managed,
    };
    // Unlike other allocations one of 0 bytes succeeds, and has an address to free.
    let address = driver.allocate(bytes.max(1) as u64, kind, place)?;
    let now = driver.bytes_of_pool(pool.device, handle);
    lock(&pool.most)
        .iter_mut()
        .for_each(|most| *most = now.max(*most));
    to.set(address)
}

api! {
    fn cuMemAllocAsync | cuMemAllocAsync_ptsz (to: Out<u64>, bytes: usize, on: Handle) {
        allocate_from(to, bytes, None, on)
    }

    fn cuMemAllocFromPoolAsync
        | cuMemAllocFromPoolAsync_ptsz (to: Out<u64>, bytes: usize, pool: Handle, on: Handle) {
        allocate_from(to, bytes, Some(pool), on)
    }

    fn cuMemFreeAsync | cuMemFreeAsync_ptsz (address: u64, on: Handle) {
        let (current, captured) = stream::target(on)?;
        match captured {
            Some(captured) => {
                let operation = any_node::free(address)?;
                captured.append(current.driver, operation).map(drop)
            }
            None => free(&current, address),
        }
    }

    fn cuDeviceGetDefaultMemPool(to: Out<Handle>, device: c_int) {
        let driver = driver()?;
        to.set(driver.default_pools[driver.device(device)?.0])
    }

    fn cuDeviceSetMemPool(device: c_int, pool: Handle) {
        set_pool(driver()?.device(device)?.0, pool)
    }

    fn cuMemGetDefaultMemPool(to: Out<Handle>, place: In<[c_int; 2]>, kind: c_uint) {
        to.set(driver()?.default_pools[index_of(kind_of(place.get()?, kind)?)?])
    }

    fn cuMemGetMemPool(to: Out<Handle>, place: In<[c_int; 2]>, kind: c_uint) {
        to.set(pool_of(index_of(kind_of(place.get()?, kind)?)?)?)
    }

    fn cuMemSetMemPool(place: In<[c_int; 2]>, kind: c_uint, pool: Handle) {
        set_pool(index_of(kind_of(place.get()?, kind)?)?, pool)
    }

    fn cuDeviceGetMemPool(to: Out<Handle>, device: c_int) {
        to.set(pool_of(driver()?.device(device)?.0)?)
    }

    fn cuMemPoolCreate(to: Out<Handle>, properties: In<[c_int; 4]>) {
        let [kind, handles, place, device] = properties.get()?;
        let driver = driver()?;
        let is_shareable = is_shareable(handles)?;
        let (kind, device) = kind_of([place, device], kind as c_uint)?;
        let pool = Pool::new(device, kind);
        let pool = if is_shareable { pool.shareable() } else { pool };
        to.set(driver.pools.insert(pool))
    }

    fn cuMemPoolDestroy(pool: Handle) {
        let driver = driver()?;
        if driver.default_pools.contains(&pool) {
            return Err(Code::INVALID_VALUE);
        }
        driver.pools.remove(pool)?;
        // Its place has its default pool again.
        let mut current = lock(&driver.current_pools);
        for (now, default) in current.iter_mut().zip(&driver.default_pools) {
            if *now == pool {
                *now = *default;
            }
        }
        Ok(())
    }

    fn cuMemPoolTrimTo(pool: Handle, _bytes: usize) { driver()?.pools.get(pool).map(drop) }

    fn cuMemPoolGetAttribute(pool: Handle, attribute: c_uint, to: Host) {
        let (driver, handle) = (driver()?, pool);
        let pool = driver.pools.get(handle)?;
        let set = lock(&pool.attributes).get(&attribute).copied();
        let value = match (attribute, set) {
            (1..=3, Some(set)) => (set, 4),
            (_, Some(set)) => (set, 8),
            // Memory that is freed goes back at once: what is reserved is what is used.
            (5 | 7, None) => (driver.bytes_of_pool(pool.device, handle), 8),
            (6, None) => (lock(&pool.most)[0], 8),
            (8, None) => (lock(&pool.most)[1], 8),
            _ => return Err(Code::INVALID_VALUE),
        };
        store(to, value)
    }

    fn cuMemPoolSetAttribute(pool: Handle, attribute: c_uint, from: Host) {
        let (driver, handle) = (driver()?, pool);
        let pool = driver.pools.get(handle)?;
        let mut value = [0; 8];
        match attribute {
            1..=3 => from.read(&mut value[..4])?,
            4 => from.read(&mut value)?,
            // What had most bytes is set to 0, and to nothing else: it starts anew.
            6 | 8 if from.vec(8)? == [0; 8] => {
                let now = driver.bytes_of_pool(pool.device, handle);
                lock(&pool.most)[usize::from(attribute == 8)] = now;
                return Ok(());
            }
            _ => return Err(Code::INVALID_VALUE),
        }
        lock(&pool.attributes).insert(attribute, u64::from_le_bytes(value));
        Ok(())
    }

    fn cuMemPoolSetAccess(pool: Handle, _list: Host, _count: usize) {
        driver()?.pools.get(pool).map(drop)
    }

    fn cuMemPoolGetAccess(to: Out<c_uint>, pool: Handle, location: In<[c_int; 2]>) {
        let driver = driver()?;
        let is_of_host = driver.pools.get(pool)?.kind != PoolKind::Device;
        // Every device reads and writes the memory of a pool, and the host that of its own ones.
        let [place, device] = location.get()?;
        to.set(match place {
            DEVICE => driver.device(device).map(|_| READ_AND_WRITE)?,
            _ if is_of_host => READ_AND_WRITE,
            _ => 0,
        })
    }
}
