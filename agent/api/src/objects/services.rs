//! Variables that tell containers where Services are.
//!
//! Kubernetes 1.37 (`pkg/kubelet/envvars`): names and values are those of the stock kubelet.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Service, ServicePort};

use super::follow::Found;

/// Namespace and name of the Service that every pod sees, whatever it asks for.
const MASTER: (&str, &str) = ("default", "kubernetes");

/// Variables for a pod of a namespace, by name. `links`: of all Services of the namespace.
pub(super) fn variables(
    found: &Found<Service>,
    namespace: &str,
    links: bool,
) -> Vec<(String, String)> {
    let mut services: BTreeMap<&str, &Service> = BTreeMap::new();
    let addressed = || {
        let all = found.iter();
        all.filter(|(_, service)| address(service).is_some())
    };
    for ((of, name), service) in addressed() {
        if (of.as_str(), name.as_str()) == MASTER {
            services.insert(name, service);
        }
    }
    // A Service of the pod's own namespace outranks the master's of the same name.
    for ((of, name), service) in addressed() {
        if links && of == namespace {
            services.insert(name, service);
        }
    }
    let mut variables = BTreeMap::new();
    for (name, service) in services {
        variables.extend(of_service(name, service));
    }
    variables.into_iter().collect()
}

/// The cluster's address of a Service; headless ones and those without address have none.
fn address(service: &Service) -> Option<&str> {
    let address = service.spec.as_ref()?.cluster_ip.as_deref()?;
    (!address.is_empty() && address != "None").then_some(address)
}

fn of_service(name: &str, service: &Service) -> Vec<(String, String)> {
    let Some(address) = address(service) else {
        return Vec::new();
    };
    let name = variable_name(name);
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_deref());
    let ports = ports.unwrap_or_default();
    let mut variables = vec![(format!("{name}_SERVICE_HOST"), address.to_owned())];
    if let Some(first) = ports.first() {
        variables.push((format!("{name}_SERVICE_PORT"), first.port.to_string()));
    }
    for port in ports {
        if let Some(of) = port.name.as_deref().filter(|of| !of.is_empty()) {
            let key = format!("{name}_SERVICE_PORT_{}", variable_name(of));
            variables.push((key, port.port.to_string()));
        }
    }
    for (index, port) in ports.iter().enumerate() {
        variables.extend(link(&name, address, port, index == 0));
    }
    variables
}

/// The variables that linked Docker containers once had.
fn link(name: &str, address: &str, port: &ServicePort, first: bool) -> Vec<(String, String)> {
    let protocol = port.protocol.as_deref().filter(|text| !text.is_empty());
    let protocol = protocol.unwrap_or("TCP");
    let lower = protocol.to_lowercase();
    let number = port.port;
    let host = if address.contains(':') {
        format!("[{address}]")
    } else {
        address.to_owned()
    };
    let url = format!("{lower}://{host}:{number}");
    let prefix = format!("{name}_PORT_{number}_{}", protocol.to_uppercase());
    let mut variables = Vec::new();
    if first {
        variables.push((format!("{name}_PORT"), url.clone()));
    }
    variables.push((prefix.clone(), url));
    variables.push((format!("{prefix}_PROTO"), lower));
    variables.push((format!("{prefix}_PORT"), number.to_string()));
    variables.push((format!("{prefix}_ADDR"), address.to_owned()));
    variables
}

fn variable_name(text: &str) -> String {
    text.replace('-', "_").to_uppercase()
}

#[cfg(test)]
mod tests;
