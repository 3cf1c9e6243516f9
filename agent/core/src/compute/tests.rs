#![allow(clippy::unwrap_used)]

use std::time::Duration;

use super::{Compute, QosClass, Span, cpu_quota, cpu_shares};

fn span(request: &str, limit: &str) -> Span {
    Span {
        request: request.parse().unwrap(),
        limit: limit.parse().unwrap(),
    }
}

fn compute(cpu: (&str, &str), memory: (&str, &str)) -> Compute {
    Compute {
        cpu: span(cpu.0, cpu.1),
        memory: span(memory.0, memory.1),
    }
}

#[test]
fn classes() {
    let none = Compute::default();
    let full = compute(("1", "1000m"), ("1Gi", "1Gi"));
    let half = compute(("1", "1"), ("0", "0"));
    let less = compute(("500m", "1"), ("1Gi", "1Gi"));
    for (containers, class) in [
        (vec![], QosClass::BestEffort),
        (vec![none, none], QosClass::BestEffort),
        (vec![full, full], QosClass::Guaranteed),
        (vec![full, none], QosClass::Burstable),
        (vec![half], QosClass::Burstable),
        (vec![less], QosClass::Burstable),
    ] {
        assert_eq!(QosClass::of(&containers), class, "{containers:?}");
    }
}

#[test]
fn shares() {
    for (request, shares) in [
        ("0", 2),
        ("1m", 2),
        ("100m", 102),
        ("1", 1024),
        ("1.5", 1536),
        ("1000", 262_144),
    ] {
        assert_eq!(cpu_shares(request.parse().unwrap()), shares, "{request}");
    }
}

#[test]
fn quotas() {
    let period = Duration::from_millis(100);
    for (limit, quota) in [
        ("0", None),
        ("1m", Some(1000)),
        ("500m", Some(50_000)),
        ("2", Some(200_000)),
    ] {
        assert_eq!(cpu_quota(limit.parse().unwrap(), period), quota, "{limit}");
    }
    assert_eq!(
        cpu_quota("1".parse().unwrap(), Duration::from_millis(10)),
        Some(10_000)
    );
}
