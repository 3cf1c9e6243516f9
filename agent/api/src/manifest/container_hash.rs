//! The stock kubelet's container hash: a running container with another one is replaced, so it has
//! to be the same on both sides of a takeover.

/// Hash over a container's name and image, as the annotation `io.kubernetes.container.hash` holds it.
///
/// Kubernetes 1.37 hashes with FNV-1a (32 bit) the Go dump of the JSON text
/// `{"image":"…","name":"…"}` as a byte slice: `([]uint8)[` and the bytes in decimal with blanks
/// between and `]`. Shown in lower-case hex without leading zeros.
pub fn container_hash(name: &str, image: &str) -> String {
    let json = format!(
        "{{\"image\":{},\"name\":{}}}",
        go_json(image),
        go_json(name)
    );
    let bytes: Vec<String> = json.bytes().map(|byte| byte.to_string()).collect();
    let dump = format!("([]uint8)[{}]", bytes.join(" "));
    format!("{:x}", fnv1a(dump.as_bytes()))
}

/// A JSON string as Go's encoder writes it: it also escapes what could end a script in HTML.
fn go_json(text: &str) -> String {
    let mut json = serde_json::Value::from(text).to_string();
    for (plain, escaped) in [
        ('<', "\\u003c"),
        ('>', "\\u003e"),
        ('&', "\\u0026"),
        ('\u{2028}', "\\u2028"),
        ('\u{2029}', "\\u2029"),
    ] {
        json = json.replace(plain, escaped);
    }
    json
}

fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}
