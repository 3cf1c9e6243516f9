//! Objects that manifests refer to.
//!
//! `names` says what a manifest refers to. `follow` watches objects that pods share; `tokens` and
//! `certificates` are brought and renewed by a task for each pod; `claims` are asked for until they are
//! bound; `service_accounts` serves credential providers. `ApiObjects` puts them together.

mod api_objects;
mod awaited;
mod certificates;
mod changes;
mod claims;
mod follow;
mod key;
mod kinds;
mod names;
mod none;
mod record;
mod service_accounts;
mod services;
mod task;
mod tokens;
mod trust;

pub use api_objects::{ApiObjects, ObjectSettings};
pub use none::NoObjects;
