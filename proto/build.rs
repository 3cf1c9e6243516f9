//! Turns `proto/` into Rust and descriptor sets under `OUT_DIR/<api>/`.
//!
//! One folder for each API, since two upstream packages are both called `v1` and the generated files
//! are named after the package. Nothing outside the crate is read and no `protoc` is needed.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use protox::prost_reflect::{DescriptorPool, FieldDescriptor, Value};

/// API name, which is the module name, and the folder of its definitions.
const APIS: [(&str, &str); 6] = [
    ("cri", "cri/v1"),
    ("deviceplugin", "deviceplugin/v1beta1"),
    ("pluginregistration", "pluginregistration/v1"),
    ("podresources", "podresources/v1"),
    ("grpc_health", "grpc/health/v1"),
    ("gpulet", "gpulet/v1"),
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let root = Path::new("proto");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for (api, folder) in APIS {
        compile(root, folder, &out.join(api))?;
    }
    Ok(())
}

fn compile(root: &Path, folder: &str, out: &Path) -> Result<(), Box<dyn Error>> {
    let files = definitions(&root.join(folder))?;
    let mut compiler = protox::Compiler::new([root])?;
    compiler
        .include_source_info(true)
        .include_imports(true)
        .open_files(files)?;
    fs::create_dir_all(out)?;
    fs::write(
        out.join("descriptor.bin"),
        compiler.encode_file_descriptor_set(),
    )?;
    tonic_prost_build::configure()
        .out_dir(out)
        // Sorted maps: equal messages then have equal bytes, and some of these bytes end up in
        // checkpoint files.
        .btree_map(".")
        .skip_debug(with_secrets(&compiler.descriptor_pool()))
        .compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}

fn definitions(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "proto")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Messages with a field that must not be printed. Each gets a `Debug` by hand in `src/redact.rs`;
/// one that is forgotten there does not compile.
fn with_secrets(pool: &DescriptorPool) -> Vec<String> {
    pool.all_messages()
        .filter(|message| message.fields().any(|field| is_secret(&field)))
        .map(|message| format!(".{}", message.full_name()))
        .collect()
}

fn is_secret(field: &FieldDescriptor) -> bool {
    let options = field.options();
    let redact = options.get_field_by_name("debug_redact");
    redact.as_deref().and_then(Value::as_bool).unwrap_or(false)
}
