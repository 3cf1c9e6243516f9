//! Log files of containers: the last lines of one, rotation, removal, links by name.

mod links;
mod remove;
mod rotate;
mod tail;

pub(crate) use links::{link, remove_dangling};
pub(crate) use remove::{of_instance as remove_instance, of_pod as remove_pod};
pub(crate) use rotate::rotate;
pub(crate) use tail::last_lines;

pub use rotate::LogLimits;

#[cfg(test)]
mod tests;
