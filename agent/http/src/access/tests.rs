//! Who gets in, over every path and method.

use agent_loops::ports::Identity;
use http::StatusCode;

use crate::server::AccessMode;
use crate::testing::{Authority, Client, Site};

/// Every kind of path there is, those that are served and those that are not.
const PATHS: [(&str, &[&str]); 24] = [
    ("/healthz", &["healthz", "proxy"]),
    ("/healthz/ping", &["healthz", "proxy"]),
    ("/healthz/nothing", &["healthz", "proxy"]),
    ("/pods", &["pods", "proxy"]),
    ("/runningpods/", &["pods", "proxy"]),
    ("/configz", &["configz", "proxy"]),
    ("/containerLogs/ns/web/main", &["proxy"]),
    ("/exec/ns/web/main", &["proxy"]),
    ("/exec/ns/web/uid-web/main", &["proxy"]),
    ("/attach/ns/web/main", &["proxy"]),
    ("/portForward/ns/web", &["proxy"]),
    ("/run/ns/web/main?cmd=id", &["proxy"]),
    ("/metrics", &["metrics"]),
    ("/metrics/cadvisor", &["metrics"]),
    ("/stats/summary", &["stats"]),
    ("/logs/syslog", &["log"]),
    ("/checkpoint/ns/web/main", &["checkpoint"]),
    ("/statusz", &["statusz"]),
    ("/flagz", &["configz"]),
    ("/debug/pprof/heap", &["proxy"]),
    ("/", &["proxy"]),
    ("/nowhere", &["proxy"]),
    ("//pods", &["proxy"]),
    ("/pods/../exec/ns/web/main", &["pods", "proxy"]),
];

const METHODS: [(&str, &str); 7] = [
    ("GET", "get"),
    ("POST", "create"),
    ("PUT", "update"),
    ("PATCH", "patch"),
    ("DELETE", "delete"),
    ("HEAD", ""),
    ("OPTIONS", ""),
];

#[tokio::test]
async fn nothing_is_answered_to_strangers() {
    let site = Site::start().await;
    let other = Authority::new();
    let shown = [
        None,
        Some(other.client("admin", Some("system:masters"))),
        Some(site.authority.expired_client("admin")),
        Some(site.authority.server_only("admin")),
        Some(site.authority.client("", Some("system:masters"))),
    ];
    site.access.allow_all("admin");
    for (number, shown) in shown.iter().enumerate() {
        let mut client = Client::connect(site.address, &site.authority, shown.as_ref()).await;
        for (path, _) in PATHS {
            for (method, _) in METHODS {
                let reply = client.ask(method, path, &[]).await;
                assert_eq!(
                    reply.status,
                    StatusCode::UNAUTHORIZED,
                    "{number} {method} {path}"
                );
                if method != "HEAD" {
                    assert_eq!(reply.body, "Unauthorized");
                }
            }
        }
    }
    assert_eq!(site.access.asked(), [], "nobody was authenticated");
    assert_eq!(*site.runtime.ran.lock().unwrap(), [""; 0]);
}

#[tokio::test]
async fn nothing_is_answered_to_those_who_may_not() {
    let site = Site::start().await;
    let mut client = site.client("guest", Some("guests")).await;
    for (path, subresources) in PATHS {
        for (method, verb) in METHODS {
            let reply = client.ask(method, path, &[]).await;
            assert_eq!(reply.status, StatusCode::FORBIDDEN, "{method} {path}");
            if method != "HEAD" {
                let expected = format!(
                    "Forbidden (user=guest, verb={verb}, resource=nodes, subresource(s)=[{}])\n",
                    subresources.join(" ")
                );
                assert_eq!(reply.body, expected, "{method} {path}");
            }
            let asked: Vec<_> = site.access.asked();
            let asks: Vec<_> = asked
                .iter()
                .map(|(_, ask)| (ask.verb, ask.subresource))
                .collect();
            let expected: Vec<_> = subresources.iter().map(|each| (verb, *each)).collect();
            assert_eq!(asks, expected, "{method} {path}");
            let groups = vec!["guests".to_owned(), "system:authenticated".to_owned()];
            assert!(
                asked.iter().all(|(who, _)| who.groups == groups),
                "{asked:?}"
            );
        }
    }
    assert_eq!(*site.streaming.asked.lock().unwrap(), [""; 0]);
    assert_eq!(*site.runtime.ran.lock().unwrap(), [""; 0]);
}

/// Each right opens what it is for and nothing else.
#[tokio::test]
async fn one_right_opens_its_own_paths() {
    let site = Site::start().await;
    let rights = [
        "pods",
        "healthz",
        "configz",
        "stats",
        "metrics",
        "log",
        "checkpoint",
        "statusz",
        "proxy",
    ];
    for right in rights {
        let name = format!("only-{right}");
        site.access.allow(&name, "get", right);
        let mut client = site.client(&name, None).await;
        for (path, subresources) in PATHS {
            for method in ["GET", "POST"] {
                let reply = client.ask(method, path, &[]).await;
                let open = method == "GET" && subresources.contains(&right);
                let refused = reply.status == StatusCode::FORBIDDEN;
                assert_eq!(open, !refused, "{right}: {method} {path}: {}", reply.status);
            }
        }
    }
}

#[tokio::test]
async fn the_finer_right_is_asked_first() {
    let site = Site::start().await;
    site.access.allow("watcher", "get", "pods");
    site.access.allow("watcher", "get", "proxy");
    let mut client = site.client("watcher", None).await;
    assert_eq!(client.get("/pods").await.status, StatusCode::OK);
    let asked = site.access.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0].1.subresource, "pods");
}

#[tokio::test]
async fn tokens_and_their_absence() {
    for anonymous in [false, true] {
        let site = Site::with(|settings| settings.anonymous = anonymous).await;
        site.access.token("good", "robot");
        site.access.allow("robot", "get", "pods");
        site.access.allow("system:anonymous", "get", "healthz");
        let mut client = site.nobody().await;
        let open = |status| {
            if anonymous {
                status
            } else {
                StatusCode::UNAUTHORIZED
            }
        };
        let table = [
            (Some("Bearer good"), "/pods", StatusCode::OK),
            (Some("bearer good"), "/pods", StatusCode::OK),
            (Some("Bearer good"), "/configz", StatusCode::FORBIDDEN),
            // A token that is not valid is nobody's, not anonymous.
            (Some("Bearer bad"), "/healthz", StatusCode::UNAUTHORIZED),
            (Some("Bearer broken"), "/healthz", StatusCode::UNAUTHORIZED),
            (Some("Basic good"), "/healthz", open(StatusCode::OK)),
            (Some("Bearer"), "/healthz", open(StatusCode::OK)),
            (None, "/healthz", open(StatusCode::OK)),
            (None, "/pods", open(StatusCode::FORBIDDEN)),
            (None, "/nowhere", open(StatusCode::FORBIDDEN)),
        ];
        for (token, path, expected) in table {
            let headers: Vec<_> = token
                .iter()
                .map(|token| ("authorization", *token))
                .collect();
            let reply = client.ask("GET", path, &headers).await;
            assert_eq!(
                reply.status, expected,
                "anonymous {anonymous}: {token:?} {path}"
            );
        }
        let anonymous = Identity {
            name: "system:anonymous".to_owned(),
            groups: vec!["system:unauthenticated".to_owned()],
            ..Identity::default()
        };
        for (who, _) in site.access.asked() {
            let known =
                who == anonymous || (who.name == "robot" && who.groups == ["system:authenticated"]);
            assert!(known, "{who:?}");
        }
    }
}

#[tokio::test]
async fn a_bad_certificate_is_not_nobody() {
    let site = Site::with(|settings| settings.anonymous = true).await;
    site.access.token("good", "robot");
    site.access.allow_all("robot");
    site.access.allow_all("system:anonymous");
    let other = Authority::new().client("admin", None);
    let mut client = Client::connect(site.address, &site.authority, Some(&other)).await;
    assert_eq!(client.get("/pods").await.status, StatusCode::UNAUTHORIZED);
    let reply = client
        .ask("GET", "/pods", &[("authorization", "Bearer good")])
        .await;
    assert_eq!(
        reply.status,
        StatusCode::OK,
        "a token still shows who it is"
    );
}

#[tokio::test]
async fn a_review_that_fails_opens_nothing() {
    let site = Site::start().await;
    let mut client = site.client("broken", None).await;
    let reply = client.get("/pods").await;
    assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
    let expected = "Authorization error (user=broken, verb=get, resource=nodes, subresource=pods)";
    assert_eq!(reply.body, expected);
}

#[tokio::test]
async fn always_allow_asks_who_but_not_whether() {
    let site = Site::with(|settings| settings.authorization = AccessMode::AlwaysAllow).await;
    assert_eq!(
        site.nobody().await.get("/pods").await.status,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        site.client("guest", None).await.get("/pods").await.status,
        StatusCode::OK
    );
    assert_eq!(site.access.asked(), []);
}

#[tokio::test]
async fn without_authorities_certificates_mean_nothing() {
    let site = Site::with(|settings| settings.client_ca = None).await;
    assert_eq!(
        site.admin().await.get("/pods").await.status,
        StatusCode::UNAUTHORIZED
    );
}
