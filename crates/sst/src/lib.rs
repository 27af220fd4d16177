//! sst
