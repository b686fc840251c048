#![doc = include_str!("../README.md")]

mod engine;
mod exercises;
mod exports;
mod ptx;
mod report;
mod request;
mod rungs;

pub use request::answer;
