//! The keeper as its users see it, with a scripted probe.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod adoption;
mod documents;
mod driver;
mod grants;
mod health;
mod histories;
mod restart;
mod story;
