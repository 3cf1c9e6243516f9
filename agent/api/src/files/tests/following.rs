//! The task: every change of the folder arrives by events alone.

use std::fs;
use std::time::Duration;

use agent_loops::ports::SourceSnapshot;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{Place, pod, pods, problems};
use crate::files::{FileSourceSettings, follow_files};

/// Far above what an event needs, far below the period of the safety net.
const LIMIT: Duration = Duration::from_secs(20);

struct Follower {
    snapshots: watch::Receiver<Option<SourceSnapshot>>,
    task: JoinSet<()>,
}

impl Follower {
    fn start(settings: FileSourceSettings) -> Self {
        let (sender, snapshots) = watch::channel(None);
        let mut task = JoinSet::new();
        task.spawn(follow_files(settings, sender));
        Self { snapshots, task }
    }

    async fn until(&mut self, expected: &[&str]) -> SourceSnapshot {
        let arrived = self.snapshots.wait_for(|snapshot| {
            snapshot
                .as_ref()
                .is_some_and(|snapshot| pods(snapshot) == expected)
        });
        let snapshot = timeout(LIMIT, arrived)
            .await
            .unwrap_or_else(|_| panic!("no {expected:?}"));
        snapshot.unwrap().clone().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_of_changing_a_folder_is_noticed() {
    let place = Place::new();
    let mut follower = Follower::start(place.settings());
    follower.until(&[]).await;
    place.write("web.yaml", &pod("web", "x:1"));
    follower.until(&["web-n x:1"]).await;
    // As editors write: another file, renamed over the old one.
    fs::write(place.file(".web.new"), pod("web", "x:2")).unwrap();
    fs::rename(place.file(".web.new"), place.file("web.yaml")).unwrap();
    follower.until(&["web-n x:2"]).await;
    // A link to a file elsewhere.
    let aside = place.folder.path().join("db.yaml");
    fs::write(&aside, pod("db", "y:1")).unwrap();
    std::os::unix::fs::symlink(&aside, place.file("db.yaml")).unwrap();
    follower.until(&["db-n y:1", "web-n x:2"]).await;
    fs::remove_file(place.file("web.yaml")).unwrap();
    follower.until(&["db-n y:1"]).await;
    fs::rename(place.file("db.yaml"), place.folder.path().join("away")).unwrap();
    follower.until(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_comes_goes_and_is_replaced_is_followed() {
    let place = Place::new();
    fs::remove_dir(place.manifests()).unwrap();
    let mut follower = Follower::start(place.settings());
    follower.until(&[]).await;
    let prepared = place.folder.path().join("prepared");
    for image in ["x:1", "x:2"] {
        fs::create_dir(&prepared).unwrap();
        fs::write(prepared.join("web.yaml"), pod("web", image)).unwrap();
        fs::rename(&prepared, place.manifests()).unwrap();
        follower.until(&[&format!("web-n {image}")]).await;
        fs::remove_dir_all(place.manifests()).unwrap();
        follower.until(&[]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_is_recorded_for_the_next_start() {
    let place = Place::new();
    place.write("web.yaml", &pod("web", "x:1"));
    let mut follower = Follower::start(place.settings());
    follower.until(&["web-n x:1"]).await;
    // The record is written before the next change is looked at.
    place.write("db.yaml", &pod("db", "y:1"));
    follower.until(&["db-n y:1", "web-n x:1"]).await;
    follower.task.shutdown().await;
    place.write("web.yaml", "cut: [");
    let mut next = Follower::start(place.settings());
    let snapshot = next.until(&["db-n y:1", "web-n x:1"]).await;
    assert_eq!(problems(&snapshot)[0].2.as_deref(), Some("web-n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_task_ends_when_nobody_listens() {
    let place = Place::new();
    let mut follower = Follower::start(place.settings());
    follower.until(&[]).await;
    drop(follower.snapshots);
    timeout(LIMIT, follower.task.join_next())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_safety_net_alone_is_enough() {
    let place = Place::new();
    // A folder that is reached through a link gives no events for a swap of the link further up.
    let real = place.folder.path().join("deep/er");
    fs::create_dir_all(&real).unwrap();
    std::os::unix::fs::symlink("deep", place.folder.path().join("link")).unwrap();
    let mut settings = place.settings();
    settings.path = place.folder.path().join("link/er");
    settings.period = Duration::from_millis(20);
    let mut follower = Follower::start(settings);
    follower.until(&[]).await;
    fs::create_dir_all(place.folder.path().join("other/er")).unwrap();
    fs::write(
        place.folder.path().join("other/er/web.yaml"),
        pod("web", "x:1"),
    )
    .unwrap();
    fs::remove_file(place.folder.path().join("link")).unwrap();
    std::os::unix::fs::symlink("other", place.folder.path().join("link")).unwrap();
    follower.until(&["web-n x:1"]).await;
}
