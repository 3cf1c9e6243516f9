//! `gpuctl list`

use super::{Context, Done, completeness};
use crate::view;

pub(super) async fn run(context: &Context) -> Done {
    let machine = context.source.machine().await;
    context
        .output
        .show(&machine, |screen| view::list(&machine, screen))?;
    Ok(completeness(&machine))
}
