//! Command line: the stock kubelet's flags, and a few of gpulet's own.

mod table;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{BoolishValueParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value, json};

use table::{Flag, Kind, OWN, STOCK, Use};

/// How long pods of the API wait for their devices when nothing is set: longer than a pod takes to
/// give its GPUs back, and short enough for a controller to try elsewhere.
const DEVICE_WAIT: Duration = Duration::from_secs(180);

/// What the command line says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Flags {
    /// `--config`.
    pub(crate) config: Option<PathBuf>,
    /// `--config-dir`.
    pub(crate) config_dir: Option<PathBuf>,
    /// `--root-dir`.
    pub(crate) root_dir: PathBuf,
    /// `--hostname-override`.
    pub(crate) hostname_override: Option<String>,
    /// `--image-credential-provider-config` and `--image-credential-provider-bin-dir`; one without the
    /// other is nothing.
    pub(crate) credential_providers: Option<(PathBuf, PathBuf)>,
    /// `--node-ip`: one address or two, separated by commas.
    pub(crate) node_ip: Option<String>,
    /// `--kubeconfig`.
    pub(crate) kubeconfig: Option<PathBuf>,
    /// `--bootstrap-kubeconfig`.
    pub(crate) bootstrap_kubeconfig: Option<PathBuf>,
    /// `--cert-dir`.
    pub(crate) cert_dir: PathBuf,
    /// `--node-labels`, each `key=value` or `key`, as written.
    pub(crate) node_labels: Vec<String>,
    /// `--register-with-taints`, each `key=value:effect` or `key:effect`, as written.
    pub(crate) register_with_taints: Vec<String>,
    /// `--cloud-provider`: empty or `external`.
    pub(crate) cloud_provider: String,
    /// `-v`.
    pub(crate) verbosity: u8,
    /// `--validate`.
    pub(crate) validate: bool,
    /// `--gpulet-socket`.
    pub(crate) socket: PathBuf,
    /// `--gpulet-socket-group`.
    pub(crate) socket_group: Option<String>,
    /// `--nvidia-driver-root`.
    pub(crate) driver_root: PathBuf,
    /// `--nvidia-dev-root`; the driver root when not given.
    pub(crate) dev_root: PathBuf,
    /// `--nvml-library`.
    pub(crate) nvml_library: Option<PathBuf>,
    /// `--cdi-dir`.
    pub(crate) cdi_dir: PathBuf,
    /// `--pod-device-wait`: how long a pod of the API waits for its devices.
    pub(crate) device_wait: Duration,
    /// `--pod-start-width`: 0 is unbounded.
    pub(crate) start_width: Option<usize>,
    /// Stock flags that stand for fields of the configuration, as a document laid over it.
    pub(crate) overlay: Value,
    /// Stock flags that were given and that this build does not act on.
    pub(crate) ignored: Vec<&'static str>,
}

/// The command, for parsing and for `--help`.
pub(crate) fn command() -> Command {
    let mut command = Command::new("gpulet")
        .version(crate::version::VERSION)
        .about("Node agent for GPU machines: a kubelet with the NVIDIA GPU stack built in")
        .after_help(
            "Flags of the stock kubelet that are not listed are accepted, too. Those that name a field of \
             the configuration\noutrank it; the others are named in a warning.\n\n\
             Look at a running agent with `gpuctl status`. Check files without starting anything with \
             `gpulet --validate --config FILE`.",
        )
        .disable_version_flag(true)
        .arg(
            Arg::new("version")
                .long("version")
                .action(ArgAction::Version)
                .help("Print the version and exit"),
        );
    for flag in STOCK.iter().chain(OWN) {
        command = command.arg(argument(flag));
    }
    command
}

fn argument(flag: &Flag) -> Arg {
    let argument = Arg::new(flag.name)
        .help(flag.help)
        .hide(flag.help.is_empty());
    let argument = match flag.name.len() {
        1 => argument.short(flag.name.chars().next().unwrap_or('v')),
        _ => argument.long(flag.name),
    };
    match flag.kind {
        // pflag's form: the flag alone means true, a value needs the equals sign.
        Kind::Switch => argument
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_parser(BoolishValueParser::new())
            .hide_possible_values(true)
            .action(ArgAction::Set),
        Kind::Number => argument
            .value_parser(clap::value_parser!(i64))
            .allow_hyphen_values(true),
        Kind::List | Kind::Pairs(_) => argument.action(ArgAction::Append),
        Kind::Text => argument.value_parser(ValueParser::string()),
    }
}

/// Reads the command line; prints help, version or a usage error and exits where clap says so.
pub(crate) fn parse() -> Flags {
    from_matches(&command().get_matches())
}

fn from_matches(matches: &ArgMatches) -> Flags {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let path = |name: &str| text(name).map(PathBuf::from);
    let path_or = |name: &str, default: &str| path(name).unwrap_or_else(|| default.into());
    // An empty value is the same as none, as with the stock kubelet.
    let file = |name: &str| path(name).filter(|path| !path.as_os_str().is_empty());
    let number = |name: &str| matches.get_one::<i64>(name).copied();
    let driver_root = path_or("nvidia-driver-root", "/");
    let mut overlay = Value::Object(Map::new());
    let mut ignored = Vec::new();
    for flag in STOCK {
        if matches.value_source(flag.name).is_none() {
            continue;
        }
        match flag.use_ {
            Use::Field(field) => set(&mut overlay, field, value_of(matches, flag)),
            Use::Ignored => ignored.push(flag.name),
            Use::Own => {}
        }
    }
    Flags {
        config: path("config"),
        config_dir: path("config-dir"),
        root_dir: path_or("root-dir", "/var/lib/kubelet"),
        hostname_override: text("hostname-override"),
        credential_providers: file("image-credential-provider-config")
            .zip(file("image-credential-provider-bin-dir")),
        node_ip: text("node-ip").filter(|list| !list.is_empty()),
        kubeconfig: file("kubeconfig"),
        bootstrap_kubeconfig: file("bootstrap-kubeconfig"),
        cert_dir: path_or("cert-dir", "/var/lib/kubelet/pki"),
        node_labels: words(matches, "node-labels"),
        register_with_taints: words(matches, "register-with-taints"),
        cloud_provider: text("cloud-provider").unwrap_or_default(),
        verbosity: number("v")
            .and_then(|level| u8::try_from(level).ok())
            .unwrap_or(0),
        validate: matches
            .get_one::<bool>("validate")
            .copied()
            .unwrap_or(false),
        socket: path_or("gpulet-socket", "/run/gpulet/gpulet.sock"),
        socket_group: text("gpulet-socket-group"),
        dev_root: path("nvidia-dev-root").unwrap_or_else(|| driver_root.clone()),
        driver_root,
        nvml_library: path("nvml-library"),
        cdi_dir: path_or("cdi-dir", "/var/run/cdi"),
        device_wait: number("pod-device-wait")
            .and_then(|seconds| u64::try_from(seconds).ok())
            .map_or(DEVICE_WAIT, Duration::from_secs),
        start_width: number("pod-start-width").and_then(|width| usize::try_from(width).ok()),
        overlay,
        ignored,
    }
}

/// The words of a flag that holds several, in the order given.
fn words(matches: &ArgMatches, name: &str) -> Vec<String> {
    matches
        .get_many::<String>(name)
        .into_iter()
        .flatten()
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn value_of(matches: &ArgMatches, flag: &Flag) -> Value {
    let words = || words(matches, flag.name);
    match flag.kind {
        Kind::Switch => json!(matches.get_one::<bool>(flag.name)),
        Kind::Number => json!(matches.get_one::<i64>(flag.name)),
        Kind::Text => json!(matches.get_one::<String>(flag.name)),
        Kind::List => json!(words()),
        Kind::Pairs(separator) => Value::Object(
            words()
                .iter()
                .map(|word| {
                    let (key, value) = word.split_once(separator).unwrap_or((word, ""));
                    // Feature gates are booleans in the configuration, everything else is text.
                    let value = match value {
                        "true" => json!(true),
                        "false" => json!(false),
                        other => json!(other),
                    };
                    (key.to_owned(), value)
                })
                .collect(),
        ),
    }
}

/// Puts a value at a dotted path.
fn set(document: &mut Value, path: &str, value: Value) {
    match path.split_once('.') {
        None => document[path] = value,
        Some((first, rest)) => {
            if !document[first].is_object() {
                document[first] = Value::Object(Map::new());
            }
            set(&mut document[first], rest, value);
        }
    }
}

#[cfg(test)]
mod tests;
