//! The program itself, against a made-up agent and against the simulated NVML library.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod agent;
mod cdi;
mod direct;
mod fake;
mod fixtures;
mod follow;
mod plain;
mod program;
mod simulator;
