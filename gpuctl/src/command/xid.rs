//! `gpuctl xid`

use serde::Serialize;

use super::{Done, Session};
use crate::exit::Exit;
use crate::output::note;
use crate::record::Xid;
use crate::view;

#[derive(Serialize)]
struct Xids<'a> {
    xids: &'a [Xid],
}

pub(super) fn list(session: &Session) -> Done {
    let xids = Xid::all();
    session
        .output
        .show(&Xids { xids: &xids }, |screen| view::xids(&xids, screen))?;
    Ok(Exit::Fine)
}

pub(super) fn explain(session: &Session, code: u32) -> Done {
    let xid = Xid::of(code);
    session
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
