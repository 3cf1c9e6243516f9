use agent_core::FailKind;
use tonic::Status;

use super::refusal;

#[test]
fn reasons_of_a_failed_pull() {
    for (status, reason) in [
        (Status::not_found("manifest unknown"), "ErrImagePull"),
        (Status::invalid_argument("bad name"), "ErrImagePull"),
        (
            Status::unknown("RegistryUnavailable: connection refused"),
            "RegistryUnavailable",
        ),
        (
            Status::unknown("SignatureValidationFailed: no"),
            "SignatureValidationFailed",
        ),
    ] {
        let fail = refusal("registry.example/app:1", &status);
        let bad_name = reason == "InvalidImageName";
        let kind = if bad_name {
            FailKind::Permanent
        } else {
            FailKind::Retry
        };
        assert_eq!((fail.kind, fail.reason), (kind, reason));
        assert!(
            fail.message.starts_with("image registry.example/app:1: "),
            "{}",
            fail.message
        );
        assert!(fail.message.contains(status.message()), "{}", fail.message);
    }
}
