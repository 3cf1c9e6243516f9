//! `gpuctl topo`

use super::{Done, Session, completeness};
use crate::view;

pub(super) async fn run(session: &Session) -> Done {
    let machine = session.source.machine().await;
    session
        .output
        .show(&machine, |screen| view::topo(&machine, screen))?;
    Ok(completeness(&machine))
}
