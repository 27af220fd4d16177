//! Compiles the few lines of C over WiredTiger's header, and names the libraries.

fn main() {
    println!("cargo:rerun-if-changed=src/wiredtiger/shim.c");
    println!("cargo:rerun-if-env-changed=ROCKSDB_LIB_DIR");
    cc::Build::new().file("src/wiredtiger/shim.c").warnings(true).compile("wiredtiger_shim");
    println!("cargo:rustc-link-lib=dylib=wiredtiger");
    // A build script learns of the machine through the environment, and has no other way.
    #[allow(clippy::disallowed_methods)]
    let directory = std::env::var("ROCKSDB_LIB_DIR");
    match directory {
        Ok(directory) => {
            println!("cargo:rustc-link-search=native={directory}");
            println!("cargo:rustc-link-arg=-Wl,-rpath,{directory}");
        }
        Err(_) => println!("cargo:warning=ROCKSDB_LIB_DIR is not set: bench-peers/fetch makes a folder for it"),
    }
    println!("cargo:rustc-link-lib=dylib=rocksdb");
}
