//! The probe against the simulated library: the real child process, the real FFI, the real faults.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bench;
mod events;
mod facts;
mod faults;
mod garbage;
mod late;
mod life;
