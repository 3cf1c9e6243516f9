#![allow(clippy::unwrap_used, clippy::panic)]

mod api;
mod bootstrap;
mod place;
mod proxy;
mod rotation;
mod serving;
mod sharing;
