use super::*;

#[test]
fn subresource_of_every_path() {
    let table: [(&str, &[&str]); 30] = [
        ("/", &["proxy"]),
        ("", &["proxy"]),
        ("*", &["proxy"]),
        ("/pods", &["pods", "proxy"]),
        ("/pods/", &["pods", "proxy"]),
        ("/podsx", &["proxy"]),
        ("//pods", &["proxy"]),
        ("/p%6fds", &["proxy"]),
        ("/PODS", &["proxy"]),
        ("/allocatedPods/a/b", &["pods", "proxy"]),
        ("/runningpods/", &["pods", "proxy"]),
        ("/runningpods", &["pods", "proxy"]),
        ("/healthz", &["healthz", "proxy"]),
        ("/healthz/syncloop", &["healthz", "proxy"]),
        ("/configz", &["configz", "proxy"]),
        ("/stats/summary", &["stats"]),
        ("/metrics", &["metrics"]),
        ("/metrics/cadvisor", &["metrics"]),
        ("/logs/", &["log"]),
        ("/logs/messages", &["log"]),
        ("/checkpoint/a/b/c", &["checkpoint"]),
        ("/statusz", &["statusz"]),
        ("/flagz", &["configz"]),
        ("/containerLogs/a/b/c", &["proxy"]),
        ("/exec/a/b/c", &["proxy"]),
        ("/attach/a/b/c", &["proxy"]),
        ("/portForward/a/b", &["proxy"]),
        ("/run/a/b/c", &["proxy"]),
        ("/debug/pprof/heap", &["proxy"]),
        ("/nowhere", &["proxy"]),
    ];
    for (path, expected) in table {
        assert_eq!(subresources(path), expected, "{path}");
    }
}

#[test]
fn verb_of_every_method() {
    let table = [
        ("GET", "get"),
        ("POST", "create"),
        ("PUT", "update"),
        ("PATCH", "patch"),
        ("DELETE", "delete"),
        ("HEAD", ""),
        ("OPTIONS", ""),
        ("TRACE", ""),
        ("CONNECT", ""),
        ("get", ""),
        ("BREW", ""),
    ];
    for (method, expected) in table {
        assert_eq!(verb(&method.parse().unwrap()), expected, "{method}");
    }
}
