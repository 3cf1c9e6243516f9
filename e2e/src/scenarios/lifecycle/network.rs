//! Host ports, host network and the resolver's file by DNS policy.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use e2e::{NODE_ADDRESS, Node, STAY, container, full_name, pod, until};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::scenarios::{POD_LIMIT, gone, running};

const HOST_PORT: u16 = 8081;

pub(super) async fn check(node: &Node) -> Result<()> {
    let (port, network, dns) = tokio::join!(host_port(node), host_network(node), dns(node));
    port?;
    network?;
    dns
}

async fn host_port(node: &Node) -> Result<()> {
    let more = json!({ "ports": [{ "containerPort": 80, "hostPort": HOST_PORT }] });
    let main = container(
        "main",
        "echo hello > /www/index.html; exec httpd -f -p 80 -h /www",
        more,
    );
    node.agent
        .apply("web", &pod("web", json!({ "containers": [main] })))?;
    running(node, "web").await?;
    let pod: SocketAddr = format!("{}:80", node.cri().pod_ip(&full_name("web")).await?).parse()?;
    let outside: SocketAddr = format!("{NODE_ADDRESS}:{HOST_PORT}").parse()?;
    for address in [pod, outside, ([127, 0, 0, 1], HOST_PORT).into()] {
        until(
            &format!("an answer from {address}"),
            POD_LIMIT,
            async || {
                let answer = get(node, address).await?;
                ensure!(answer.ends_with("hello\n"), "{answer}");
                Ok(())
            },
        )
        .await?;
    }
    node.agent.remove("web")?;
    gone(node, "web").await?;
    ensure!(
        get(node, outside).await.is_err(),
        "the host port answers after the pod's end"
    );
    Ok(())
}

async fn get(node: &Node, address: SocketAddr) -> Result<String> {
    let mut stream = node.containerd.how().netns.connect(address).await?;
    stream
        .write_all(b"GET /index.html HTTP/1.0\r\n\r\n")
        .await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

async fn host_network(node: &Node) -> Result<()> {
    let spec = json!({ "hostNetwork": true, "containers": [container("main", STAY, json!({}))] });
    node.agent.apply("hostnet", &pod("hostnet", spec))?;
    let id = running(node, "hostnet").await?;
    let links = node.cri().shell(&id, "ip addr show uplink").await?;
    ensure!(links.contains(NODE_ADDRESS), "{links}");
    // Such a pod has the machine's own name, as it has its network.
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname")?;
    ensure!(node.cri().shell(&id, "hostname").await? == own);
    let pod = node.agent.api()?.pod("hostnet").await?;
    ensure!(pod.ips == [NODE_ADDRESS], "{pod:?}");
    node.agent.remove("hostnet")
}

async fn dns(node: &Node) -> Result<()> {
    let own = json!({
        "nameservers": ["192.0.2.53"], "searches": ["example.test"],
        "options": [{ "name": "ndots", "value": "2" }],
    });
    let policies = [
        ("dns-cluster", json!({}), "nameserver 10.96.0.10"),
        (
            "dns-search",
            json!({}),
            "search default.svc.cluster.local svc.cluster.local cluster.local",
        ),
        (
            "dns-none",
            json!({ "dnsPolicy": "None", "dnsConfig": own }),
            "options ndots:2",
        ),
        (
            "dns-own",
            json!({ "dnsPolicy": "None", "dnsConfig": own }),
            "nameserver 192.0.2.53",
        ),
    ];
    for (name, mut spec, expected) in policies {
        spec["containers"] = json!([container("main", STAY, json!({}))]);
        node.agent.apply(name, &pod(name, spec))?;
        let id = running(node, name).await?;
        let file = node.cri().shell(&id, "cat /etc/resolv.conf").await?;
        ensure!(
            file.lines()
                .any(|line| line.trim_end().starts_with(expected)),
            "{name}: {file}"
        );
        node.agent.remove(name)?;
    }
    Ok(())
}
