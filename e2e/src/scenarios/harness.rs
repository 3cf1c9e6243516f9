//! The test bed tests itself: a pod through bare CRI on each containerd, calls counted, delayed, failed and hung by the
//! proxy, an event stream cut, nothing left behind, and a leak found when there is one.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::{Bare, Fault, Node, Runtime, Setup, Spec, openable, until};
use proto::cri::{GetEventsRequest, ListContainersRequest, VersionRequest};
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use serde_json::json;
use tonic::Code;

/// As the CDI document of `give_device` names it.
const DEVICE: &str = "e2e.test/gpu=0";
const SECOND: Duration = Duration::from_secs(1);

pub(super) async fn run() -> Result<()> {
    for runtime in [Runtime::V2, Runtime::V1_7] {
        one(runtime)
            .await
            .with_context(|| format!("containerd {}", runtime.name()))?;
    }
    leak_is_found().await
}

async fn one(runtime: Runtime) -> Result<()> {
    let node = Node::start(Setup {
        runtime,
        ..Setup::plain()?
    })
    .await?;
    let series = if runtime == Runtime::V2 { "2." } else { "1.7" };
    ensure!(
        node.cri()
            .version()
            .await?
            .trim_start_matches('v')
            .starts_with(series)
    );
    give_device(&node)?;
    let mut bare = Bare::connect(node.proxy.socket(), node.footprint())?;
    let id = bare.start("first", &[DEVICE]).await?.container;
    let calls = node.proxy.take_calls();
    ensure!(
        calls.values().sum::<u64>() == 3,
        "three calls make a pod, not {calls:?}"
    );
    let seen = node.cri().seen().await?;
    ensure!(
        seen.len() == 1 && seen[0].running && seen[0].pid > 0,
        "{seen:?}"
    );

    let spec = Spec::read(&node.containerd.how().state(), &id)?;
    ensure!(spec.variable("PATH").as_deref() == Some("/bin"));
    ensure!(spec.allowed_minors(195) == [0] && spec.devices() == [PathBuf::from("/dev/nvidia0")]);
    let open = openable(node.cri(), &id, 2).await?;
    ensure!(
        open == BTreeSet::from([0]),
        "device 0 of 2 was given, but {open:?} open"
    );
    let address = node.cri().pod_ip("first").await?;
    ensure!(
        address.starts_with("10.88."),
        "the pod's address is {address}"
    );

    faults(&node, &mut bare).await?;
    node.finish().await
}

/// A fake device node under NVIDIA's major number, and a CDI document that names it.
fn give_device(node: &Node) -> Result<()> {
    let path = node.scratch("dev")?.join("nvidia0");
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, &path, FileType::CharacterDevice, mode, makedev(195, 0))?;
    let edits = json!({ "deviceNodes": [{ "path": "/dev/nvidia0", "hostPath": path }] });
    let devices = json!([{ "name": "0", "containerEdits": edits }]);
    let document = json!({ "cdiVersion": "0.6.0", "kind": "e2e.test/gpu", "devices": devices });
    let file = node.containerd.how().cdi_folder().join("e2e.test-gpu.json");
    Ok(std::fs::write(file, document.to_string())?)
}

async fn faults(node: &Node, bare: &mut Bare) -> Result<()> {
    let client = &mut bare.client.clone();
    node.proxy
        .set_fault("ListContainers", Fault::Fail(Code::ResourceExhausted));
    let refused = client
        .list_containers(ListContainersRequest::default())
        .await;
    ensure!(refused.is_err_and(|status| status.code() == Code::ResourceExhausted));

    node.proxy
        .set_fault("ListContainers", Fault::Delay(SECOND / 2));
    let begin = Instant::now();
    client
        .list_containers(ListContainersRequest::default())
        .await?;
    ensure!(begin.elapsed() >= SECOND / 2);

    node.proxy.set_fault("ListContainers", Fault::Hang);
    let mut other = client.clone();
    let hung = other.list_containers(ListContainersRequest::default());
    let meanwhile = async {
        until("the hung call's arrival", SECOND, async || {
            let calls = node.proxy.calls();
            ensure!(calls.get("ListContainers") == Some(&3), "{calls:?}");
            Ok(())
        })
        .await?;
        // Other methods pass while one hangs.
        client.version(VersionRequest::default()).await?;
        node.proxy.heal();
        anyhow::Ok(())
    };
    let (hung, meanwhile) = tokio::join!(hung, meanwhile);
    meanwhile?;
    ensure!(hung.is_err(), "a hung call was answered");

    let mut events = client
        .get_container_events(GetEventsRequest {})
        .await?
        .into_inner();
    bare.start("second", &[]).await?;
    let first = tokio::time::timeout(SECOND, events.message()).await??;
    ensure!(first.is_some(), "the new pod made no event");
    node.proxy.cut();
    let cut = tokio::time::timeout(SECOND, async {
        while events.message().await?.is_some() {}
        Ok::<_, tonic::Status>(())
    });
    ensure!(
        cut.await?.is_err(),
        "the stream ended as if it were complete"
    );
    Ok(())
}

/// A mount that nobody takes away: `finish` must say so, and the node's drop must take it away.
async fn leak_is_found() -> Result<()> {
    let node = Node::start(Setup::plain()?).await?;
    let footprint = node.footprint().clone();
    let leak = node.scratch("leak")?;
    rustix::mount::mount(
        c"leak",
        &leak,
        c"tmpfs",
        rustix::mount::MountFlags::empty(),
        None,
    )?;
    let report = node
        .finish()
        .await
        .err()
        .context("the leak was not found")?
        .to_string();
    ensure!(
        report.contains(&format!("mount {}", leak.display())),
        "{report}"
    );
    let left = footprint.traces();
    ensure!(left.is_empty(), "{left:?}");
    Ok(())
}
