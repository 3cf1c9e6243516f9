//! `gpuctl xid`

use serde::Serialize;

use super::{Context, Done};
use crate::exit::Exit;
use crate::output::note;
use crate::record::Xid;
use crate::view;

#[derive(Serialize)]
struct Xids<'a> {
    xids: &'a [Xid],
}

pub(super) fn list(context: &Context) -> Done {
    let xids = Xid::all();
    context
        .output
        .show(&Xids { xids: &xids }, |screen| view::xids(&xids, screen))?;
    Ok(Exit::Fine)
}

pub(super) fn explain(context: &Context, code: u32) -> Done {
    let xid = Xid::of(code);
    context
        .output
        .show(&xid, |screen| view::xid(&xid, screen))?;
    if xid.known {
        return Ok(Exit::Fine);
    }
    note(&format!(
        "XID {code} is not in the catalogue; gpuctl xid list shows those that are"
    ));
    Ok(Exit::Problem)
}
