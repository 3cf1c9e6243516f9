//! Who a client certificate names.

use agent_loops::ports::Identity;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

/// Kubernetes 1.37: the common name is the user, organizations are groups. `None`: there is no common
/// name, or it cannot be read. Of several common names the last one counts, as in Go.
pub(super) fn identity(der: &[u8]) -> Option<Identity> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().last()?.as_str().ok()?.to_owned();
    let groups = subject.iter_organization();
    let groups = groups
        .map(|group| group.as_str().ok().map(str::to_owned))
        .collect::<Option<_>>()?;
    (!name.is_empty()).then(|| Identity {
        name,
        groups,
        ..Identity::default()
    })
}
