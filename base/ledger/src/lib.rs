//! Small durable records: one file each, versioned, checksummed, replaced atomically.
//!
//! In: a value and a path. Out: the value again after a crash, or a typed reason why not. A file that
//! is damaged is set aside under a telling name, never deleted and never fatal; what was in it is
//! rebuilt by its owner. Nothing here knows pods, devices or Kubernetes.

mod load;
mod store;

pub use load::{Damage, Loaded, load};
pub use store::{StoreError, store};

/// First line of every file, so that a stranger can tell what it is.
const HEADER: &str = "gpulet-record";

#[cfg(test)]
mod tests;
