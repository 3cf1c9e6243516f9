use agent_core::FailKind;
use tonic::{Code, Status};

use super::{Verb, of};

const VERB: Verb = Verb {
    name: "StartContainer",
    reason: "RunContainerError",
};

#[test]
fn codes_and_kinds() {
    for (code, kind) in [
        (Code::NotFound, FailKind::Gone),
        (Code::InvalidArgument, FailKind::Permanent),
        (Code::OutOfRange, FailKind::Permanent),
        (Code::PermissionDenied, FailKind::Permanent),
        (Code::Unauthenticated, FailKind::Permanent),
        (Code::Unimplemented, FailKind::Permanent),
        (Code::Unknown, FailKind::Retry),
        (Code::Internal, FailKind::Retry),
        (Code::Unavailable, FailKind::Retry),
        (Code::DeadlineExceeded, FailKind::Retry),
        (Code::Cancelled, FailKind::Retry),
        (Code::Aborted, FailKind::Retry),
        (Code::AlreadyExists, FailKind::Retry),
        (Code::FailedPrecondition, FailKind::Retry),
        (Code::ResourceExhausted, FailKind::Retry),
        (Code::DataLoss, FailKind::Retry),
    ] {
        let fail = of(VERB, &Status::new(code, "text of the runtime"));
        assert_eq!(fail.kind, kind, "{code:?}");
        assert_eq!(fail.reason, "RunContainerError");
        assert!(
            fail.message.starts_with("StartContainer: "),
            "{}",
            fail.message
        );
        assert!(
            fail.message.contains("text of the runtime"),
            "{}",
            fail.message
        );
    }
}

#[test]
fn causes_of_a_lost_connection_are_told() {
    let cause = std::io::Error::other("no such socket");
    let fail = of(
        VERB,
        &Status::from_error(Box::new(tonic::ConnectError(Box::new(cause)))),
    );
    assert_eq!(fail.kind, FailKind::Retry);
    assert!(fail.message.contains("no such socket"), "{}", fail.message);
}
