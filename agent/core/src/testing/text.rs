//! Pods and runtimes from text.

use std::time::Duration;

use super::{at, id};
use crate::*;

/// A pod from its text.
pub(crate) fn want(text: &str) -> PodWant {
    let mut want = PodWant {
        ephemeral: Vec::new(),
        deletion: None,
        over: None,
        needs: Default::default(),
        started_at: None,
        restarts: Default::default(),
        uid: PodUid::new("uid"),
        name: PodName::new("default", "pod"),
        is_static: true,
        host_network: false,
        restart: RestartPolicy::Always,
        grace: Duration::from_secs(30),
        active_deadline: None,
        init: Vec::new(),
        containers: Vec::new(),
    };
    for word in text.split_whitespace() {
        let (key, value) = word.split_once([':', '=']).unwrap_or((word, ""));
        let seconds = || Duration::from_secs(value.parse().expect(word));
        match key {
            "always" | "onfailure" | "never" => want.restart = policy(key),
            "grace" => want.grace = seconds(),
            "deadline" => want.active_deadline = Some(seconds()),
            "hostnet" => want.host_network = true,
            "api" => want.is_static = false,
            "init" => want.init.push(container_want(value)),
            "side" => want.init.push(ContainerWant {
                restart: Some(RestartPolicy::Always),
                ..container_want(value)
            }),
            "main" => want.containers.push(container_want(value)),
            "ephemeral" => want.ephemeral.push(ContainerWant {
                restart: Some(RestartPolicy::Never),
                ..container_want(value)
            }),
            "over" => {
                want.over = Some(PodOver {
                    well: value == "well",
                    reason: "Earlier".into(),
                    message: String::new(),
                });
            }
            _ => panic!("{word}"),
        }
    }
    want
}

fn policy(word: &str) -> RestartPolicy {
    match word {
        "always" => RestartPolicy::Always,
        "onfailure" => RestartPolicy::OnFailure,
        _ => RestartPolicy::Never,
    }
}

fn container_want(text: &str) -> ContainerWant {
    let mut words = text.split('+');
    let name = words.next().unwrap_or_default();
    let mut want = ContainerWant {
        name: ContainerName::new(name),
        image: ImageName::new(format!("{name}:1")),
        hash: "hash".into(),
        pull: PullPolicy::IfNotPresent,
        image_volumes: Vec::new(),
        restart: None,
        restart_rules: Vec::new(),
        probes: Probes::default(),
        post_start: None,
        pre_stop: None,
        devices: Vec::new(),
    };
    for word in words {
        let (key, value) = word.split_once(':').unwrap_or((word, ""));
        let number = || value.parse::<u32>().ok();
        match key {
            "gpu" => {
                want.devices = vec![(ResourceName::new("nvidia.com/gpu"), number().unwrap_or(1))]
            }
            "pre" => want.pre_stop = Some(Hook::Sleep(Duration::from_secs(1))),
            "post" => want.post_start = Some(Hook::Sleep(Duration::from_secs(1))),
            "live" => want.probes.liveness = Some(probe(number())),
            "startup" => want.probes.startup = Some(probe(number())),
            "ready" => want.probes.readiness = Some(probe(None)),
            "always" | "onfailure" | "never" => want.restart = Some(policy(key)),
            "rule" | "all" => {
                let codes = vec![value.parse().expect(word)];
                want.restart_rules.push(RestartRule {
                    within: true,
                    codes,
                    all: key == "all",
                });
            }
            _ => panic!("{word}"),
        }
    }
    want
}

fn probe(grace: Option<u32>) -> Probe {
    Probe {
        check: Check::Exec(Vec::new()),
        initial_delay: Duration::ZERO,
        period: Duration::from_secs(10),
        timeout: Duration::from_secs(1),
        success_threshold: 1,
        failure_threshold: 3,
        grace: grace.map(|seconds| Duration::from_secs(seconds.into())),
    }
}

/// A whole look: `s0` ready, `s0-` not, `s0?` without network details, `s0!` without address, `s0h`
/// in the host's network; `c.0` runs in the sandbox before it, `c.0=1` ended with 1, `c.0=?` ended
/// somehow, `c.0+` is created, `c.0~` lost, `c.0#` runs another definition.
pub(crate) fn observation(seconds: u64, text: &str) -> Observation {
    let mut have = PodHave::default();
    for word in text.split_whitespace() {
        if !word.contains('.') {
            let name = word.trim_end_matches(['-', '?', '!', 'h']);
            have.sandboxes.push(SandboxHave {
                id: SandboxId::new(name),
                attempt: name.trim_start_matches('s').parse().expect(word),
                ready: !word.ends_with('-'),
                created_at: at(seconds),
                network: match word.chars().last() {
                    Some('?') => None,
                    Some('!') => Some(SandboxNetwork {
                        host: false,
                        ips: Vec::new(),
                    }),
                    Some('h') => Some(SandboxNetwork {
                        host: true,
                        ips: Vec::new(),
                    }),
                    _ => Some(network()),
                },
            });
            continue;
        }
        let (name, state) = word.split_at(word.find(['=', '+', '~', '#']).unwrap_or(word.len()));
        let (container, attempt) = name.split_once('.').expect(word);
        have.containers.push(ContainerHave {
            id: id(name),
            name: ContainerName::new(container),
            sandbox: have.sandboxes.last().map(|each| each.id.clone()),
            attempt: attempt.parse().expect(word),
            hash: if state == "#" {
                "other".into()
            } else {
                "hash".into()
            },
            state: match state {
                "" | "#" => RunState::Running,
                "+" => RunState::Created,
                "~" => RunState::Unknown,
                _ => RunState::Exited,
            },
            created_at: at(seconds),
            started_at: Some(at(seconds)),
            exit: state
                .strip_prefix('=')
                .and_then(|code| Some(exit(seconds, code.parse().ok()?))),
            image_id: "sha256:1".into(),
            user: None,
            recovered: Recovered::default(),
        });
    }
    have.sandboxes
        .sort_by_key(|each| std::cmp::Reverse(each.attempt));
    let (uid, name) = (PodUid::new("uid"), PodName::new("default", "pod"));
    Observation {
        uid,
        name,
        at: at(seconds),
        have,
        whole: true,
    }
}

pub(crate) fn network() -> SandboxNetwork {
    SandboxNetwork {
        host: false,
        ips: vec!["10.0.0.9".into()],
    }
}

pub(crate) fn exit(seconds: u64, code: i32) -> Exit {
    let reason = if code == 0 { "Completed" } else { "Error" };
    Exit {
        code,
        reason: reason.into(),
        message: String::new(),
        finished_at: at(seconds),
    }
}
