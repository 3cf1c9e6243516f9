//! Text escapes, fault matching, the bounded event log.

use super::event::Event;
use super::*;

fn gpu(minor: u32, present: bool) -> Gpu {
    Gpu {
        minor,
        present,
        ..Gpu::default()
    }
}

fn state(gpus: Vec<Gpu>) -> State {
    State {
        format: FORMAT,
        node: Node::default(),
        topology: vec![vec!["X".into(), "PIX".into()]],
        mig_profiles: Vec::new(),
        gpus,
        faults: Vec::new(),
        events: EventLog::default(),
    }
}

#[test]
fn escapes_become_bytes_and_the_rest_stays() {
    let cases: [(&str, &[u8]); 5] = [
        ("NVIDIA H200", b"NVIDIA H200"),
        (r"\xff\xfeab", b"\xff\xfeab"),
        (r"end\x", b"end\\x"),
        (r"\xzz\x41", b"\\xzzA"),
        ("ü", "ü".as_bytes()),
    ];
    for (written, bytes) in cases {
        assert_eq!(Text::from(written).bytes(), bytes, "{written}");
    }
}

#[test]
fn only_plugged_in_gpus_count_unless_a_count_is_set() {
    let mut state = state(vec![gpu(0, true), gpu(1, false), gpu(2, true)]);
    assert_eq!(state.reported_count(), 2);
    assert_eq!(
        state.present().map(|gpu| gpu.minor).collect::<Vec<_>>(),
        [0, 2]
    );
    state.node.device_count = Some(4_000_000_000);
    assert_eq!(state.reported_count(), 4_000_000_000);
}

#[test]
fn a_distance_outside_the_matrix_is_unknown() {
    let state = state(Vec::new());
    assert_eq!(state.distance(0, 1), Some("PIX"));
    assert_eq!(state.distance(1, 0), None);
    assert_eq!(state.distance(0, u32::MAX), None);
}

#[test]
fn a_fault_hits_versions_of_its_call_on_its_target_only() {
    let fault = |call: &str, target| Fault {
        id: 1,
        call: call.into(),
        target,
        effect: Effect::Hang { until: None },
    };
    let memory = fault("nvmlDeviceGetMemoryInfo", Target::Gpu(5));
    assert!(memory.hits("nvmlDeviceGetMemoryInfo", Some(5)));
    assert!(memory.hits("nvmlDeviceGetMemoryInfo_v2", Some(5)));
    assert!(!memory.hits("nvmlDeviceGetMemoryInfo_v2", Some(4)));
    assert!(!memory.hits("nvmlDeviceGetMemoryInfo", None));
    let second = fault("nvmlDeviceGetMemoryInfo_v2", Target::Gpu(5));
    assert!(!second.hits("nvmlDeviceGetMemoryInfo", Some(5)));
    let everything = fault("*", Target::Node);
    assert!(everything.hits("nvmlDeviceGetCount_v2", None));
    assert!(
        !everything.hits("nvmlDeviceGetName", Some(0)),
        "was hit before its GPU was known"
    );
}

#[test]
fn a_fault_with_a_number_of_uses_ends() {
    let mut state = state(Vec::new());
    let counted = state.add_fault(
        "*",
        Target::Node,
        Effect::Fail {
            code: 3,
            times: Some(2),
        },
    );
    let endless = state.add_fault(
        "*",
        Target::Node,
        Effect::Fail {
            code: 4,
            times: None,
        },
    );
    assert_ne!(counted, endless);
    state.use_up(counted);
    state.use_up(endless);
    assert_eq!(state.faults.len(), 2);
    state.use_up(counted);
    assert_eq!(
        state
            .faults
            .iter()
            .map(|fault| fault.id)
            .collect::<Vec<_>>(),
        [endless]
    );
}

#[test]
fn the_event_log_numbers_events_and_forgets_the_oldest() {
    let mut log = EventLog::default();
    for code in 0..1000 {
        log.push_whole(0, 8, code);
    }
    assert_eq!(log.newest, 1000);
    let last: Option<&Event> = log.recent.back();
    assert_eq!(
        last.map(|event| (event.sequence, event.data)),
        Some((1000, 999))
    );
    let sequences: Vec<u64> = log.recent.iter().map(|event| event.sequence).collect();
    assert!(sequences.len() < 1000 && sequences.windows(2).all(|pair| pair[0] + 1 == pair[1]));
}

#[test]
fn a_reset_clears_what_a_reset_clears() {
    let mut gpu = Gpu {
        lost: true,
        recovery_action: Some(1),
        ..gpu(0, true)
    };
    gpu.ecc = Ecc {
        current: Some(false),
        pending: true,
        ..Ecc::default()
    };
    gpu.ecc.volatile.dram_uncorrected = 3;
    gpu.ecc.aggregate.dram_uncorrected = 3;
    gpu.ecc.remapped_rows = Some(RemappedRows {
        pending: true,
        failure: true,
        ..RemappedRows::default()
    });
    gpu.mig = Some(Mig {
        current: false,
        pending: true,
        ..Mig::default()
    });
    gpu.reset();
    assert!(!gpu.lost && gpu.in_mig_mode());
    assert_eq!(gpu.recovery_action, Some(0));
    assert_eq!(gpu.ecc.current, Some(true));
    assert_eq!(
        (
            gpu.ecc.volatile.uncorrected(),
            gpu.ecc.aggregate.uncorrected()
        ),
        (0, 3)
    );
    let rows = gpu.ecc.remapped_rows.unwrap_or_default();
    assert!(
        !rows.pending && rows.failure,
        "a failed remapping outlives a reset"
    );
}
