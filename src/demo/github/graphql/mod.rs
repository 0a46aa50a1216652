//! stub
use super::answer::Answer;
use super::http::Incoming;
use super::state::{Actor, World};
pub fn serve(_w: &mut World, _a: &Actor, _i: &Incoming) -> Answer {
    Answer::not_found()
}
