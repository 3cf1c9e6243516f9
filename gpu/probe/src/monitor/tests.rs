#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;

use gpu_model::{DriverFacts, GpuEvent, GpuFacts, PciAddress};

use super::*;
use crate::wire::{Answer, Failure, Lane, Question};

pub(super) fn facts(number: u8) -> GpuFacts {
    GpuFacts {
        uuid: GpuUuid::new(format!("GPU-{number}")),
        index: number.into(),
        minor: number.into(),
        name: "NVIDIA H200".to_owned(),
        serial: None,
        pci: PciAddress {
            domain: 0,
            bus: number,
            device: 0,
            function: 0,
        },
        numa: None,
        cpus: String::new(),
        memory: 1,
        compute: (9, 0),
        architecture: String::new(),
        ecc: None,
        links: Vec::new(),
        mig: None,
        fabric: None,
    }
}

/// A monitor with a child that behaves as told, in virtual time.
struct Bench {
    now: Instant,
    monitor: Monitor,
    driver: DriverState,
    gpus: Vec<u8>,
    /// Lanes whose calls do not return.
    hangs: BTreeSet<Lane>,
    /// NVML return codes of lanes.
    codes: BTreeMap<Lane, u32>,
    frozen: bool,
    cannot_start: bool,
    /// The driver tells another number of GPUs and other UUIDs each time.
    mad: bool,
    /// Questions that wait in lanes that hang.
    stuck: Vec<(u64, Question)>,
    inbox: VecDeque<FromChild>,
    starts: usize,
    /// Questions that are not to wait behind a call that hangs.
    fresh: usize,
    asked: Vec<Question>,
    reports: Vec<String>,
}

impl Bench {
    fn new() -> Self {
        let now = Instant::now();
        let mut bench = Self {
            now,
            monitor: Monitor::new(now, LibraryPlaces::default()),
            driver: DriverState::Ready,
            gpus: vec![0, 1, 2],
            hangs: BTreeSet::new(),
            codes: BTreeMap::new(),
            frozen: false,
            cannot_start: false,
            mad: false,
            stuck: Vec::new(),
            inbox: VecDeque::new(),
            starts: 0,
            fresh: 0,
            asked: Vec::new(),
            reports: Vec::new(),
        };
        bench.monitor.tick(now);
        bench
    }

    /// One that has looked once.
    fn up() -> Self {
        let mut bench = Self::new();
        bench.settle();
        let first = [
            "driver Ready",
            "machine 0 1 2 |",
            "reading 0",
            "reading 1",
            "reading 2",
        ];
        assert_eq!(bench.take(), first);
        bench
    }

    fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.reports)
    }

    /// Lets everything happen that needs no time.
    fn settle(&mut self) {
        loop {
            for effect in self.monitor.take_effects() {
                self.act(effect);
            }
            let Some(message) = self.inbox.pop_front() else {
                let effects = self.monitor.take_effects();
                if effects.is_empty() {
                    return;
                }
                effects.into_iter().for_each(|effect| self.act(effect));
                continue;
            };
            self.monitor.heard(self.now, message);
        }
    }

    fn pass(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        let mut steps = 0;
        while let Some(wake) = self.monitor.wake().filter(|wake| *wake <= end) {
            self.now = self.now.max(wake);
            self.monitor.tick(self.now);
            self.settle();
            steps += 1;
            assert!(steps < 50 + seconds * 10, "it spins at {wake:?}");
        }
        self.now = end;
    }

    fn act(&mut self, effect: Effect) {
        match effect {
            Effect::Start => {
                self.starts += 1;
                if self.cannot_start {
                    self.monitor.ended(self.now, "out of memory");
                } else {
                    self.monitor.spawned(self.now);
                }
            }
            Effect::Kill => {
                self.stuck.clear();
                self.inbox.clear();
                self.frozen = false;
            }
            Effect::Report(report) => self.reports.push(describe(&report)),
            Effect::Send(_) if self.frozen => {}
            Effect::Send(ToChild::Open { .. }) if self.hangs.contains(&Lane::Library) => {}
            Effect::Send(ToChild::Open { .. }) => {
                self.inbox.push_back(FromChild::Opened(self.driver.clone()));
            }
            Effect::Send(ToChild::Ping) => {
                let busy = |lane: &Lane| Busy {
                    lane: *lane,
                    call: "nvmlX".to_owned(),
                };
                let busy = self.hangs.iter().map(busy).collect();
                self.inbox.push_back(FromChild::Pong(busy));
            }
            Effect::Send(ToChild::Ask {
                id,
                fresh,
                question,
            }) => {
                self.fresh += usize::from(fresh);
                self.ask(id, question);
            }
            Effect::Send(ToChild::Watch { .. } | ToChild::Unwatch(_)) => {}
        }
    }

    fn ask(&mut self, id: u64, question: Question) {
        self.asked.push(question.clone());
        if self.hangs.contains(&question.lane()) {
            self.stuck.push((id, question));
        } else {
            self.inbox
                .push_back(FromChild::Answer(id, self.answer(&question)));
        }
    }

    fn answer(&self, question: &Question) -> Result<Answer, Failure> {
        if let Some(code) = self.codes.get(&question.lane()) {
            return Err(Failure::Fault {
                detail: format!("code {code}"),
                code: *code,
            });
        }
        let at = |index: &u32| self.gpus.get(usize::try_from(*index).unwrap()).copied();
        match question {
            Question::Count => {
                let more = if self.mad { self.asked.len() % 7 } else { 0 };
                let count = u32::try_from(self.gpus.len() + more).unwrap();
                Ok(Answer::Count(DriverFacts::default(), count))
            }
            Question::Facts(index) => match at(index) {
                Some(number) => Ok(Answer::Facts(Box::new(GpuFacts {
                    index: *index,
                    ..facts(number)
                }))),
                None => Err(Failure::Fault {
                    detail: "no such GPU".to_owned(),
                    code: 2,
                }),
            },
            Question::Reading(..) if self.mad => Err(Failure::Moved),
            Question::Reading(index, gpu) => match at(index).map(facts) {
                Some(facts) if facts.uuid == *gpu => Ok(Answer::Reading(Box::default())),
                _ => Err(Failure::Moved),
            },
            Question::Levels(indices) => {
                let row = vec![TopologyLevel::Node; indices.len()];
                Ok(Answer::Levels(vec![row; indices.len()]))
            }
        }
    }

    /// Calls of a lane return from now on, those that hung included.
    fn heal(&mut self, lane: Lane) {
        self.hangs.remove(&lane);
        let (healed, stuck): (Vec<_>, Vec<_>) = std::mem::take(&mut self.stuck)
            .into_iter()
            .partition(|(_, question)| question.lane() == lane);
        self.stuck = stuck;
        for (id, question) in healed {
            let answer = self.answer(&question);
            self.inbox.push_back(FromChild::Answer(id, answer));
        }
        self.settle();
    }

    fn asked_of(&self, lane: Lane) -> usize {
        self.asked
            .iter()
            .filter(|question| question.lane() == lane)
            .count()
    }
}

fn describe(report: &ProbeReport) -> String {
    let number = |gpu: &GpuUuid| gpu.as_str().trim_start_matches("GPU-").to_owned();
    match report {
        ProbeReport::Driver(state) => format!("driver {state:?}"),
        ProbeReport::Machine(machine) => {
            let mut text = "machine".to_owned();
            for gpu in &machine.gpus {
                text += &format!(" {}", number(&gpu.uuid));
            }
            text += " |";
            for silent in &machine.silent {
                text += &format!(" {}", silent.uuid.as_ref().map_or("?".to_owned(), number));
            }
            text
        }
        ProbeReport::Reading(gpu, _) => format!("reading {}", number(gpu)),
        ProbeReport::Event(event) => format!("event {}", event.data),
        ProbeReport::Missed => "missed".to_owned(),
        ProbeReport::Unresponsive { gpu, detail } => {
            format!("unresponsive {}: {detail}", number(gpu))
        }
        ProbeReport::Responsive(gpu) => format!("responsive {}", number(gpu)),
        ProbeReport::Lost { gpu, code } => format!("lost {}: {code}", number(gpu)),
    }
}

fn event(gpu: u8, kind: u64, data: u64) -> FromChild {
    FromChild::Event(GpuEvent {
        gpu: Some(facts(gpu).uuid),
        kind,
        data,
        gpu_instance: None,
        compute_instance: None,
    })
}

#[test]
fn once_a_minute_all_gpus_are_read_and_what_is_unchanged_is_not_told_again() {
    let mut bench = Bench::up();
    let pairs = bench.asked_of(Lane::Pairs);
    bench.pass(59);
    assert!(bench.take().is_empty());
    bench.pass(1);
    assert_eq!(bench.take(), ["reading 0", "reading 1", "reading 2"]);
    assert_eq!(
        bench.asked_of(Lane::Pairs),
        pairs,
        "the wiring of the same GPUs is known"
    );
}

#[test]
fn a_gpu_that_hangs_costs_itself_only() {
    let mut bench = Bench::up();
    bench.hangs.insert(Lane::Gpu(1));
    bench.pass(60);
    assert!(bench.take().is_empty(), "the round waits for it");
    bench.pass(5);
    let told = [
        "machine 0 2 | 1",
        "unresponsive 1: nvmlX has not returned for 5 s",
        "reading 0",
        "reading 2",
    ];
    let mut reports = bench.take();
    reports.sort();
    let mut told = told.to_vec();
    told.sort_unstable();
    assert_eq!(reports, told);

    bench.monitor.read(bench.now, &facts(0).uuid);
    bench.settle();
    assert_eq!(bench.take(), ["reading 0"], "the others go on");

    bench.pass(60);
    assert_eq!(bench.take(), ["reading 0", "reading 2"], "it is told once");
}

#[test]
fn a_gpu_that_answers_late_is_back_at_once() {
    let mut bench = Bench::up();
    bench.hangs.insert(Lane::Gpu(1));
    bench.pass(66);
    bench.take();
    bench.heal(Lane::Gpu(1));
    assert_eq!(
        bench.take(),
        [
            "machine 0 1 2 |",
            "responsive 1",
            "reading 0",
            "reading 1",
            "reading 2"
        ]
    );
}

#[test]
fn a_gpu_that_hangs_is_tried_less_and_less_often() {
    let mut bench = Bench::up();
    bench.hangs.insert(Lane::Gpu(1));
    bench.pass(66);
    let before = bench.asked_of(Lane::Gpu(1));
    bench.pass(300);
    let tries = bench.asked_of(Lane::Gpu(1)) - before;
    assert!(
        (5..=9).contains(&tries),
        "after 5, 10, 20, 40, then each 60 s: {tries}"
    );
}

#[test]
fn one_that_hangs_from_the_beginning_has_no_name_and_the_others_are_there_in_time() {
    let mut bench = Bench::new();
    bench.hangs.insert(Lane::Gpu(2));
    bench.settle();
    bench.pass(5);
    assert_eq!(
        bench.take(),
        ["driver Ready", "machine 0 1 | ?", "reading 0", "reading 1"]
    );
    bench.heal(Lane::Gpu(2));
    assert_eq!(
        bench.take(),
        ["machine 0 1 2 |", "reading 0", "reading 1", "reading 2"]
    );
}

#[test]
fn when_the_library_hangs_as_a_whole_no_gpu_is_blamed_and_none_is_forgotten() {
    let mut bench = Bench::up();
    let lanes = [Lane::Library, Lane::Gpu(0), Lane::Gpu(1), Lane::Gpu(2)];
    bench.hangs.extend(lanes);
    bench.monitor.read(bench.now, &facts(1).uuid);
    bench.settle();
    bench.pass(11);
    let detail = "nvmlX has not returned for 5 s".to_owned();
    assert_eq!(
        bench.take(),
        [format!("driver {:?}", DriverState::Unresponsive { detail })]
    );
    for lane in lanes {
        bench.heal(lane);
    }
    bench.pass(5);
    let reports = bench.take();
    assert_eq!(reports.first().unwrap(), "driver Ready");
    assert!(
        reports.contains(&"machine 0 1 2 |".to_owned()),
        "{reports:?}"
    );
    assert!(
        !reports
            .iter()
            .any(|report| report.starts_with("unresponsive")),
        "{reports:?}"
    );
    assert_eq!(bench.starts, 1);
}

#[test]
fn a_library_that_hangs_for_long_gets_a_new_process() {
    let mut bench = Bench::up();
    bench.hangs.insert(Lane::Library);
    bench.monitor.rescan(bench.now);
    bench.settle();
    bench.pass(70);
    assert_eq!(bench.starts, 2);
    bench.hangs.clear();
    bench.pass(200);
    let reports = bench.take();
    assert_eq!(
        reports
            .iter()
            .filter(|report| report.starts_with("driver"))
            .count(),
        3,
        "{reports:?}"
    );
    assert!(reports.contains(&"missed".to_owned()), "{reports:?}");
}

#[test]
fn a_frozen_child_is_replaced_and_the_gpus_stay_known() {
    let mut bench = Bench::up();
    bench.frozen = true;
    bench.pass(10);
    let reports = bench.take();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert!(reports[0].contains("frozen for 5 s"), "{reports:?}");
    bench.pass(2);
    let again = [
        "driver Ready",
        "missed",
        "machine 0 1 2 |",
        "reading 0",
        "reading 1",
        "reading 2",
    ];
    assert_eq!(bench.take(), again);
    assert_eq!(bench.starts, 2);
}

#[test]
fn children_that_end_by_themselves_are_replaced_ever_more_slowly() {
    let mut bench = Bench::up();
    for _ in 0..4 {
        bench.monitor.ended(bench.now, "signal 11");
        bench.settle();
        bench.pass(1);
    }
    let starts = bench.starts;
    assert!(starts < 5, "1 s, then 2 s, then 4 s: {starts}");
    bench.pass(120);
    assert_eq!(bench.starts, starts + 1);
    let reports = bench.take();
    assert!(
        reports.iter().any(|report| report.contains("signal 11")),
        "{reports:?}"
    );
    assert_eq!(reports.last().unwrap(), "reading 2");
}

#[test]
fn a_child_that_cannot_be_started_is_tried_again() {
    let mut bench = Bench::new();
    bench.cannot_start = true;
    bench.settle();
    bench.pass(100);
    let reports = bench.take();
    assert_eq!(reports.len(), 1, "told once: {reports:?}");
    assert!(reports[0].contains("out of memory"));
    bench.cannot_start = false;
    bench.pass(30);
    assert!(bench.take().contains(&"machine 0 1 2 |".to_owned()));
}

#[test]
fn a_driver_that_comes_late_is_told_at_each_change_and_picked_up() {
    let mut bench = Bench::new();
    bench.driver = DriverState::NoLibrary {
        detail: "nowhere".to_owned(),
    };
    bench.settle();
    bench.pass(100);
    bench.driver = DriverState::NotLoaded;
    bench.pass(31);
    bench.driver = DriverState::VersionMismatch;
    bench.pass(31);
    bench.driver = DriverState::Ready;
    bench.pass(31);
    let expected = [
        "driver NoLibrary { detail: \"nowhere\" }",
        "driver NotLoaded",
        "driver VersionMismatch",
        "driver Ready",
        "machine 0 1 2 |",
        "reading 0",
        "reading 1",
        "reading 2",
    ];
    assert_eq!(bench.take(), expected);
}

#[test]
fn a_sign_of_a_new_driver_shortens_the_wait() {
    let mut bench = Bench::new();
    bench.driver = DriverState::NotLoaded;
    bench.settle();
    bench.pass(300);
    bench.take();
    bench.driver = DriverState::Ready;
    bench.pass(2);
    bench.monitor.nudge(bench.now);
    bench.pass(1);
    assert!(bench.take().contains(&"driver Ready".to_owned()));
}

#[test]
fn many_signs_do_not_start_many_children() {
    let mut bench = Bench::new();
    bench.driver = DriverState::NotLoaded;
    bench.settle();
    for _ in 0..1000 {
        bench.monitor.nudge(bench.now);
        bench.pass(0);
    }
    bench.pass(1);
    assert!(bench.starts <= 3, "{}", bench.starts);
}

#[test]
fn a_driver_that_goes_away_takes_its_gpus_with_it() {
    let mut bench = Bench::up();
    bench.driver = DriverState::NotLoaded;
    bench.codes.insert(Lane::Gpu(0), 9);
    bench.monitor.read(bench.now, &facts(0).uuid);
    bench.settle();
    bench.pass(1);
    assert_eq!(bench.take(), ["driver NotLoaded"]);
}

#[test]
fn a_lost_gpu_is_told_once_and_silent_until_it_is_back() {
    let mut bench = Bench::up();
    bench.codes.insert(Lane::Gpu(1), 15);
    bench.pass(60);
    assert_eq!(
        bench.take(),
        ["lost 1: 15", "machine 0 2 | 1", "reading 0", "reading 2"]
    );
    bench.pass(60);
    assert_eq!(bench.take(), ["reading 0", "reading 2"]);
    bench.codes.insert(Lane::Gpu(1), 16);
    bench.pass(60);
    assert_eq!(bench.take()[0], "lost 1: 16", "another code is news");
    bench.codes.clear();
    bench.monitor.rescan(bench.now);
    bench.settle();
    assert_eq!(bench.take()[..2], ["machine 0 1 2 |", "responsive 1"]);
}

#[test]
fn a_feature_that_is_absent_is_no_loss() {
    let mut bench = Bench::up();
    bench.codes.insert(Lane::Pairs, 13);
    bench.gpus = vec![0, 1];
    bench.monitor.rescan(bench.now);
    bench.settle();
    assert_eq!(bench.take(), ["machine 0 1 |", "reading 0", "reading 1"]);
}

#[test]
fn gpus_come_and_go() {
    let mut bench = Bench::up();
    bench.gpus = vec![0, 2];
    bench.monitor.rescan(bench.now);
    bench.settle();
    assert_eq!(bench.take(), ["machine 0 2 |", "reading 0", "reading 2"]);
    bench.gpus = vec![0, 1, 2, 3];
    bench.pass(60);
    assert_eq!(bench.take()[0], "machine 0 1 2 3 |");
}

#[test]
fn a_gpu_that_comes_while_the_others_are_asked_does_not_push_one_out() {
    let mut bench = Bench::up();
    bench.gpus = vec![0, 2];
    bench.hangs.insert(Lane::Gpu(1));
    bench.monitor.rescan(bench.now);
    bench.settle();
    bench.gpus = vec![0, 1, 2];
    bench.heal(Lane::Gpu(1));
    assert_eq!(
        bench.take(),
        ["reading 0", "reading 1", "reading 2"],
        "as if it never was away"
    );
}

#[test]
fn a_reading_of_a_gpu_that_moved_makes_a_look_at_all() {
    let mut bench = Bench::up();
    bench.gpus = vec![1, 2];
    bench.monitor.read(bench.now, &facts(1).uuid);
    bench.settle();
    bench.pass(1);
    assert_eq!(bench.take()[0], "machine 1 2 |");
}

#[test]
fn a_driver_gone_mad_is_looked_at_once_a_second_and_no_more() {
    let mut bench = Bench::up();
    bench.mad = true;
    bench.monitor.rescan(bench.now);
    bench.settle();
    let before = bench.asked.len();
    bench.pass(60);
    let asked = (bench.asked.len() - before) / 60;
    assert!((1..=60).contains(&asked), "{asked} questions a second");
    assert!(
        bench
            .take()
            .iter()
            .any(|report| report.starts_with("machine")),
        "it is told at all"
    );
}

#[test]
fn an_event_is_passed_on_and_its_gpu_is_read() {
    let mut bench = Bench::up();
    bench.monitor.heard(bench.now, event(1, 8, 79));
    bench.settle();
    assert_eq!(bench.take(), ["event 79", "reading 1"]);
    bench.gpus = vec![0, 1];
    bench.monitor.heard(bench.now, event(2, 0x4000, 0));
    bench.settle();
    assert_eq!(
        bench.take()[..2],
        ["event 0", "machine 0 1 |"],
        "GPU unavailable: look at all"
    );
}

#[test]
fn lost_events_are_told_and_everything_is_read() {
    let mut bench = Bench::up();
    bench.monitor.heard(bench.now, FromChild::Missed);
    bench.settle();
    assert_eq!(
        bench.take(),
        ["missed", "reading 0", "reading 1", "reading 2"]
    );
}

#[test]
fn a_driver_that_cannot_count_is_broken() {
    let mut bench = Bench::new();
    bench.codes.insert(Lane::Library, 999);
    bench.settle();
    bench.pass(100);
    let detail = "code 999".to_owned();
    assert_eq!(
        bench.take(),
        [format!(
            "driver {:?}",
            DriverState::Broken { code: 999, detail }
        )]
    );
    bench.codes.clear();
    bench.pass(31);
    assert_eq!(bench.take()[..2], ["driver Ready", "machine 0 1 2 |"]);
}

#[test]
fn a_library_that_does_not_load_in_time_is_told_and_waited_for() {
    let mut bench = Bench::new();
    bench.hangs.insert(Lane::Library);
    bench.settle();
    bench.pass(20);
    let detail = "nvmlInit has not returned for 15 s".to_owned();
    assert_eq!(
        bench.take(),
        [format!("driver {:?}", DriverState::Unresponsive { detail })]
    );
    assert_eq!(bench.starts, 1);
    bench.hangs.clear();
    bench
        .monitor
        .heard(bench.now, FromChild::Opened(DriverState::Ready));
    bench.settle();
    assert_eq!(bench.take()[..2], ["driver Ready", "machine 0 1 2 |"]);
}

#[test]
fn an_idle_probe_wakes_up_seldom() {
    let mut bench = Bench::up();
    let mut wakes = 0;
    let end = bench.now + Duration::from_secs(600);
    while bench.monitor.wake().unwrap() < end {
        bench.now = bench.monitor.wake().unwrap();
        bench.monitor.tick(bench.now);
        bench.settle();
        wakes += 1;
    }
    assert!(wakes <= 600 / 5 + 600 / 60 + 1, "{wakes}");
}

#[test]
fn a_gpu_in_a_fabric_that_is_not_complete_is_looked_at_more_often() {
    let mut bench = Bench::up();
    let mut machine = bench.monitor.machine.clone().unwrap();
    machine.gpus[0].fabric = Some(gpu_model::FabricFacts {
        complete: false,
        state: "in progress".to_owned(),
        cluster: String::new(),
        clique: 0,
    });
    bench.monitor.round = Round::Levelling(machine, 3);
    bench.monitor.levels_done(bench.now, None);
    assert_eq!(bench.monitor.next_round, bench.now + SETTLING_POLL);
}
