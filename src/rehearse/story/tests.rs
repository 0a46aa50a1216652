//! Stories as people write them, and what is said about each mistake.
