//! A small API server on loopback: TLS with client certificates or tokens, and certificate signing
//! requests that it decides as the test says.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response, header::AUTHORIZATION};
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, SanType,
};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// What becomes of the next certificate signing request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Verdict {
    /// Signed, valid from and until so many days from today.
    Sign(i64, i64),
    /// Signed when [`Api::approve`] is called.
    Later,
    Deny,
}

/// Valid, and not due for a renewal for weeks.
pub(super) const FRESH: Verdict = Verdict::Sign(-1, 365);
/// Valid, and past 90 % of its time.
pub(super) const DUE: Verdict = Verdict::Sign(-100, 5);

#[derive(Default)]
struct Book {
    verdicts: VecDeque<Verdict>,
    requests: BTreeMap<String, Value>,
}

pub(super) struct Api {
    pub(super) address: SocketAddr,
    issuer: CertifiedIssuer<'static, KeyPair>,
    book: Mutex<Book>,
    /// Requests that came, as `WHO METHOD PATH`; WHO is the CN and last hex digit pairs of the serial
    /// number of the certificate, the token, or `nobody`.
    pub(super) seen: watch::Sender<Vec<String>>,
    approvals: watch::Sender<u32>,
    connections: AtomicUsize,
}

impl Api {
    pub(super) async fn start(verdicts: &[Verdict]) -> Arc<Self> {
        Self::start_with(verdicts, &[]).await
    }

    /// The same, offering these protocols.
    pub(super) async fn start_with(verdicts: &[Verdict], protocols: &[&[u8]]) -> Arc<Self> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let this = Arc::new(Self {
            address: listener.local_addr().unwrap(),
            issuer,
            book: Mutex::new(Book {
                verdicts: verdicts.iter().copied().collect(),
                requests: BTreeMap::new(),
            }),
            seen: watch::Sender::default(),
            approvals: watch::Sender::default(),
            connections: AtomicUsize::new(0),
        });
        let acceptor = this.acceptor(protocols);
        let api = Arc::clone(&this);
        base_daemon::spawn("api", async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (api, acceptor) = (Arc::clone(&api), acceptor.clone());
                api.connections.fetch_add(1, Ordering::SeqCst);
                base_daemon::spawn("connection", async move {
                    let Ok(stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let peer = stream.get_ref().1.peer_certificates();
                    let peer = peer.and_then(|chain| chain.first()).map(|der| named(der));
                    let answer = service_fn(move |request| {
                        let (api, peer) = (Arc::clone(&api), peer.clone());
                        async move { Ok::<_, Infallible>(api.answer(peer, request).await) }
                    });
                    let _ = Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(stream), answer)
                        .await;
                });
            }
        });
        this
    }

    /// Connections so far.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    fn acceptor(&self, protocols: &[&[u8]]) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.subject_alt_names = vec![SanType::IpAddress(self.address.ip())];
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let mut roots = RootCertStore::empty();
        let authority: &rcgen::Certificate = self.issuer.as_ref();
        roots.add(authority.der().clone()).unwrap();
        let verifier = WebPkiClientVerifier::builder(Arc::new(roots))
            .allow_unauthenticated()
            .build()
            .unwrap();
        let chain = vec![certificate.der().clone()];
        let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
        let mut config = rustls::ServerConfig::builder()
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }

    /// Certificate of the authority, in PEM.
    pub(super) fn authority(&self) -> String {
        self.issuer.pem()
    }

    /// A client certificate and key in PEM, made without a request.
    pub(super) fn pair(&self, name: &str, from: i64, until: i64) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        valid(&mut params, from, until);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// Approves and signs what waits.
    pub(super) fn approve(&self) {
        let mut book = self.book.lock().unwrap();
        for request in book.requests.values_mut() {
            if request.get("status").is_none() {
                self.sign(request, -1, 365);
            }
        }
        self.approvals.send_modify(|count| *count += 1);
    }

    /// All requests so far.
    pub(super) fn requests(&self) -> Vec<Value> {
        self.book
            .lock()
            .unwrap()
            .requests
            .values()
            .cloned()
            .collect()
    }

    /// Waits until so many certificate signing requests were made.
    pub(super) async fn asked(&self, count: usize) {
        let create = format!(" POST {REQUESTS}");
        let made = |seen: &Vec<String>| seen.iter().filter(|each| each.ends_with(&create)).count();
        self.seen
            .subscribe()
            .wait_for(|seen| made(seen) >= count)
            .await
            .unwrap();
    }

    /// Who made the certificate signing requests.
    pub(super) fn askers(&self) -> Vec<String> {
        let seen = self.seen.borrow();
        let create = format!(" POST {REQUESTS}");
        seen.iter()
            .filter_map(|each| each.strip_suffix(&create))
            .map(|who| who.split('#').next().unwrap().to_owned())
            .collect()
    }

    async fn answer(
        self: Arc<Self>,
        peer: Option<String>,
        request: Request<Incoming>,
    ) -> Response<BoxBody<Bytes, Infallible>> {
        let token = request
            .headers()
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .map(|value| value.replace("Bearer ", "token:"));
        let who = peer.or(token).unwrap_or_else(|| "nobody".to_owned());
        let path = request.uri().path().to_owned();
        let query = request.uri().query().unwrap_or_default().to_owned();
        let method = request.method().clone();
        let body = request.into_body().collect().await.unwrap().to_bytes();
        self.seen
            .send_modify(|seen| seen.push(format!("{who} {method} {path}")));
        if path != REQUESTS {
            return whole(
                &json!({"major": "1", "minor": "37", "gitVersion": who, "gitCommit": "",
                "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": "", "platform": ""}),
            );
        }
        if who == "nobody" {
            let mut answer = whole(&json!({"kind": "Status", "status": "Failure", "code": 401,
                "reason": "Unauthorized", "message": "Unauthorized"}));
            *answer.status_mut() = http::StatusCode::UNAUTHORIZED;
            return answer;
        }
        if method == Method::POST {
            return whole(&self.create(&body));
        }
        let name = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("fieldSelector=metadata.name%3D"))
            .unwrap()
            .to_owned();
        if query.contains("watch=") {
            return self.watch(name).await;
        }
        let item = self.book.lock().unwrap().requests[&name].clone();
        whole(
            &json!({"kind": "CertificateSigningRequestList", "apiVersion": "certificates.k8s.io/v1",
            "metadata": {"resourceVersion": "1"}, "items": [item]}),
        )
    }

    fn create(&self, body: &[u8]) -> Value {
        let mut book = self.book.lock().unwrap();
        let mut request: Value = serde_json::from_slice(body).unwrap();
        let name = format!("csr-{}", book.requests.len());
        request["metadata"]["name"] = json!(name);
        request["metadata"]["resourceVersion"] = json!("1");
        match book.verdicts.pop_front().unwrap_or(FRESH) {
            Verdict::Sign(from, until) => self.sign(&mut request, from, until),
            Verdict::Later => {}
            Verdict::Deny => {
                request["status"] = json!({"conditions": [{"type": "Denied", "status": "True",
                    "reason": "Policy", "message": "not today"}]});
            }
        }
        book.requests.insert(name, request.clone());
        request
    }

    fn sign(&self, request: &mut Value, from: i64, until: i64) {
        let mut asked = asked(request);
        valid(&mut asked.params, from, until);
        let certificate = encode(asked.signed_by(&self.issuer).unwrap().pem().as_bytes());
        request["status"] = json!({"certificate": certificate,
            "conditions": [{"type": "Approved", "status": "True", "reason": "Test"}]});
    }

    /// The next state of one request, when it has one.
    async fn watch(self: Arc<Self>, name: String) -> Response<BoxBody<Bytes, Infallible>> {
        let event = async move {
            let mut approvals = self.approvals.subscribe();
            approvals.wait_for(|count| *count > 0).await.unwrap();
            let object = self.book.lock().unwrap().requests[&name].clone();
            let line = format!("{}\n", json!({"type": "MODIFIED", "object": object}));
            Ok(Frame::data(Bytes::from(line)))
        };
        let body = StreamBody::new(futures::stream::once(event));
        Response::new(BodyExt::boxed(body))
    }
}

/// The signing request inside the object.
pub(super) fn asked(request: &Value) -> CertificateSigningRequestParams {
    use base64::Engine;
    let text = request["spec"]["request"].as_str().unwrap();
    let pem = base64::engine::general_purpose::STANDARD
        .decode(text)
        .unwrap();
    CertificateSigningRequestParams::from_pem(&String::from_utf8(pem).unwrap()).unwrap()
}

pub(super) fn encode(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Sets the validity, in days from today.
fn valid(params: &mut CertificateParams, from: i64, until: i64) {
    let today = jiff::Timestamp::now()
        .to_zoned(jiff::tz::TimeZone::UTC)
        .date();
    let day = |offset: i64| {
        let date = today + jiff::Span::new().days(offset);
        rcgen::date_time_ymd(
            date.year().into(),
            date.month().unsigned_abs(),
            date.day().unsigned_abs(),
        )
    };
    params.not_before = day(from);
    params.not_after = day(until);
}

/// `CN#SERIAL` of a certificate.
fn named(der: &CertificateDer<'_>) -> String {
    let (_, certificate) = x509_parser::parse_x509_certificate(der).unwrap();
    let subject = certificate.subject();
    let name = subject.iter_common_name().next().unwrap();
    format!(
        "{}#{}",
        name.as_str().unwrap(),
        certificate.raw_serial_as_string()
    )
}

fn whole(value: &Value) -> Response<BoxBody<Bytes, Infallible>> {
    Response::new(BodyExt::boxed(Full::from(value.to_string())))
}
