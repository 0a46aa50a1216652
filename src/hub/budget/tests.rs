//! Limits of the hub, as its answers say them.
#![allow(clippy::unwrap_used, clippy::panic)]
use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

#[test]
fn f37_no_more_is_made_in_an_hour_than_the_hub_lets_through() {
    let budget = Budget::default();
    let make = |can_wait, second| {
        let Err(error) = budget.make("POST /pulls", can_wait, at(second)) else { return Ok(()) };
        let HubError::Limited { until, .. } = error else { panic!("{error}") };
        Err(until)
    };
    for second in 0..375 {
        assert_eq!(make(true, second), Ok(()), "{second}");
    }
    assert_eq!(make(true, 400), Err(at(3_600)), "the rest of the hour is for what cannot wait");
    for second in 375..500 {
        assert_eq!(make(false, second), Ok(()), "{second}");
    }
    assert_eq!(make(false, 500), Err(at(3_600)));
    assert_eq!(make(true, 500), Err(at(3_600 + 125)), "until a quarter is free again");
    assert_eq!(make(false, 3_600), Ok(()));
    assert_eq!(make(false, 3_600), Err(at(3_601)));
    // A clock that is set back keeps nobody waiting.
    assert_eq!(make(false, -10), Ok(()));
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap())).collect()
}

/// Status, headers, words, GraphQL limit; seconds for which REST and GraphQL are closed.
#[test]
fn limits() {
    type Case<'a> = (u16, &'a [(&'static str, &'a str)], &'a str, bool, Option<i64>, Option<i64>, bool);
    let plenty: &[_] =
        &[("x-ratelimit-limit", "5000"), ("x-ratelimit-remaining", "4114"), ("x-ratelimit-reset", "1800000300")];
    let none: &[_] =
        &[("x-ratelimit-limit", "5000"), ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1800000300")];
    let cases: &[Case<'_>] = &[
        (200, plenty, "", false, None, None, false),
        // The last call of the hour is answered; the next is not sent.
        (200, none, "", false, Some(301), None, false),
        (403, none, "API rate limit exceeded", false, Some(301), None, true),
        (403, &[("retry-after", "30")], "", false, Some(30), Some(30), true),
        (429, &[("retry-after", "7")], "", false, Some(7), Some(7), true),
        (429, &[], "", false, Some(60), Some(60), true),
        (403, plenty, "You have exceeded a secondary rate limit.", false, Some(60), Some(60), true),
        // An ordinary no is no limit.
        (403, plenty, "Resource not accessible by integration", false, None, None, false),
        // Never longer than the hub's own window.
        (403, &[("retry-after", "999999999")], "", false, Some(3900), Some(3900), true),
        (403, &[("retry-after", "-5")], "", false, Some(1), Some(1), true),
        // The budget of search is not ours.
        (200, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-resource", "search")], "", false, None, None, false),
    ];
    for (number, (status, pairs, words, graphql_limited, rest, graphql, refused)) in cases.iter().enumerate() {
        let budget = Budget::default();
        let headers = headers(pairs);
        let seen = Seen {
            status: StatusCode::from_u16(*status).unwrap(),
            headers: &headers,
            words,
            graphql_limited: *graphql_limited,
            skew: SignedDuration::ZERO,
        };
        let refusal = budget.note(Counter::Rest, &seen, at(0));
        assert_eq!(refusal.is_some(), *refused, "case {number}");
        for (counter, closed) in [(Counter::Rest, rest), (Counter::GraphQl, graphql)] {
            let open_at = closed.unwrap_or(0);
            assert!(budget.admit("x", counter, at(open_at)).is_ok(), "case {number} {counter:?}");
            if closed.is_some() {
                assert!(budget.admit("x", counter, at(open_at - 1)).is_err(), "case {number} {counter:?}");
            }
        }
    }
}

#[test]
fn a40_what_can_wait_leaves_a_quarter_of_the_budget() {
    // Left of 5,000, seconds since then: whether what can wait goes on.
    for (left, later, goes_on) in
        [("1251", 0, true), ("1250", 0, false), ("1", 299, false), ("1", 301, true), ("5000", 0, true)]
    {
        let budget = Budget::default();
        let headers = headers(&[
            ("x-ratelimit-limit", "5000"),
            ("x-ratelimit-remaining", left),
            ("x-ratelimit-reset", "1800000300"),
        ]);
        let seen = Seen {
            status: StatusCode::OK,
            headers: &headers,
            words: "",
            graphql_limited: false,
            skew: SignedDuration::ZERO,
        };
        assert!(budget.note(Counter::Rest, &seen, at(0)).is_none());
        let spare = budget.spare("x", Counter::Rest, at(later), SignedDuration::ZERO);
        assert_eq!(spare.is_ok(), goes_on, "{left} left, {later} s later");
        assert!(budget.admit("x", Counter::Rest, at(later)).is_ok(), "what merges rest on goes on");
        assert!(budget.spare("x", Counter::GraphQl, at(later), SignedDuration::ZERO).is_ok(), "the other counter");
    }
}

#[test]
fn a_graphql_limit_closes_graphql_by_its_reset() {
    let budget = Budget::default();
    let headers = headers(&[
        ("x-ratelimit-limit", "5000"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "1800000100"),
        ("x-ratelimit-resource", "graphql"),
    ]);
    let seen = Seen {
        status: StatusCode::OK,
        headers: &headers,
        words: "",
        graphql_limited: true,
        // The hub is forty seconds ahead: its reset comes forty seconds sooner by our clock.
        skew: SignedDuration::from_secs(-40),
    };
    assert_eq!(budget.note(Counter::GraphQl, &seen, at(0)).unwrap().0, at(61));
    assert!(budget.admit("x", Counter::Rest, at(0)).is_ok());
    assert_eq!(budget.left(Counter::GraphQl).unwrap().remaining, 0);
}

#[test]
fn skew_by_date() {
    // 1800000000 is 2027-01-15 08:00:00 UTC.
    let cases = [
        ("Fri, 15 Jan 2027 08:00:00 GMT", 0, 0, 0),
        ("Fri, 15 Jan 2027 08:01:00 GMT", 0, 0, -60),
        ("Fri, 15 Jan 2027 07:59:00 GMT", 0, 0, 60),
        ("Fri, 15 Jan 2027 08:01:00 GMT", 0, 20, 0),
        ("nonsense", 0, 0, 0),
    ];
    for (date, sent, received, expected) in cases {
        let skew = Skew::default();
        skew.note(&headers(&[("date", date)]), at(sent), at(received));
        assert!((skew.get().as_secs() - expected).abs() <= 1, "{date}: {:?}", skew.get());
    }
}
