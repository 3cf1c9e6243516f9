//! Container images made at test time from static programs: a pause and a busybox with `devopen`.
//!
//! In: two small C files and the machine's static busybox. Out: archives that `ctr images import` takes.
//! Nothing is pulled from anywhere.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The image of every sandbox.
pub const PAUSE: &str = "localhost/pause:1";
/// The image of every container: a shell with the usual small tools, and `devopen`.
pub const BUSYBOX: &str = "localhost/busybox:1";

const PAUSE_C: &str = include_str!("../images/pause.c");
const DEVOPEN_C: &str = include_str!("../images/devopen.c");

/// Paths of the image archives, which are made in `folder` unless they are there from the same inputs. They are written
/// beside their names and moved, so that two runs at once do no harm.
///
/// # Errors
/// When the C compiler, `busybox` or `tar` is missing or fails.
pub fn archives(folder: &Path) -> Result<Vec<PathBuf>> {
    let busybox = busybox()?;
    let folder = folder.join(inputs(busybox)?);
    let archives: Vec<PathBuf> = ["pause.tar", "busybox.tar"]
        .map(|name| folder.join(name))
        .into();
    if archives.iter().all(|archive| archive.exists()) {
        return Ok(archives);
    }
    fs::create_dir_all(&folder)?;
    let work = tempfile::tempdir_in(&folder)?;
    let pause = json!({ "Cmd": ["/pause"], "Env": ["PATH=/bin"] });
    archive(&folder, work.path(), PAUSE, "pause", &pause, &|root| {
        compile(PAUSE_C, &root.join("pause"))
    })?;
    archive(
        &folder,
        work.path(),
        BUSYBOX,
        "busybox",
        &shell(),
        &|root| fill(root, busybox),
    )?;
    Ok(archives)
}

/// The archive of an image `image` like the test image, with files (path, text) added, made in `folder`.
///
/// # Errors
/// As for `archives`.
pub(crate) fn with_files(folder: &Path, image: &str, files: &[(&str, &str)]) -> Result<PathBuf> {
    let busybox = busybox()?;
    let work = tempfile::tempdir_in(folder)?;
    archive(folder, work.path(), image, "image", &shell(), &|root| {
        fill(root, busybox)?;
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().context("a path in the image")?)?;
            fs::write(path, text)?;
        }
        Ok(())
    })
}

/// The archive of an image `image` with the test image's files and this configuration (as `config` of an image: `Cmd`,
/// `User`, ...), made in `folder`.
///
/// # Errors
/// As for `archives`.
pub(crate) fn with_config(folder: &Path, image: &str, config: &Value) -> Result<PathBuf> {
    let busybox = busybox()?;
    let work = tempfile::tempdir_in(folder)?;
    archive(folder, work.path(), image, "image", config, &|root| {
        fill(root, busybox)
    })
}

/// Configuration of the test image.
fn shell() -> Value {
    json!({ "Cmd": ["/bin/sh"], "Env": ["PATH=/bin"] })
}

fn busybox() -> Result<&'static Path> {
    let places = ["/bin/busybox", "/usr/bin/busybox"];
    let found = places
        .into_iter()
        .map(Path::new)
        .find(|place| place.exists());
    found.context("no busybox: run `make setup`")
}

/// A name that is another one whenever a source, the shell or this recipe is another.
fn inputs(busybox: &Path) -> Result<String> {
    let shell = fs::metadata(busybox)?;
    let shell = format!("{} {:?}", shell.len(), shell.modified()?);
    let digest = [PAUSE_C, DEVOPEN_C, include_str!("images.rs"), &shell]
        .iter()
        .fold(Sha256::new(), |digest, part| digest.chain_update(part));
    Ok(hex(&digest.finalize())[..16].to_owned())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn fill(root: &Path, busybox: &Path) -> Result<()> {
    for folder in [
        "bin", "etc", "tmp", "root", "var", "dev", "proc", "sys", "www",
    ] {
        fs::create_dir(root.join(folder))?;
    }
    fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777))?;
    fs::copy(busybox, root.join("bin/busybox"))?;
    let list = Command::new(root.join("bin/busybox"))
        .arg("--list")
        .output()?;
    for applet in String::from_utf8(list.stdout)?
        .lines()
        .filter(|name| *name != "busybox")
    {
        symlink("busybox", root.join("bin").join(applet))?;
    }
    fs::write(
        root.join("etc/passwd"),
        "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n",
    )?;
    fs::write(
        root.join("etc/group"),
        "root:x:0:\nuser:x:1000:\nstaff:x:50:user\n",
    )?;
    compile(DEVOPEN_C, &root.join("bin/devopen"))
}

fn compile(source: &str, program: &Path) -> Result<()> {
    let file = program.with_extension("c");
    fs::write(&file, source)?;
    run(Command::new("cc")
        .args(["-static", "-Os", "-s", "-o"])
        .arg(program)
        .arg(&file))?;
    Ok(fs::remove_file(file)?)
}

/// One docker-archive: a layer, the image's configuration and a manifest that names both.
fn archive(
    folder: &Path,
    work: &Path,
    image: &str,
    name: &str,
    config: &Value,
    fill: &dyn Fn(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let work = work.join(name);
    let root = work.join("root");
    fs::create_dir_all(&root)?;
    fill(&root).with_context(|| format!("filling the image {image}"))?;
    tar(&work.join("layer.tar"), &root, &["."])?;
    let digest = hex(&Sha256::digest(fs::read(work.join("layer.tar"))?));
    let config = json!({
        "architecture": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" },
        "os": "linux",
        "config": config,
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{digest}")] },
    });
    fs::write(work.join("config.json"), config.to_string())?;
    let manifest =
        json!([{ "Config": "config.json", "RepoTags": [image], "Layers": ["layer.tar"] }]);
    fs::write(work.join("manifest.json"), manifest.to_string())?;
    let made = work.join("image.tar");
    tar(&made, &work, &["config.json", "manifest.json", "layer.tar"])?;
    let path = folder.join(format!("{name}.tar"));
    fs::rename(made, &path)?;
    Ok(path)
}

fn tar(archive: &Path, folder: &Path, members: &[&str]) -> Result<()> {
    let fixed = [
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--sort=name",
        "--mtime=@0",
    ];
    run(Command::new("tar")
        .args(fixed)
        .arg("-cf")
        .arg(archive)
        .arg("-C")
        .arg(folder)
        .args(members))
}

fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_owned();
    let output = command
        .output()
        .with_context(|| format!("starting {}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{} failed: {said}",
        program.display()
    );
    Ok(())
}
