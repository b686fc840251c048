#![doc = include_str!("../README.md")]

mod engine;
mod error;
mod exercises;
mod exports;
mod ptx;
mod report;
mod request;
mod rungs;
mod text;

pub use request::answer;
