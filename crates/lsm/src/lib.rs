//! lsm
