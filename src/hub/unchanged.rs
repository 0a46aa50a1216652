//! Answers that the hub may say are unchanged since: it counts such a 304 for nothing. For how long nobody asks at all
//! is in `observe/hub_cache`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::header::{ETAG, LINK};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::line::{Answer, Call};

/// The longest answer that is kept, in bytes: what is longer changes often.
const LONGEST: usize = 64 << 10;
/// So many bytes are kept of all answers to one identity; the oldest go first.
const MOST: usize = 4 << 20;

/// The last answers to one identity, by what was asked. Another identity may be shown something else.
#[derive(Default)]
pub(crate) struct Unchanged {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    answers: BTreeMap<String, Known>,
    /// In the order in which they came.
    order: VecDeque<String>,
    bytes: usize,
}

/// An answer, and what the hub names it by.
#[derive(Clone)]
pub(crate) struct Known {
    /// Its name for it.
    pub(crate) etag: HeaderValue,
    link: Option<HeaderValue>,
    body: Bytes,
}

impl Unchanged {
    /// What was answered to the same call last, where that may be asked for.
    pub(crate) fn known(&self, call: &Call) -> Option<Known> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.answers.get(&call.read()?).cloned()
    }

    /// The answer to a call, or the known one where the hub says that nothing has changed.
    pub(crate) fn settled(&self, call: &Call, known: Option<Known>, answer: Answer) -> Answer {
        match (known, call.read()) {
            (Some(known), _) if answer.status == StatusCode::NOT_MODIFIED => known.answered(answer.headers),
            (_, Some(asked)) => {
                self.keep(asked, &answer);
                answer
            }
            (_, None) => answer,
        }
    }

    fn keep(&self, asked: String, answer: &Answer) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.drop_one(&asked);
        let Some(etag) = answer.headers.get(ETAG).filter(|_| answer.status == StatusCode::OK) else { return };
        if answer.body.len() > LONGEST {
            return;
        }
        let link = answer.headers.get(LINK).cloned();
        let known = Known { etag: etag.clone(), link, body: answer.body.clone() };
        kept.bytes += known.body.len();
        kept.order.push_back(asked.clone());
        kept.answers.insert(asked, known);
        while kept.bytes > MOST
            && let Some(oldest) = kept.order.front().cloned()
        {
            kept.drop_one(&oldest);
        }
    }
}

impl Kept {
    fn drop_one(&mut self, asked: &str) {
        if let Some(known) = self.answers.remove(asked) {
            self.bytes -= known.body.len();
            self.order.retain(|other| other != asked);
        }
    }
}

impl Known {
    /// As it was answered, with what the hub says of its limits now.
    fn answered(self, mut headers: HeaderMap) -> Answer {
        headers.remove(LINK);
        headers.extend(self.link.map(|link| (LINK, link)));
        Answer { status: StatusCode::OK, headers, body: self.body }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn answer(status: u16, etag: Option<&'static str>, body: impl Into<Bytes>) -> Answer {
        let mut headers = HeaderMap::new();
        headers.extend(etag.map(|etag| (ETAG, HeaderValue::from_static(etag))));
        Answer { status: StatusCode::from_u16(status).unwrap(), headers, body: body.into() }
    }

    #[test]
    fn what_is_unchanged_is_answered_as_before() {
        let unchanged = Unchanged::default();
        let call = Call::get("/x?page=1");
        assert!(unchanged.known(&call).is_none());
        let mut first = answer(200, Some("\"a\""), "[1]");
        first.headers.insert(LINK, HeaderValue::from_static("</x?page=2>; rel=\"next\""));
        unchanged.settled(&call, None, first);
        let known = unchanged.known(&call);
        assert_eq!(known.as_ref().unwrap().etag, "\"a\"");
        let again = unchanged.settled(&call, known, answer(304, Some("\"a\""), ""));
        assert_eq!((again.status, &again.body[..]), (StatusCode::OK, &b"[1]"[..]));
        assert_eq!(again.headers[LINK], "</x?page=2>; rel=\"next\"");
        for other in [Call::get("/x?page=2"), Call::get_as("application/json", "/x?page=1")] {
            assert!(unchanged.known(&other).is_none(), "{other:?}");
        }
        unchanged.settled(&call, unchanged.known(&call), answer(200, Some("\"b\""), "[2]"));
        assert_eq!(unchanged.known(&call).unwrap().etag, "\"b\"");
    }

    #[test]
    fn what_must_not_be_kept_is_not() {
        let unchanged = Unchanged::default();
        let call = Call::get("/x");
        let kept = |answer: Answer| {
            unchanged.settled(&call, None, answer);
            unchanged.known(&call).is_some()
        };
        assert!(kept(answer(200, Some("\"a\""), "1")));
        assert!(!kept(answer(404, Some("\"a\""), "1")), "gone: the next answer is a whole one");
        assert!(!kept(answer(200, None, "1")));
        assert!(!kept(answer(200, Some("\"a\""), vec![b'x'; LONGEST + 1])));
        let write = Call::write(http::Method::PATCH, "/x", None);
        unchanged.settled(&write, None, answer(200, Some("\"a\""), "1"));
        assert!(unchanged.known(&write).is_none() && unchanged.known(&call).is_none());
    }

    #[test]
    fn the_oldest_go_first() {
        let unchanged = Unchanged::default();
        let calls: Vec<Call> = (0..100).map(|number| Call::get(format!("/{number}"))).collect();
        for call in &calls {
            unchanged.settled(call, None, answer(200, Some("\"a\""), vec![b'x'; LONGEST]));
        }
        let known = calls.iter().filter(|call| unchanged.known(call).is_some()).count();
        assert_eq!(known, MOST / LONGEST);
        assert!(unchanged.known(&calls[0]).is_none() && unchanged.known(&calls[99]).is_some());
    }
}
