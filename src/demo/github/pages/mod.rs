//! stub
use super::http::{Incoming, plain};
use super::state::World;
use axum::{
    body::Body,
    http::{Response, StatusCode},
};
pub fn serve(_w: &mut World, _i: &Incoming) -> Response<Body> {
    plain(StatusCode::NOT_FOUND, "")
}
