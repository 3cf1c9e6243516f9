//! Rules about the repository itself, run as tests (`tests/`).
//!
//! In: the files of the work tree and `cargo metadata`. Out: findings, one line each, that name the
//! file and what to do. It knows nothing about what the product does.

mod direction;
mod files;
mod paths;
mod tree;

pub use direction::{Dependency, check_direction, dependencies};
pub use files::{check_comments_on_dependencies, check_lengths, check_module_docs, check_names};
pub use paths::check_paths;
pub use tree::{SourceFile, root, sources};
