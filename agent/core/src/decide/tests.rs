#![allow(clippy::unwrap_used, clippy::expect_used)]
//! Tables: a pod, what the runtime shows, and the wave.

mod api;
mod crash;
mod order;
mod sandbox;
mod stopping;
