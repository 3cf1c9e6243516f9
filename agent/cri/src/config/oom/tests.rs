use agent_core::QosClass;

use super::{OomInput, score};

#[test]
fn bounds() {
    let input = OomInput {
        class: QosClass::Burstable,
        node_critical: false,
        request: 0,
        share: 0,
        least_main: None,
        capacity: 1000,
    };
    for (request, capacity, expected) in [
        (0, 1000, 999),
        (1, 1000, 999),
        (400, 1000, 600),
        (999, 1000, 3),
        (5000, 1000, 3),
        (1, 0, 3),
    ] {
        assert_eq!(
            score(&OomInput {
                request,
                capacity,
                ..input
            }),
            expected,
            "{request}"
        );
    }
    assert_eq!(
        score(&OomInput {
            request: i64::MAX,
            ..input
        }),
        3
    );
    assert_eq!(
        score(&OomInput {
            node_critical: true,
            ..input
        }),
        -997
    );
    assert_eq!(
        score(&OomInput {
            class: QosClass::Guaranteed,
            ..input
        }),
        -997
    );
    assert_eq!(
        score(&OomInput {
            class: QosClass::BestEffort,
            ..input
        }),
        1000
    );
    assert_eq!(
        score(&OomInput {
            request: 300,
            least_main: Some(200),
            ..input
        }),
        700
    );
}
