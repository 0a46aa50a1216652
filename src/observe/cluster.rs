//! Connections to clusters.
