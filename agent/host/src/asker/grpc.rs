//! gRPC health checks, without TLS.

use agent_loops::ports::Answer;
use proto::grpc_health::HealthCheckRequest;
use proto::grpc_health::health_check_response::ServingStatus;
use proto::grpc_health::health_client::HealthClient;
use tonic::Code;
use tonic::transport::Endpoint;

use super::{USER_AGENT, address, causes, no, yes};

pub(super) async fn ask(ip: &str, port: u16, service: &str) -> Answer {
    let place = address(ip, port);
    let endpoint = Endpoint::from_shared(format!("http://{place}"))
        .and_then(|endpoint| endpoint.user_agent(USER_AGENT));
    let channel = match endpoint {
        Ok(endpoint) => endpoint.connect().await,
        Err(error) => Err(error),
    };
    let channel = match channel {
        Ok(channel) => channel,
        Err(error) => return no(format!("no connection to {place}: {}", causes(&error))),
    };
    let request = HealthCheckRequest {
        service: service.to_owned(),
    };
    match HealthClient::new(channel).check(request).await {
        Ok(response) if response.get_ref().status() == ServingStatus::Serving => {
            yes("service healthy".to_owned())
        }
        Ok(response) => {
            let status = response.get_ref().status().as_str_name();
            no(format!("service unhealthy (responded with {status:?})"))
        }
        Err(status) if status.code() == Code::Unimplemented => {
            no("the server does not have grpc.health.v1.Health".to_owned())
        }
        Err(status) => no(format!("gRPC health check failed: {}", status.message())),
    }
}
