//! A file system that fails on demand.
