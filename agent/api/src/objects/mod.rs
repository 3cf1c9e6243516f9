//! Objects that manifests refer to.

mod none;

pub use none::NoObjects;
