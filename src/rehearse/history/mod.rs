//! A history of releases under a policy: replayed, counted, drawn.

pub struct History;
pub struct Replay;
