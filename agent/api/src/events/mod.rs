//! Events of this node in the API.
//!
//! In: the event log. Out: objects of kind Event, as the stock kubelet writes them: equal ones counted,
//! similar ones combined, and no more about one object than anybody wants to read.
//!
//! Events are for people. They never hold anything up: while the API server is away the log keeps the
//! newest thousand, and older ones are lost.

mod budget;
mod correlate;
mod object;
mod recent;
mod sink;

pub use sink::{EventSettings, write_events};
