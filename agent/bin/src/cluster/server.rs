//! The kubelet's HTTPS server, with what it answers from.

use std::sync::Arc;

use agent_api::{AccessSettings, ApiAccess, Rate, ServingCertificate, ServingSettings};
use agent_cri::CriRuntime;
use agent_http::{AccessMode, ServerDoors, ServerLimits, ServerSettings, TlsSettings};
use agent_loops::Agent;
use agent_loops::ports::Access;
use anyhow::{Context, bail};
use base_daemon::{Drain, Readiness, spawn};

use super::Membership;
use crate::settings::Settings;

/// Serves it until the drain begins.
pub(crate) async fn serve_api(
    settings: &Settings,
    membership: &Membership,
    agent: &Agent,
    runtime: &Arc<CriRuntime>,
    (readiness, drain): (&Readiness, &Drain),
) -> anyhow::Result<()> {
    let server = &settings.configuration.server;
    if !server.enable_server {
        return Ok(());
    }
    let certificate = ServingCertificate::open(&ServingSettings {
        cert_dir: settings.flags.cert_dir.clone(),
        node: settings.node.clone(),
        bootstrap: server.server_tls_bootstrap,
        files: path(&server.tls_cert_file).zip(path(&server.tls_private_key_file)),
    })?;
    let client = membership.connection.client_with(Rate::UNLIMITED)?;
    let reviews = AccessSettings::new(&server.authentication, &server.authorization);
    let access = ApiAccess::new(client, &settings.node, reviews);
    let doors = ServerDoors {
        pods: agent.pods.clone(),
        renderer: Arc::new(membership.views.clone()),
        runtime: Arc::clone(runtime) as _,
        streaming: Arc::clone(runtime) as _,
        access: Some(Arc::new(access) as Arc<dyn Access>),
        readiness: readiness.clone(),
        certificate: certificate.resolver(),
    };
    let names = membership.views.names();
    let connection = Some(membership.connection.clone());
    let maintained = certificate.maintain(connection, names, drain.guard());
    drop(spawn("serving certificate", maintained));
    let (address, serving) =
        agent_http::serve(server_settings(settings)?, doors, drain.guard()).await?;
    tracing::info!(%address, "the kubelet's API is served");
    drop(spawn("kubelet API", serving));
    Ok(())
}

fn server_settings(settings: &Settings) -> anyhow::Result<ServerSettings> {
    let server = &settings.configuration.server;
    Ok(ServerSettings {
        address: server
            .address
            .parse()
            .with_context(|| format!("address {:?} is no address", server.address))?,
        port: u16::try_from(server.port).context("port")?,
        tls: TlsSettings {
            min_version: server.tls_min_version.clone(),
            cipher_suites: server.tls_cipher_suites.clone(),
            curves: server.tls_curve_preferences.clone(),
        },
        client_ca: path(&server.authentication.x509.client_ca_file),
        token_review: server.authentication.webhook.enabled,
        anonymous: server.authentication.anonymous.enabled,
        authorization: match server.authorization.mode.as_str() {
            "AlwaysAllow" => AccessMode::AlwaysAllow,
            "Webhook" => AccessMode::Webhook,
            other => bail!("authorization.mode {other:?}: there are Webhook and AlwaysAllow"),
        },
        debugging_handlers: server.enable_debugging_handlers,
        pod_logs: settings.configuration.logs.pod_logs_dir.clone().into(),
        configuration: settings.configuration.shown(),
        limits: ServerLimits::default(),
    })
}

fn path(text: &str) -> Option<std::path::PathBuf> {
    (!text.is_empty()).then(|| text.into())
}
