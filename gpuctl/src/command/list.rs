//! `gpuctl list`

use super::{Done, Session, completeness};
use crate::view;

pub(super) async fn run(session: &Session) -> Done {
    let machine = session.source.machine().await;
    session
        .output
        .show(&machine, |screen| view::list(&machine, screen))?;
    Ok(completeness(&machine))
}
