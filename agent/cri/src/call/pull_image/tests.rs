use agent_core::FailKind;
use tonic::Status;

use super::refusal;

#[test]
fn reasons_of_a_failed_pull() {
    for (status, kind, reason, message) in [
        (
            Status::not_found("manifest unknown"),
            FailKind::Retry,
            "ErrImagePull",
            "image registry.example/app:1: PullImage: manifest unknown",
        ),
        (
            Status::invalid_argument("bad name"),
            FailKind::Retry,
            "ErrImagePull",
            "image registry.example/app:1: PullImage: bad name",
        ),
        (
            Status::unknown("failed to parse: invalid reference format"),
            FailKind::Permanent,
            "InvalidImageName",
            "image registry.example/app:1: PullImage: failed to parse: invalid reference format",
        ),
        (
            Status::unknown("RegistryUnavailable: connection refused"),
            FailKind::Retry,
            "RegistryUnavailable",
            "image pull failed for registry.example/app:1 because the registry is unavailable: \
             connection refused",
        ),
        (
            Status::unknown("SignatureValidationFailed: no"),
            FailKind::Retry,
            "SignatureValidationFailed",
            "image pull failed for registry.example/app:1 because the signature validation failed: no",
        ),
    ] {
        let fail = refusal("registry.example/app:1", &status);
        assert_eq!((fail.kind, fail.reason), (kind, reason));
        assert_eq!(fail.message, message);
    }
}
