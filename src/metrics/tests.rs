//! What a scrape of Prometheus reads.
#![allow(clippy::unwrap_used, clippy::expect_used)]
use decide::ledger::{Entry, Seen};

use super::*;

/// A ledger that saw every release of a plan on the first of October.
fn ledger(plan: &Plan) -> Ledger {
    let mut ledger = Ledger::default();
    for wave in &plan.waves {
        let Some(version) = wave.version.clone() else { continue };
        let first_seen = "2026-10-01T00:00:00Z".parse().unwrap();
        let seen = Seen { version, digest: None, first_seen };
        ledger.apply(&Entry::Seen { plugin: wave.plugin.clone(), seen });
    }
    ledger
}

#[test]
fn every_number_has_a_name_with_its_unit_and_a_stable_place() {
    let metrics = Metrics::new();
    let at: Timestamp = "2026-11-21T08:14:05Z".parse().unwrap();
    metrics.tick("acme/fleet", Duration::from_millis(420), Outcome::Done, at);
    metrics.tick("acme/fleet", Duration::from_secs(4), Outcome::Failed, at + jiff::SignedDuration::from_secs(60));
    metrics.hub_call("graphql", 200);
    metrics.hub_call("rest", 409);
    metrics.hub_call("rest", 409);
    let fixture = crate::tell::fixture::view();
    metrics.plan("acme/fleet", &fixture.plan, &ledger(&fixture.plan));
    metrics.hub_budget("17", "rest", 4_711, 5_000);
    metrics.delivered(Duration::from_millis(3));
    for action in &fixture.plan.actions {
        metrics.action(action, Outcome::Done);
    }
    let text = metrics.render().unwrap();
    for line in [
        "coldframe_ticks_total{repository=\"acme/fleet\",outcome=\"done\"} 1",
        "coldframe_ticks_total{repository=\"acme/fleet\",outcome=\"failed\"} 1",
        "coldframe_tick_duration_seconds_count 2",
        "coldframe_tick_duration_seconds_sum 4.42",
        "coldframe_hub_calls_total{api=\"rest\",status=\"4xx\"} 2",
        "coldframe_last_look_timestamp_seconds{repository=\"acme/fleet\"} 1795248845",
        "coldframe_waves{repository=\"acme/fleet\",state=\"failed\"} 1",
        "coldframe_blocked_waves{repository=\"acme/fleet\",gate=\"window\"} 1",
        "coldframe_blocked_waves{repository=\"acme/fleet\",gate=\"approvals\"} 0",
        "coldframe_pending_update_since_timestamp_seconds{repository=\"acme/fleet\",plugin=\"cert-manager\",tier=\"silver\"} 1790812800",
        "coldframe_force_deadline_timestamp_seconds{repository=\"acme/fleet\",plugin=\"cert-manager\",tier=\"silver\"} 1796026320",
        "coldframe_lead_time_seconds{repository=\"acme/fleet\",plugin=\"cert-manager\",tier=\"qa\"} 2541600",
        "coldframe_hub_budget_remaining{installation=\"17\",api=\"rest\"} 4711",
        "coldframe_hub_budget_limit{installation=\"17\",api=\"rest\"} 5000",
        "coldframe_delivery_duration_seconds_bucket{le=\"0.005\"} 1",
        "coldframe_actions_total{kind=\"force_merge\",outcome=\"done\"} 1",
    ] {
        assert!(text.lines().any(|there| there == line), "{line} is not in\n{text}");
    }
    assert_eq!(text, metrics.render().unwrap());
    assert!(text.contains("_bucket{le=\"0.5\"} 1\n") && text.contains("_bucket{le=\"+Inf\"} 2\n"), "{text}");
    metrics.tick("a\"b\\c\nd", Duration::ZERO, Outcome::Done, at);
    assert!(metrics.render().unwrap().contains("repository=\"a\\\"b\\\\c\\nd\""), "no label ends early");
}

#[test]
fn a_state_that_is_left_falls_to_zero() {
    let metrics = Metrics::new();
    let plan = crate::tell::fixture::view().plan;
    metrics.plan("a/b", &plan, &ledger(&plan));
    metrics.plan("a/b", &Plan::default(), &Ledger::default());
    let text = metrics.render().unwrap();
    assert!(text.contains("coldframe_waves{repository=\"a/b\",state=\"failed\"} 0"), "{text}");
}
