//! `gpuctl topo`

use super::{Context, Done, completeness};
use crate::view;

pub(super) async fn run(context: &Context) -> Done {
    let machine = context.source.machine().await;
    context
        .output
        .show(&machine, |screen| view::topo(&machine, screen))?;
    Ok(completeness(&machine))
}
