//! alluvium
