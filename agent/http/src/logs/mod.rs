//! Logs of containers, in the format that runtimes write them: `time stream tag content`.
//!
//! In: the file of one container instance and what somebody wants of it. Out: pieces of text, which
//! come as fast as they are taken. Nothing is followed out of the folder of the pods' logs, and a
//! line that cannot be read costs only itself.

mod file;
mod follow;
mod line;
mod options;
mod reader;
mod tail;

pub(crate) use follow::Subject;
pub(crate) use options::{LogOptions, OptionsError};
pub(crate) use reader::{LogPlace, LogReader};
