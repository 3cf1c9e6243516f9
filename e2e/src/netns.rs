//! A node's own network namespace: bridges, packet filter rules and host ports of parallel nodes never meet, and all
//! of them go with the namespace.

use std::fs::File;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The node's address on its uplink, a bridge that leads nowhere.
pub const NODE_ADDRESS: &str = "10.77.0.1";
/// A connection inside one machine is there at once or not at all.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// A named network namespace with a loopback, an uplink address and a default route.
#[derive(Debug, Clone)]
pub struct Netns {
    path: PathBuf,
}

impl Netns {
    /// Makes the namespace `name`.
    pub fn create(name: &str) -> Result<Netns> {
        ip(&["netns", "add", name])?;
        let netns = Netns { path: path(name) };
        let address = format!("{NODE_ADDRESS}/24");
        for line in [
            "link set lo up",
            "link add uplink type bridge",
            &format!("address add {address} dev uplink"),
            "link set uplink up",
            &format!("route add default via {NODE_ADDRESS}"),
        ] {
            let mut command = netns.command(Path::new("ip"));
            run(command.args(line.split(' ')))?;
        }
        Ok(netns)
    }

    /// A command that will run inside. `nsenter` replaces itself by the program, so that the process id is the
    /// program's; `ip netns exec` would also remount /sys and hide the cgroups.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--net={}", self.path.display()))
            .arg(program);
        command
    }

    /// Connects from inside.
    pub async fn connect(&self, address: SocketAddr) -> Result<TcpStream> {
        let netns = self.clone();
        let connect = move || {
            netns.inside(move || std::net::TcpStream::connect_timeout(&address, CONNECT_LIMIT))
        };
        let stream = tokio::task::spawn_blocking(connect).await?;
        let stream = stream.with_context(|| format!("connecting to {address}"))?;
        stream.set_nonblocking(true)?;
        Ok(TcpStream::from_std(stream)?)
    }

    /// GET from a server without TLS inside; the whole answer as text.
    pub async fn http_get(&self, address: SocketAddr, path: &str) -> Result<String> {
        let mut stream = self.connect(address).await?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }

    /// Listens inside. Must be called inside a tokio runtime.
    pub fn listen(&self, address: SocketAddr) -> Result<TcpListener> {
        let listener = self.inside(move || std::net::TcpListener::bind(address));
        let listener = listener.with_context(|| format!("listening on {address}"))?;
        listener.set_nonblocking(true)?;
        Ok(TcpListener::from_std(listener)?)
    }

    /// Does something on a thread that enters the namespace and ends with it: a thread's namespace is its own, and
    /// a socket keeps the one that it was made in.
    fn inside<T: Send + 'static>(
        &self,
        act: impl FnOnce() -> std::io::Result<T> + Send + 'static,
    ) -> Result<T> {
        let netns = File::open(&self.path)?;
        let thread = std::thread::spawn(move || {
            move_into_link_name_space(netns.as_fd(), Some(LinkNameSpaceType::Network))?;
            act()
        });
        Ok(thread
            .join()
            .map_err(|_| anyhow!("the thread panicked"))??)
    }

    /// Names of the links that pods left: the node's end of each pod's pair.
    pub fn pod_links(&self) -> Result<Vec<String>> {
        let output = self
            .command(Path::new("ip"))
            .args(["-o", "link", "show", "type", "veth"])
            .output()?;
        let text = String::from_utf8(output.stdout)?;
        Ok(text
            .lines()
            .filter_map(|line| line.split(": ").nth(1))
            .map(str::to_owned)
            .collect())
    }
}

/// The file that holds the namespace `name`.
pub(crate) fn path(name: &str) -> PathBuf {
    Path::new("/run/netns").join(name)
}

/// Removes the namespace `name`.
pub(crate) fn delete(name: &str) -> Result<()> {
    ip(&["netns", "delete", name])
}

fn ip(arguments: &[&str]) -> Result<()> {
    run(Command::new("ip").args(arguments))
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}", said.trim());
    Ok(())
}
