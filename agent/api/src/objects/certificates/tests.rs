#![allow(clippy::unwrap_used)]

use agent_core::{FailKind, PodUid};
use http::Method;
use serde_json::{Value, json};

use super::*;
use crate::objects::kinds;
use crate::testing::{FakeApi, failure};

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/namespaces/shop/podcertificaterequests";
const GROUP: &str = "/apis/certificates.k8s.io/v1";
const START: Duration = Duration::from_secs(1_800_000_000);

struct Bench {
    api: FakeApi,
    with: CertificateSource,
    pod: PodFacts,
    kept: Certificates,
}

impl Bench {
    fn new() -> Self {
        let api = FakeApi::new();
        let named = |name: &str, uid: &str| json!({"metadata": {"name": name, "uid": uid}});
        api.put("/api/v1/nodes", named("node-1", "n-1"));
        api.put(
            "/api/v1/namespaces/shop/serviceaccounts",
            named("cashier", "a-1"),
        );
        let resource = json!({
            "name": "podcertificaterequests", "namespaced": true, "kind": "PodCertificateRequest",
            "singularName": "", "verbs": [],
        });
        let group = json!({"groupVersion": "certificates.k8s.io/v1", "resources": [resource]});
        api.always(Method::GET, GROUP, move |_| (200, group.clone()));
        let mut count = 0;
        api.always(Method::POST, REQUESTS, move |asked| {
            count += 1;
            let mut created = asked.body.clone();
            created["metadata"]["name"] = json!(format!("req-{count}"));
            created["metadata"]["namespace"] = json!("shop");
            (201, created)
        });
        let changes = Arc::new(Changes::default());
        let uid = PodUid::new("u-1");
        changes.begin(&uid);
        let version = Arc::default();
        let kind = kinds::certificate_requests(&api.client(), Arc::clone(&version));
        let with = CertificateSource {
            client: api.client(),
            clock: Clock::showing(Time::default().plus(START)),
            requests: Arc::new(Follows::new(kind, Arc::clone(&changes))),
            changes,
            version,
            node: Arc::from("node-1"),
        };
        with.requests.refer(&with.query(), &uid);
        let pod = PodFacts {
            uid,
            namespace: Arc::from("shop"),
            name: Arc::from("web"),
            account: "cashier".into(),
        };
        Self {
            api,
            with,
            pod,
            kept: Certificates::default(),
        }
    }

    async fn ask(&self) -> (Result<Arc<PodCertificate>, Fail>, Option<Time>) {
        let source = ProjectedSource {
            volume: "p".into(),
            index: 0,
        };
        let ask = PodCertificateProjection {
            key_type: "ED25519".into(),
            signer_name: "example.com/s".into(),
            max_expiration_seconds: Some(3600),
            user_annotations: Some([("example.com/a".to_owned(), "b".to_owned())].into()),
            ..PodCertificateProjection::default()
        };
        self.kept
            .certificate(&source, &ask, &self.pod, &self.with)
            .await
    }

    /// The signer answers a request.
    fn decide(&self, name: &str, status: Value) {
        let spec = json!({"nodeName": "node-1", "podUID": "u-1"});
        let object = json!({"metadata": {"name": name}, "spec": spec, "status": status});
        self.api.put(REQUESTS, object);
    }

    fn issue(&self, name: &str, content: &str, refresh_in: u64) {
        let begin = START + Duration::from_secs(refresh_in);
        let begin = jiff::Timestamp::from_second(begin.as_secs().cast_signed()).unwrap();
        self.decide(
            name,
            json!({
                "conditions": [{"type": "Issued"}],
                "certificateChain": format!("noise\n{}", chain(content)),
                "beginRefreshAt": begin.to_string(),
            }),
        );
    }

    async fn touched(&self, since: u64) -> u64 {
        let mut changes = self.with.changes.subscribe();
        let touched = changes.wait_for(|changes| !changes.after(since).is_empty());
        touched.await.unwrap().generation
    }
}

fn chain(content: &str) -> String {
    crate::objects::trust::certificates([content.as_bytes().to_vec()])
}

#[tokio::test(start_paused = true)]
async fn a_request_says_who_asks_and_its_answer_is_news() {
    let bench = Bench::new();
    let (pending, _) = bench.ask().await;
    let pending = pending.unwrap_err();
    assert_eq!(pending.kind, FailKind::Retry);
    assert_eq!(pending.message, "credential bundle is not issued yet");
    bench.api.wait_asked(REQUESTS, 1).await;
    let asked = &bench.api.asked(REQUESTS)[0].body;
    let spec = &asked["spec"];
    for (field, value) in [
        ("signerName", "example.com/s"),
        ("podName", "web"),
        ("podUID", "u-1"),
        ("serviceAccountName", "cashier"),
        ("serviceAccountUID", "a-1"),
        ("nodeName", "node-1"),
        ("nodeUID", "n-1"),
    ] {
        assert_eq!(spec[field], value, "{field}");
    }
    assert_eq!(spec["maxExpirationSeconds"], 3600);
    assert_eq!(spec["unverifiedUserAnnotations"]["example.com/a"], "b");
    assert!(
        spec["stubPKCS10Request"]
            .as_str()
            .is_some_and(|text| !text.is_empty())
    );
    assert_eq!(asked["metadata"]["generateName"], "req-");
    assert_eq!(asked["metadata"]["ownerReferences"][0]["uid"], "u-1");
    assert_eq!(asked["kind"], "PodCertificateRequest");

    bench.issue("req-1", "leaf", 1800);
    bench.touched(0).await;
    let (certificate, next) = bench.ask().await;
    let certificate = certificate.unwrap();
    assert_eq!(certificate.chain, chain("leaf"));
    assert!(certificate.key.starts_with("-----BEGIN PRIVATE KEY-----"));
    assert!(!format!("{certificate:?}").contains("BEGIN"));
    let begin = Time::default().plus(START + Duration::from_secs(1800));
    let next = next.unwrap();
    assert!(next >= begin && next.since(begin) <= LATER);
}

#[tokio::test(start_paused = true)]
async fn a_renewal_replaces_key_and_chain_when_it_is_issued_and_not_before() {
    let bench = Bench::new();
    let _ = bench.ask().await;
    bench.api.wait_asked(REQUESTS, 1).await;
    bench.issue("req-1", "leaf", 1800);
    let since = bench.touched(0).await;
    let (old, _) = bench.ask().await;
    bench.api.wait_asked(REQUESTS, 2).await;
    let (same, _) = bench.ask().await;
    assert_eq!(same.unwrap(), old.clone().unwrap());
    bench.issue("req-2", "newer", 9000);
    bench.touched(since).await;
    let new = bench.ask().await.0.unwrap();
    assert_eq!(new.chain, chain("newer"));
    assert_ne!(new.key, old.unwrap().key);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_for_good() {
    for (condition, verb) in [("Denied", "denied"), ("Failed", "failed")] {
        let bench = Bench::new();
        let _ = bench.ask().await;
        bench.api.wait_asked(REQUESTS, 1).await;
        let why = json!({"type": condition, "reason": "Nope", "message": "not you"});
        bench.decide("req-1", json!({"conditions": [why]}));
        bench.touched(0).await;
        let refused = bench.ask().await.0.unwrap_err();
        assert_eq!(refused.kind, FailKind::Permanent);
        let text = "reason=\"Nope\" message=\"not you\"";
        let text = format!("PodCertificateRequest was permanently {verb}: {text}");
        assert_eq!(refused.message, text);
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(bench.api.asked(REQUESTS).len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_vanishes_is_made_again() {
    let bench = Bench::new();
    let _ = bench.ask().await;
    bench.api.wait_asked(REQUESTS, 2).await;
    bench.issue("req-2", "leaf", 1800);
    bench.touched(0).await;
    assert!(bench.ask().await.0.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_older_server_is_asked_in_its_version() {
    const OLDER: &str = "/apis/certificates.k8s.io/v1beta1/namespaces/shop/podcertificaterequests";
    let bench = Bench::new();
    bench
        .api
        .once(Method::GET, GROUP, 404, failure(404, "not here"));
    bench
        .api
        .once(Method::GET, GROUP, 404, failure(404, "not here"));
    let resources = json!([{"name": "podcertificaterequests", "namespaced": true, "singularName": "",
        "kind": "PodCertificateRequest", "verbs": []}]);
    let group = json!({"groupVersion": "certificates.k8s.io/v1beta1", "resources": resources});
    let path = "/apis/certificates.k8s.io/v1beta1";
    bench
        .api
        .always(Method::GET, path, move |_| (200, group.clone()));
    let _ = bench.ask().await;
    bench.api.wait_asked(OLDER, 1).await;
    assert_eq!(
        bench.api.asked(OLDER)[0].body["apiVersion"],
        "certificates.k8s.io/v1beta1"
    );
}
