//! Compiles the C code over WiredTiger's header, and names the libraries to link.

// A build script reads its parameters from the environment.
#![allow(clippy::disallowed_methods)]

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=src/engines/wiredtiger/shim.c");
    println!("cargo:rerun-if-env-changed=ROCKSDB_LIB_DIR");
    if env::var_os("CARGO_FEATURE_NATIVE").is_none() {
        return;
    }
    cc::Build::new().file("src/engines/wiredtiger/shim.c").warnings(true).compile("wiredtiger_shim");
    println!("cargo:rustc-link-lib=dylib=wiredtiger");
    match env::var("ROCKSDB_LIB_DIR") {
        Ok(directory) => {
            println!("cargo:rustc-link-search=native={directory}");
            println!("cargo:rustc-link-arg=-Wl,-rpath,{directory}");
        }
        Err(_) => {
            println!("cargo:warning=ROCKSDB_LIB_DIR is not set: `bench-peers/fetch FOLDER` downloads the library")
        }
    }
    println!("cargo:rustc-link-lib=dylib=rocksdb");
}
