//! The whole product on one screen: observe, decide, act, tell.
