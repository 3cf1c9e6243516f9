//! A descriptor set as plain lines, one for each field, enum value and method.

use protox::prost_reflect::{
    Cardinality, DescriptorPool, EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor,
    ServiceDescriptor, Value,
};

/// End of the line of a field that must not be printed.
pub(crate) const REDACT: &str = " redact";

/// All facts, in the order of package, enums, messages, methods, each sorted by full name.
pub(crate) fn of(pool: &DescriptorPool) -> Vec<String> {
    let mut lines = Vec::new();
    for file in pool.files() {
        lines.push(format!("package {} {:?}", file.package_name(), file.syntax()).to_lowercase());
    }
    lines.extend(pool.all_enums().flat_map(|kind| enumeration(&kind)));
    lines.extend(pool.all_messages().flat_map(|kind| message(&kind)));
    lines.extend(pool.services().flat_map(|kind| service(&kind)));
    lines.sort();
    lines.dedup();
    lines
}

fn enumeration(kind: &EnumDescriptor) -> Vec<String> {
    let name = short(kind.full_name(), kind.package_name());
    kind.values()
        .map(|v| format!("enum {name}.{} {}", v.name(), v.number()))
        .collect()
}

fn message(kind: &MessageDescriptor) -> Vec<String> {
    if kind.is_map_entry() {
        return Vec::new();
    }
    let name = short(kind.full_name(), kind.package_name());
    let mut lines = vec![format!("message {name}")];
    lines.extend(
        kind.fields()
            .map(|field| format!("field {name}.{}", self::field(&field))),
    );
    lines
}

fn field(field: &FieldDescriptor) -> String {
    let label = match (field.cardinality(), field.is_map()) {
        (Cardinality::Repeated, false) => "repeated ",
        _ if field.field_descriptor_proto().proto3_optional() => "optional ",
        _ => "",
    };
    let oneof = match field.containing_oneof() {
        Some(oneof) if label.is_empty() => format!(" oneof {}", oneof.name()),
        _ => String::new(),
    };
    let options = field.options();
    let redact = options.get_field_by_name("debug_redact");
    let redact = redact.as_deref().and_then(Value::as_bool).unwrap_or(false);
    format!(
        "{} {} {label}{}{oneof}{}",
        field.name(),
        field.number(),
        type_name(field.kind()),
        if redact { REDACT } else { "" },
    )
}

fn type_name(kind: Kind) -> String {
    match kind {
        Kind::Message(entry) if entry.is_map_entry() => {
            let key = type_name(entry.map_entry_key_field().kind());
            let value = type_name(entry.map_entry_value_field().kind());
            format!("map<{key}, {value}>")
        }
        Kind::Message(kind) => short(kind.full_name(), kind.package_name()),
        Kind::Enum(kind) => short(kind.full_name(), kind.package_name()),
        scalar => format!("{scalar:?}"),
    }
}

fn service(service: &ServiceDescriptor) -> Vec<String> {
    let name = short(service.full_name(), service.package_name());
    let stream = |yes| if yes { "stream " } else { "" };
    let method = |method: protox::prost_reflect::MethodDescriptor| {
        format!(
            "rpc {name}.{} {}{} -> {}{}",
            method.name(),
            stream(method.is_client_streaming()),
            short(method.input().full_name(), method.input().package_name()),
            stream(method.is_server_streaming()),
            short(method.output().full_name(), method.output().package_name()),
        )
    };
    service.methods().map(method).collect()
}

fn short(full_name: &str, package: &str) -> String {
    full_name
        .trim_start_matches(package)
        .trim_start_matches('.')
        .to_owned()
}
