//! `Debug` of the messages that carry secrets: it tells that one is there, never what it is.

use std::fmt::{self, Debug, Formatter};

use crate::cri;

/// Stands for a secret: its length says more than it should, its presence does not.
struct Hidden(bool);

impl Debug for Hidden {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 { "<empty>" } else { "<hidden>" })
    }
}

/// Prints the first list of fields as they are and hides the second.
macro_rules! redact {
    ($type:ident: $($shown:ident),*; $($hidden:ident),*) => {
        impl Debug for cri::$type {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($type))
                    $(.field(stringify!($shown), &self.$shown))*
                    $(.field(stringify!($hidden), &Hidden(self.$hidden.is_empty())))*
                    .finish()
            }
        }
    };
}

redact!(AuthConfig: username, server_address; password, auth, identity_token, registry_token);
redact!(KeyValue: key; value);
redact!(ExecResponse: ; url);
redact!(AttachResponse: ; url);
redact!(PortForwardResponse: ; url);

#[cfg(test)]
mod tests;
