//! Files that every pod and container gets beside its volumes.

mod container;
mod env_file;
mod hosts;
mod mounts;
mod resolver;
mod termination;

pub(crate) use container::container;
pub(crate) use env_file::values as file_values;
pub(crate) use mounts::{Preparing, all as container_mounts};
pub(crate) use resolver::read as resolver;
pub(crate) use termination::{message as termination_message, remove as remove_termination_file};
