//! Tells open pages that there is something new, as server-sent events: a number that grows. What is new they ask for
//! as anybody does, so that a lost event costs a minute and nothing else.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderName, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::port::Bounds;
use crate::clock;

/// How soon a page whose line has ended begins another.
const AGAIN: Duration = Duration::from_secs(1);
/// How often a line that has nothing to say shows that it stands.
const ALIVE: Duration = Duration::from_secs(10);
/// How long before its connection is cut off a line ends by itself: that is no failure, and the page begins another.
const BEFORE_THE_END: Duration = Duration::from_secs(5);

/// How often there was something new. Clones count together.
#[derive(Clone)]
pub(super) struct News(Arc<watch::Sender<i64>>);

impl Default for News {
    fn default() -> Self {
        // Another process does not begin where this one ended.
        Self(Arc::new(watch::Sender::new(clock::now().as_millisecond())))
    }
}

impl News {
    /// There is something new.
    pub(super) fn ring(&self) {
        self.0.send_modify(|number| *number += 1);
    }

    /// `/events`, for so many listeners that others still reach the pages.
    pub(super) fn router<S: Clone + Send + Sync + 'static>(&self, bounds: Bounds) -> Router<S> {
        let (news, free) = (self.clone(), Arc::new(Semaphore::new(bounds.each.div_ceil(2))));
        let lasts = bounds.whole.saturating_sub(BEFORE_THE_END);
        let listen = move || {
            let (news, free) = (news.clone(), Arc::clone(&free));
            async move {
                // A page that gets no content does not ask again, and goes on to look each minute.
                free.try_acquire_owned()
                    .map_or_else(|_| StatusCode::NO_CONTENT.into_response(), |place| news.told(place, lasts))
            }
        };
        Router::new().route("/events", get(listen))
    }

    /// The present number, then each that comes, until the time is over or the process ends.
    fn told(&self, place: OwnedSemaphorePermit, lasts: Duration) -> Response {
        let mut numbers = self.0.subscribe();
        numbers.mark_changed();
        let end = Box::pin(tokio::time::sleep(lasts));
        let events = stream::unfold((numbers, end, place), |(mut numbers, mut end, place)| async move {
            tokio::select! {
                () = &mut end => return None,
                changed = numbers.changed() => changed.ok()?,
            }
            let number = *numbers.borrow_and_update();
            let event = Event::default().event("view").retry(AGAIN).data(number.to_string());
            Some((Ok::<_, Infallible>(event), (numbers, end, place)))
        });
        let events = Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE));
        // Proxies hand on each event as it comes.
        ([(HeaderName::from_static("x-accel-buffering"), "no")], events).into_response()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use axum::body::Body;
    use axum::http::Request;
    use futures_util::StreamExt as _;
    use tower::ServiceExt as _;

    use super::*;

    fn bounds(each: usize, whole: u64) -> Bounds {
        Bounds { all: 4 * each, each, head: Duration::from_secs(1), whole: Duration::from_secs(whole) }
    }

    async fn ask(router: &Router) -> Response {
        router.clone().oneshot(Request::get("/events").body(Body::empty()).unwrap()).await.unwrap()
    }

    #[tokio::test]
    async fn a_page_hears_of_what_is_new_until_its_time_is_over() {
        let news = News::default();
        let router = news.router(bounds(8, 6));
        let begun = clock::now();
        let mut said = ask(&router).await.into_body().into_data_stream();
        let mut next = async || said.next().await.map(|piece| String::from_utf8(piece.unwrap().to_vec()).unwrap());
        let first = next().await.unwrap();
        assert!(first.contains("event: view") && first.contains("retry: 1000"), "{first}");
        news.ring();
        news.ring();
        let second = next().await.unwrap();
        assert!(second.contains("data: ") && second != first, "{second}");
        assert_eq!(next().await, None, "two rings before anybody listened are one");
        let took = clock::now().duration_since(begun).as_millis();
        assert!((900..3_000).contains(&took), "{took} ms of the six seconds that a connection has");
    }

    #[tokio::test]
    async fn the_places_of_listeners_are_few_and_free_again() {
        let router = News::default().router(bounds(4, 30));
        let (one, two) = (ask(&router).await, ask(&router).await);
        assert_eq!((one.status(), two.status()), (StatusCode::OK, StatusCode::OK));
        assert_eq!(ask(&router).await.status(), StatusCode::NO_CONTENT);
        drop(one);
        assert_eq!(ask(&router).await.status(), StatusCode::OK);
    }
}
