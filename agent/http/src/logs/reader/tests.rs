//! Logs over rotations, to their end.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use agent_core::ContainerId;
use agent_loops::PodBoard;
use futures::StreamExt;
use tokio::sync::watch;

use super::*;
use crate::testing::{ended, pod, running};

/// A log folder, a board that shows its container, and a server that has not ended.
struct Logs {
    root: tempfile::TempDir,
    board: watch::Sender<Arc<PodBoard>>,
    close: watch::Sender<bool>,
}

type Pieces = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

impl Logs {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("ns_web_uid-web/main")).unwrap();
        let logs = Self {
            root,
            board: watch::Sender::default(),
            close: watch::Sender::new(false),
        };
        logs.shows(true);
        logs
    }

    fn shows(&self, runs: bool) {
        let main = if runs {
            running("main", "c1", 0)
        } else {
            ended("main", "c1", 0)
        };
        let web = pod("web", vec![main]);
        self.board
            .send_replace(Arc::new(PodBoard::from([(web.uid.clone(), web)])));
    }

    fn path(&self) -> PathBuf {
        self.root.path().join("ns_web_uid-web/main/0.log")
    }

    fn place(&self) -> LogPlace {
        let web = pod("web", Vec::new());
        LogPlace::new(
            self.root.path(),
            &web.name,
            &web.uid,
            &ContainerName::new("main"),
        )
        .unwrap()
    }

    async fn open(&self, options: &LogOptions) -> io::Result<Pieces> {
        let follow = options.follow.then(|| Subject {
            pod: pod("web", Vec::new()).uid.clone(),
            container: ContainerId::new("c1"),
            board: self.board.subscribe(),
            closing: self.close.subscribe(),
        });
        let reader = LogReader::open(self.place(), 0, options, follow).await?;
        Ok(Box::pin(reader.pieces()))
    }

    async fn all(&self, options: &LogOptions) -> String {
        rest(&mut self.open(options).await.unwrap()).await
    }

    fn write(&self, text: &str) {
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(self.path())
            .unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }
}

fn line(number: usize) -> String {
    format!(
        "2026-01-01T00:00:{:02}Z stdout F line {number}\n",
        number % 60
    )
}

async fn rest(pieces: &mut Pieces) -> String {
    let mut text = String::new();
    while let Some(piece) = pieces.next().await {
        text += std::str::from_utf8(&piece.unwrap()).unwrap();
    }
    text
}

/// Reads until there is `text`, at most so long as a broken test would hang.
async fn expect(pieces: &mut Pieces, text: &str) {
    let mut seen = String::new();
    let reading = async {
        while seen.len() < text.len() {
            let piece = pieces.next().await.expect("the log goes on").unwrap();
            seen += std::str::from_utf8(&piece).unwrap();
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(20), reading).await;
    assert!(
        in_time.is_ok() && seen == text,
        "{seen:?} instead of {text:?}"
    );
}

/// Lets the reader take in what has happened, which must bring nothing.
async fn quiet(pieces: &mut Pieces) {
    let piece = tokio::time::timeout(Duration::from_millis(100), pieces.next()).await;
    assert!(piece.is_err(), "{piece:?}");
}

fn follow() -> LogOptions {
    LogOptions {
        follow: true,
        ..LogOptions::default()
    }
}

#[tokio::test]
async fn a_whole_log_and_its_last_lines() {
    let logs = Logs::new();
    logs.write("2026-01-01T00:00:01Z stdout P a\n");
    logs.write("2026-01-01T00:00:02Z stdout F b\n");
    logs.write("garbage\n2026-01-01T00:00:03Zgarbage stdout F x\n");
    logs.write("2026-01-01T00:00:04Z stderr F c\n");
    logs.write("2026-01-01T00:00:05Z stdout F unfinished");
    let plain = LogOptions::default();
    let table = [
        (plain.clone(), "ab\nc\nunfinished"),
        (
            LogOptions {
                tail: Some(0),
                ..plain.clone()
            },
            "",
        ),
        // Lines of the file are counted, whatever they hold.
        (
            LogOptions {
                tail: Some(1),
                ..plain.clone()
            },
            "c\n",
        ),
        (
            LogOptions {
                tail: Some(4),
                ..plain.clone()
            },
            "b\nc\n",
        ),
        (
            LogOptions {
                tail: Some(99),
                ..plain.clone()
            },
            "ab\nc\nunfinished",
        ),
        (
            LogOptions {
                limit: Some(4),
                ..plain.clone()
            },
            "ab\nc",
        ),
        (
            LogOptions {
                tail: Some(1),
                limit: Some(1),
                ..plain.clone()
            },
            "c",
        ),
        (
            LogOptions {
                since: Some("2026-01-01T00:00:04Z".parse().unwrap()),
                ..plain
            },
            "c\nunfinished",
        ),
    ];
    for (options, expected) in table {
        assert_eq!(logs.all(&options).await, expected, "{options:?}");
    }
}

#[tokio::test]
async fn large_logs_come_in_pieces() {
    let logs = Logs::new();
    let count = 20_000;
    logs.write(&(0..count).map(line).collect::<String>());
    let mut pieces = logs.open(&LogOptions::default()).await.unwrap();
    let (mut text, mut number) = (String::new(), 0);
    while let Some(piece) = pieces.next().await {
        let piece = piece.unwrap();
        assert!(piece.len() < 2 * PIECE, "{}", piece.len());
        text += std::str::from_utf8(&piece).unwrap();
        number += 1;
    }
    assert!(number > 5, "{number}");
    assert_eq!(
        text,
        (0..count)
            .map(|number| format!("line {number}\n"))
            .collect::<String>()
    );
}

#[tokio::test]
async fn a_line_without_end_costs_only_itself() {
    let logs = Logs::new();
    logs.write(&line(1));
    logs.write(&format!(
        "2026-01-01T00:00:00Z stdout F {}\n",
        "x".repeat(3 << 20)
    ));
    logs.write(&line(2));
    assert_eq!(logs.all(&LogOptions::default()).await, "line 1\nline 2\n");
}

#[tokio::test]
async fn follows_until_the_container_has_ended() {
    let logs = Logs::new();
    logs.write(&line(1));
    let mut pieces = logs.open(&follow()).await.unwrap();
    expect(&mut pieces, "line 1\n").await;
    logs.write(&line(2));
    expect(&mut pieces, "line 2\n").await;
    // A line is shown when it is whole.
    let third = line(3);
    let (head, end) = third.split_at(30);
    logs.write(head);
    logs.write(end);
    expect(&mut pieces, "line 3\n").await;
    logs.write(&line(4));
    logs.shows(false);
    assert_eq!(rest(&mut pieces).await, "line 4\n");
}

#[tokio::test]
async fn follows_over_rotations_without_losing_a_line() {
    let logs = Logs::new();
    let folder = logs.path().parent().unwrap().to_owned();
    logs.write(&line(0));
    let mut pieces = logs.open(&follow()).await.unwrap();
    expect(&mut pieces, "line 0\n").await;
    for number in 1..4 {
        // As a runtime does it: renamed by the agent, still written to, then opened anew.
        let mut old = OpenOptions::new().append(true).open(logs.path()).unwrap();
        fs::rename(
            logs.path(),
            folder.join(format!("0.log.2026010{number}-000000")),
        )
        .unwrap();
        old.write_all(line(number * 10).as_bytes()).unwrap();
        expect(&mut pieces, &format!("line {}\n", number * 10)).await;
        File::create(logs.path()).unwrap();
        quiet(&mut pieces).await;
        old.write_all(line(number * 10 + 1).as_bytes()).unwrap();
        expect(&mut pieces, &format!("line {}\n", number * 10 + 1)).await;
        drop(old);
        logs.write(&line(number * 10 + 2));
        expect(&mut pieces, &format!("line {}\n", number * 10 + 2)).await;
    }
    logs.shows(false);
    assert_eq!(rest(&mut pieces).await, "");
}

#[tokio::test]
async fn an_end_right_after_a_rotation_loses_nothing() {
    let logs = Logs::new();
    logs.write(&line(0));
    let mut pieces = logs.open(&follow()).await.unwrap();
    expect(&mut pieces, "line 0\n").await;
    logs.write(&line(1));
    fs::rename(
        logs.path(),
        logs.path().with_extension("log.20260101-000000"),
    )
    .unwrap();
    logs.write(&line(2));
    logs.shows(false);
    assert_eq!(rest(&mut pieces).await, "line 1\nline 2\n");
}

#[tokio::test]
async fn following_ends_with_the_server_the_pod_and_the_limit() {
    let logs = Logs::new();
    logs.write(&line(0));
    for end in ["server", "pod", "board"] {
        let logs = Logs::new();
        logs.write(&line(0));
        let mut pieces = logs.open(&follow()).await.unwrap();
        expect(&mut pieces, "line 0\n").await;
        match end {
            "server" => drop(logs.close.send_replace(true)),
            "pod" => drop(logs.board.send_replace(Arc::default())),
            _ => drop(logs.board),
        }
        assert_eq!(rest(&mut pieces).await, "", "{end}");
    }
    let limited = LogOptions {
        limit: Some(9),
        ..follow()
    };
    let mut pieces = logs.open(&limited).await.unwrap();
    expect(&mut pieces, "line 0\n").await;
    logs.write(&line(1));
    assert_eq!(rest(&mut pieces).await, "li");
}

#[tokio::test]
async fn following_the_last_lines_goes_on_after_them() {
    let logs = Logs::new();
    logs.write(&(line(1) + &line(2)));
    let mut pieces = logs
        .open(&LogOptions {
            tail: Some(1),
            ..follow()
        })
        .await
        .unwrap();
    expect(&mut pieces, "line 2\n").await;
    logs.write(&(line(3) + &line(4)));
    expect(&mut pieces, "line 3\nline 4\n").await;
}

#[tokio::test]
async fn nothing_is_followed_out_of_the_folder() {
    let logs = Logs::new();
    let secret = logs.root.path().join("secret");
    fs::write(&secret, line(7)).unwrap();
    symlink(&secret, logs.path()).unwrap();
    assert!(logs.open(&LogOptions::default()).await.is_err(), "a link");
    fs::remove_file(logs.path()).unwrap();
    fs::create_dir(logs.path()).unwrap();
    assert!(logs.open(&LogOptions::default()).await.is_err(), "a folder");
    let folder = logs.path().parent().unwrap().to_owned();
    fs::remove_dir_all(&folder).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("0.log"), line(7)).unwrap();
    symlink(elsewhere.path(), &folder).unwrap();
    assert!(
        logs.open(&LogOptions::default()).await.is_err(),
        "a folder that is a link"
    );
}

#[test]
fn names_that_lead_elsewhere_have_no_logs() {
    let place = |namespace: &str, name: &str, uid: &str, container: &str| {
        let (pod, uid) = (PodName::new(namespace, name), PodUid::new(uid));
        LogPlace::new(
            Path::new("/logs"),
            &pod,
            &uid,
            &ContainerName::new(container),
        )
    };
    assert!(place("ns", "web", "uid", "main").is_some());
    for bad in ["..", ".", "", "a/b", "../../etc", "/etc"] {
        assert!(place("ns", "web", "uid", bad).is_none(), "{bad}");
    }
    for bad in ["../x", "a/b", "/"] {
        assert!(place(bad, "web", "uid", "main").is_none(), "{bad}");
        assert!(place("ns", bad, "uid", "main").is_none(), "{bad}");
        assert!(place("ns", "web", bad, "main").is_none(), "{bad}");
    }
}

#[tokio::test]
async fn the_instance_before() {
    let logs = Logs::new();
    let folder = logs.path().parent().unwrap().to_owned();
    for name in [
        "0.log",
        "3.log",
        "3.log.20260101-000000",
        "9.log",
        "x.log",
        "7.txt",
    ] {
        fs::write(folder.join(name), "").unwrap();
    }
    let place = logs.place();
    assert_eq!(place.newest_before(9).await, Some(3));
    assert_eq!(place.newest_before(3).await, Some(0));
    assert_eq!(place.newest_before(0).await, None);
}
