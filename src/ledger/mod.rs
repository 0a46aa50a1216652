//! The branch that remembers what leaves no trace elsewhere.
