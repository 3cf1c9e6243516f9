use super::*;

fn target<'a>(uid: Option<&'a str>, container: &'a str) -> Target<'a> {
    Target {
        namespace: "ns",
        pod: "pod",
        uid,
        container,
    }
}

#[test]
fn endpoint_of_every_path() {
    let table = [
        ("/healthz", Some(Endpoint::Healthz)),
        ("/healthz/ping", Some(Endpoint::HealthzCheck("ping"))),
        ("/pods", Some(Endpoint::Pods)),
        ("/pods/", Some(Endpoint::Pods)),
        ("/runningpods/", Some(Endpoint::RunningPods)),
        ("/runningpods", Some(Endpoint::RunningPods)),
        ("/configz", Some(Endpoint::Configz)),
        (
            "/containerLogs/ns/pod/c",
            Some(Endpoint::ContainerLogs(target(None, "c"))),
        ),
        ("/containerLogs/ns/pod/u/c", None),
        ("/exec/ns/pod/c", Some(Endpoint::Exec(target(None, "c")))),
        (
            "/exec/ns/pod/u/c",
            Some(Endpoint::Exec(target(Some("u"), "c"))),
        ),
        (
            "/attach/ns/pod/c",
            Some(Endpoint::Attach(target(None, "c"))),
        ),
        (
            "/attach/ns/pod/u/c",
            Some(Endpoint::Attach(target(Some("u"), "c"))),
        ),
        ("/run/ns/pod/c", Some(Endpoint::Run(target(None, "c")))),
        (
            "/run/ns/pod/u/c",
            Some(Endpoint::Run(target(Some("u"), "c"))),
        ),
        (
            "/portForward/ns/pod",
            Some(Endpoint::PortForward(target(None, ""))),
        ),
        (
            "/portForward/ns/pod/u",
            Some(Endpoint::PortForward(target(Some("u"), ""))),
        ),
        ("/portForward/ns/pod/u/c", None),
        ("/exec/ns/pod", None),
        ("/exec/ns//c", None),
        ("/exec//ns/pod/c", None),
        ("//pods", None),
        ("/", None),
        ("", None),
        ("*", None),
        ("/metrics", None),
        ("/stats/summary", None),
        ("/logs/", None),
        ("/checkpoint/ns/pod/c", None),
        ("/debug/pprof/", None),
        ("/pods/../configz", None),
    ];
    for (path, expected) in table {
        assert_eq!(Endpoint::find(path), expected, "{path}");
    }
}
