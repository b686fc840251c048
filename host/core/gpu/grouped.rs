//! Lists of products, in one launch where that takes less time.

use super::product::{Described, Key, MAX_PLANS, Products, Ready};
use super::queue::Queue;
use super::{DeviceArray, Error, Gpu, MatrixMut, MatrixRef};
use crate::engine::Engine;
use crate::gemm::GemmInto;
use crate::gemm::grouped::{Addresses, Group, Member};
use crate::launch::{DevicePtr, Launch};
use crate::plan::{Operands, Prepared};
use crate::sync::lock;
use bytemuck::Pod;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Lists that are kept in device memory.
const MAX_LISTS: usize = 64;

/// What a list depends on: its products and where their matrices lie.
type ListKey = Vec<(Key, Addresses)>;

/// What is kept of lists of products.
#[derive(Default)]
pub(super) struct Groups {
    /// The launch of a list, or `None` where a launch each takes less time.
    lists: Mutex<HashMap<ListKey, Option<Arc<List>>>>,
    /// The clocks of a product alone.
    clocks: Mutex<HashMap<Key, Option<f64>>>,
}

/// A list of products in device memory.
struct List {
    prepared: Prepared,
    lists: DeviceArray<u8>,
    /// Byte at which the list of tiles begins.
    tiles_at: u64,
}

impl List {
    /// Writes a list to device memory.
    fn new(
        engine: &Arc<dyn Engine>,
        group: &Group<'_>,
        addresses: &[Addresses],
    ) -> Result<Self, Error> {
        let lists = group.lists(&**engine, addresses)?;
        let array = DeviceArray::new(engine, lists.len())?;
        engine.upload(array.pointer(), &lists)?;
        Ok(List {
            prepared: Prepared::new(&**engine, group.plan())?,
            lists: array,
            tiles_at: group.tiles_at(),
        })
    }

    /// Starts the launch.
    fn start<F: Pod>(&self, queue: &Queue, factors: [F; 2]) -> Result<(), Error> {
        let start = self.lists.pointer();
        let operands = Operands {
            inputs: &[(start, 0), (DevicePtr(start.0 + self.tiles_at), 0)],
            output: DevicePtr(0),
            workspace: DevicePtr(0),
            maps: DevicePtr(0),
        };
        // SAFETY: the list was made for these layouts, which their arrays hold, and its tiles have
        // no element of C in common: a C is of an array that is borrowed for it, or apart from the
        // others in that. All of it is freed by functions that wait for the device.
        let start = |launch: &Launch<'_>| unsafe { queue.enqueue(launch) };
        Ok(self.prepared.start(&operands, factors, start)?)
    }
}

impl Products {
    /// The list of products that are members of one, if a launch of it takes less time than one for
    /// each of them.
    fn list<T: GemmInto<O>, O: Pod>(
        &self,
        queue: &Queue,
        (described, members): (&[&Described<T>], &[Member]),
    ) -> Result<Option<Arc<List>>, Error> {
        let key = described.iter().map(|product| {
            let [(a, _), (b, _)] = product.inputs;
            let key = Key::of(&product.description, self.device);
            (key, [a, b, product.output])
        });
        let key: ListKey = key.collect();
        if let Some(kept) = lock(&self.groups.lists).get(&key) {
            return Ok(kept.clone());
        }
        let list = match self.faster_group::<T, O>(&key, described, members)? {
            None => None,
            Some(group) => {
                let addresses: Vec<Addresses> =
                    key.iter().map(|&(_, addresses)| addresses).collect();
                Some(Arc::new(List::new(&queue.engine, &group, &addresses)?))
            }
        };
        let mut lists = lock(&self.groups.lists);
        if lists.len() >= MAX_LISTS {
            // What was started may still read the old ones.
            queue.engine.synchronize()?;
            lists.clear();
        }
        lists.insert(key, list.clone());
        Ok(list)
    }

    /// The members as a group, if that should take fewer clocks than a launch each.
    fn faster_group<'a, T: GemmInto<O>, O: Pod>(
        &self,
        keys: &[(Key, Addresses)],
        described: &[&Described<T>],
        members: &'a [Member],
    ) -> Result<Option<Group<'a>>, Error> {
        let [first, _, ..] = described else {
            return Ok(None);
        };
        let kernels = first.description.kernels(self.device)?;
        let group = Group::of(members, kernels, self.device, T::C_16BIT);
        let clocks = group.as_ref().and_then(Group::clocks);
        let Some(clocks) = clocks else {
            return Ok(None);
        };
        let mut known = lock(&self.groups.clocks);
        let mut alone = 0.0;
        for (&(key, _), member) in keys.iter().zip(members) {
            if known.len() >= MAX_PLANS && !known.contains_key(&key) {
                known.clear();
            }
            let of_member = known.entry(key).or_insert_with(|| member.clocks(kernels));
            // What no kernel takes alone is left to the group.
            alone += of_member.unwrap_or(f64::INFINITY);
        }
        Ok(group.filter(|_| clocks < alone))
    }
}

#[cfg(test)]
impl Gpu {
    /// Lists of products that are in device memory.
    pub(crate) fn lists_of_products(&self) -> usize {
        let lists = lock(&self.caches.products.groups.lists);
        lists.values().flatten().count()
    }
}

impl Gpu {
    /// C ← α · A · B + β · C for each of a list of products, whose sizes and layouts may differ,
    /// such as those of the experts of a network.
    ///
    /// ```
    /// # use warpladder::gpu::{Gpu, Layout};
    /// # fn main() -> Result<(), warpladder::gpu::Error> {
    /// # let gpu = Gpu::emulated();
    /// use half::bf16;
    ///
    /// // 1, 3 and 0 rows for three experts, each with weights of 16 × 8.
    /// let (rows, n, k) = ([1, 3, 0], 8, 16);
    /// let a = gpu.upload(&[bf16::ONE; 4 * 16])?;
    /// let weights = gpu.upload(&[bf16::from_f32(0.5); 3 * 16 * 8])?;
    /// let mut c = gpu.upload(&[f32::NAN; 4 * 8])?;
    /// let first = [0, 1, 4];
    /// let of_c = [0, 1, 2].map(|i| Layout::row_major(rows[i], n).at(first[i] * n));
    /// let products = c.matrices_mut(&of_c)?.into_iter().enumerate().map(|(i, c)| {
    ///     let a = a.matrix(Layout::row_major(rows[i], k).at(first[i] * k))?;
    ///     let b = weights.matrix(Layout::row_major(k, n).at(i * k * n))?;
    ///     Ok((a, b, c))
    /// });
    /// let products = products.collect::<Result<Vec<_>, warpladder::gpu::Error>>()?;
    /// gpu.gemm_grouped(1.0, 0.0, products)?;
    /// assert_eq!(c.download()?, [8.0; 4 * 8]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// On compute capability 9.0 products of [`half::f16`] and [`half::bf16`] are computed in one
    /// launch, where that takes less time than a launch for each of them by the model of the
    /// planner. Those that are batches, and those whose operands have rows that do not begin at
    /// multiples of 16 bytes, have launches of their own, as have other elements and other GPUs.
    ///
    /// A list that is new, in its sizes or the addresses of its matrices, is written to device
    /// memory first. The last ones are kept.
    ///
    /// # Errors
    /// Those of [`gemm`](Self::gemm). Nothing is started where one of the products is refused.
    pub fn gemm_grouped<'a, T: GemmInto<O> + 'a, O: Pod + 'a>(
        &self,
        alpha: T::Output,
        beta: T::Output,
        products: impl IntoIterator<Item = (MatrixRef<'a, T>, MatrixRef<'a, T>, MatrixMut<'a, O>)>,
    ) -> Result<(), Error> {
        let (known, queue) = (&self.caches.products, &self.queue);
        let (device, factors) = (known.device, [alpha, beta]);
        let mut described = Vec::new();
        for (a, b, c) in products {
            let product = known.described::<T, T, O>(&queue.engine, factors, (a, b), &c)?;
            product.description.check()?;
            described.push(product);
        }
        let member = |product: &Described<T>| Member::of(&product.description, device);
        let members: Vec<Option<Member>> = described.iter().map(member).collect();
        let (mut grouped, mut of_group, mut alone) = (Vec::new(), Vec::new(), Vec::new());
        for (product, member) in described.iter().zip(members) {
            match member {
                Some(member) => {
                    grouped.push(product);
                    of_group.push(member);
                }
                None => alone.push(product),
            }
        }
        let list = known.list::<T, O>(queue, (&grouped, &of_group))?;
        if list.is_none() {
            alone.append(&mut grouped);
        }
        let ready = |product: &Described<T>| {
            let nowhere = (DevicePtr(0), 0);
            let [a, b] = product.inputs;
            Ok(Ready {
                planned: known.planned(&queue.engine, &product.description, device)?,
                inputs: [a, b, nowhere, nowhere],
                output: product.output,
                factors,
            })
        };
        let ready = alone.into_iter().map(ready);
        let ready = ready.collect::<Result<Vec<_>, Error>>()?;
        known.start_behind(queue, &ready, |queue| match &list {
            Some(list) => list.start(queue, factors),
            None => Ok(()),
        })
    }
}
