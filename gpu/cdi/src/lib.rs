//! CDI documents: how a runtime gives a GPU to a container.
//!
//! In: facts of the GPUs and the files of the driver ([`Site`]). Out: one document with everything a
//! container needs ([`generate`]), written in one step and only when it changed ([`store`]), checked
//! ([`validate`]), and put in plain terms for runtimes without CDI ([`Document::expand`]). The hooks that
//! the document names are run by this crate too ([`run_hook`]), so no NVIDIA tool is needed on the node.
//!
//! There is no device `all`: it would give every GPU to whoever names it, past the one book of holders.
//! Nothing here decides who gets which device, and no hook follows a link out of a container's root.

mod document;
mod driver_files;
mod expand;
#[cfg(test)]
mod fixtures;
mod folder;
mod generate;
mod hook;
mod node;
mod root;
mod site;
mod store;
mod validate;

pub use document::{Device, DeviceNode, Document, Edits, Hook, Mount};
pub use driver_files::library_folders;
pub use expand::{PlainEdits, PlainMount, PlainNode, UnknownDevice};
pub use folder::{document_files, read_document};
pub use generate::{GenerateError, Generated, KIND, generate, qualified_name};
pub use hook::{HookError, run_hook};
pub use site::Site;
pub use store::{FILE_NAME, StoreError, Stored, load, store};
pub use validate::{FileReport, missing_host_paths, validate};
