#![allow(clippy::unwrap_used, clippy::panic)]

mod api;
mod bootstrap;
mod place;
mod rotation;
mod serving;
