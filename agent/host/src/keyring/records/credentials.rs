//! What an image was pulled with, as it stands in a record.

use agent_loops::ports::{CredentialOrigin, PullCredential};

use super::file::{AccountRecord, Credentials, SecretRecord};

/// Access for everybody makes all else superfluous. Secrets and accounts are kept in a fixed order.
pub(super) fn merge(known: &mut Credentials, more: Credentials) {
    if known.node_pods_accessible {
        return;
    }
    if more.node_pods_accessible {
        *known = more;
        return;
    }
    for secret in more.kubernetes_secrets {
        let secrets = &mut known.kubernetes_secrets;
        secrets.retain(|each| !is_same_object(each, &secret));
        secrets.push(secret);
        secrets
            .sort_by(|a, b| (&a.namespace, &a.name, &a.uid).cmp(&(&b.namespace, &b.name, &b.uid)));
    }
    for account in more.kubernetes_service_accounts {
        let accounts = &mut known.kubernetes_service_accounts;
        if !accounts.contains(&account) {
            accounts.push(account);
            accounts.sort_by(|a, b| {
                (&a.namespace, &a.name, &a.uid).cmp(&(&b.namespace, &b.name, &b.uid))
            });
        }
    }
}

pub(super) fn is_same_object(one: &SecretRecord, other: &SecretRecord) -> bool {
    (&one.uid, &one.namespace, &one.name) == (&other.uid, &other.namespace, &other.name)
}

pub(super) fn credentials_of(credential: Option<&PullCredential>) -> Credentials {
    let secret = credential.and_then(secret_of);
    let account = credential.and_then(account_of);
    Credentials {
        node_pods_accessible: secret.is_none() && account.is_none(),
        kubernetes_secrets: secret.into_iter().collect(),
        kubernetes_service_accounts: account.into_iter().collect(),
    }
}

pub(super) fn secret_of(credential: &PullCredential) -> Option<SecretRecord> {
    match &credential.origin {
        CredentialOrigin::Secret {
            uid,
            namespace,
            name,
        } => Some(SecretRecord {
            uid: uid.clone(),
            namespace: namespace.clone(),
            name: name.clone(),
            credential_hash: credential.hash.clone(),
        }),
        CredentialOrigin::Node | CredentialOrigin::ServiceAccount { .. } => None,
    }
}

pub(super) fn account_of(credential: &PullCredential) -> Option<AccountRecord> {
    match &credential.origin {
        CredentialOrigin::ServiceAccount {
            uid,
            namespace,
            name,
        } => Some(AccountRecord {
            uid: uid.clone(),
            namespace: namespace.clone(),
            name: name.clone(),
        }),
        CredentialOrigin::Node | CredentialOrigin::Secret { .. } => None,
    }
}
