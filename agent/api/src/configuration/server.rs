//! The servers of the kubelet and who may ask them.

use super::duration::GoDuration;
use super::field::group;

group! {
    /// HTTPS server, health server and handlers.
    pub struct Server {
        /// Serve HTTPS.
        enable_server: bool = "enableServer" (true),
        /// Address to serve on.
        address: String = "address" ("0.0.0.0".to_owned(), zero),
        /// Port to serve on.
        port: i32 = "port" (10250, zero),
        /// Port without authentication; 0: none.
        read_only_port: i32 = "readOnlyPort" (0),
        /// Certificate file; empty: a self-signed one.
        tls_cert_file: String = "tlsCertFile" (String::new()),
        /// Key file.
        tls_private_key_file: String = "tlsPrivateKeyFile" (String::new()),
        /// Names of Go's cipher suites; empty: the library's choice.
        tls_cipher_suites: Vec<String> = "tlsCipherSuites" (Vec::new()),
        /// Numbers of Go's curve identifiers; empty: the library's choice.
        tls_curve_preferences: Vec<i32> = "tlsCurvePreferences" (Vec::new()),
        /// `VersionTLS12` or `VersionTLS13`; empty: 1.2.
        tls_min_version: String = "tlsMinVersion" (String::new()),
        /// Ask the control plane for the certificate.
        server_tls_bootstrap: bool = "serverTLSBootstrap" (false),
        /// Who asks.
        authentication: Authentication = "authentication" (Authentication::default()),
        /// What they may do.
        authorization: Authorization = "authorization" (Authorization::default()),
        /// Has no effect any more.
        streaming_connection_idle_timeout: GoDuration =
            "streamingConnectionIdleTimeout" (GoDuration::seconds(4 * 3600), zero),
        /// Logs, exec, attach, port-forward.
        enable_debugging_handlers: bool = "enableDebuggingHandlers" (true),
        /// Profile blocking.
        enable_contention_profiling: bool = "enableContentionProfiling" (false),
        /// Profiling over HTTP.
        enable_profiling_handler: bool = "enableProfilingHandler" (true),
        /// Verbosity over HTTP.
        enable_debug_flags_handler: bool = "enableDebugFlagsHandler" (true),
        /// `/logs/`.
        enable_system_log_handler: bool = "enableSystemLogHandler" (true),
        /// Queries on `/logs/`.
        enable_system_log_query: bool = "enableSystemLogQuery" (false),
        /// Port of `/healthz` without TLS; 0: none.
        healthz_port: i32 = "healthzPort" (10248),
        /// Address of `/healthz`.
        healthz_bind_address: String = "healthzBindAddress" ("127.0.0.1".to_owned(), zero),
        /// Previous minor version whose hidden metrics are shown.
        show_hidden_metrics_for_version: String = "showHiddenMetricsForVersion" (String::new()),
    }
}

group! {
    /// Who asks.
    pub struct Authentication {
        /// Client certificates.
        x509: X509 = "x509" (X509::default()),
        /// Bearer tokens.
        webhook: TokenReview = "webhook" (TokenReview::default()),
        /// Nobody in particular.
        anonymous: Anonymous = "anonymous" (Anonymous::default()),
    }
}

group! {
    /// Client certificates.
    pub struct X509 {
        /// Authorities that sign them; empty: none are accepted.
        client_ca_file: String = "clientCAFile" (String::new()),
    }
}

group! {
    /// Bearer tokens, reviewed by the control plane.
    pub struct TokenReview {
        /// Accept them.
        enabled: bool = "enabled" (true),
        /// How long an answer is kept.
        cache_ttl: GoDuration = "cacheTTL" (GoDuration::seconds(120), zero),
    }
}

group! {
    /// Requests without identity.
    pub struct Anonymous {
        /// Accept them.
        enabled: bool = "enabled" (false),
    }
}

group! {
    /// What callers may do.
    pub struct Authorization {
        /// `Webhook` or `AlwaysAllow`.
        mode: String = "mode" ("Webhook".to_owned(), zero),
        /// Access reviews by the control plane.
        webhook: AccessReview = "webhook" (AccessReview::default()),
    }
}

group! {
    /// Access reviews by the control plane.
    pub struct AccessReview {
        /// How long a yes is kept.
        cache_authorized_ttl: GoDuration = "cacheAuthorizedTTL" (GoDuration::seconds(300), zero),
        /// How long a no is kept.
        cache_unauthorized_ttl: GoDuration = "cacheUnauthorizedTTL" (GoDuration::seconds(30), zero),
    }
}
