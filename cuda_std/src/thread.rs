#![allow(missing_docs)]
use core::arch::nvptx;
#[inline(always)] pub fn thread_idx_x() -> u32 { unsafe { nvptx::_thread_idx_x() } }
#[inline(always)] pub fn thread_idx_y() -> u32 { unsafe { nvptx::_thread_idx_y() } }
#[inline(always)] pub fn block_idx_x() -> u32 { unsafe { nvptx::_block_idx_x() } }
#[inline(always)] pub fn block_idx_y() -> u32 { unsafe { nvptx::_block_idx_y() } }
#[inline(always)] pub fn block_dim_x() -> u32 { unsafe { nvptx::_block_dim_x() } }
#[inline(always)] pub fn block_dim_y() -> u32 { unsafe { nvptx::_block_dim_y() } }
#[inline(always)] pub fn sync_threads() { unsafe { nvptx::_syncthreads() } }
