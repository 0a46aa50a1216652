//! GitHub, concrete: authentication, one page of facts, compare-and-set writes.
