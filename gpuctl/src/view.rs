//! Records as text for people: each table is made in one place, whoever told the facts.

mod cdi;
mod cell;
mod describe;
mod events;
mod explain;
mod grid;
mod health;
mod list;
mod pods;
mod sheet;
mod status;
mod top;
mod topo;
mod words;
mod xid;

pub(crate) use cdi::{show as cdi, validate as cdi_checks};
pub(crate) use describe::gpu;
pub(crate) use events::{event, events, header as events_header};
pub(crate) use explain::pod;
pub(crate) use health::health;
pub(crate) use list::list;
pub(crate) use pods::pods;
pub(crate) use status::status;
pub(crate) use top::top;
pub(crate) use topo::topo;
pub(crate) use xid::{explain as xid, list as xids};

use jiff::tz::TimeZone;

use crate::record::Moment;

/// What is drawn on.
#[derive(Clone, Debug)]
pub(crate) struct Screen {
    /// Columns; `None` where lines may have any length.
    pub(crate) width: Option<usize>,
    /// Everything is wanted.
    pub(crate) wide: bool,
    pub(crate) colour: bool,
    /// Ages are counted from here.
    pub(crate) now: Moment,
    pub(crate) zone: TimeZone,
}

#[cfg(test)]
mod tests;
