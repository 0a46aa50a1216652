//! A file with nearly every key, and what is understood of it.

use super::*;

#[test]
fn the_whole_format() {
    let loaded = of(FULL);
    assert_eq!(loaded.warnings, []);
    let policy = &loaded.policy;
    let names: Vec<&str> = loaded.ladder.iter().map(|tier| tier.name.as_str()).collect();
    assert_eq!(names, ["qa", "bronze", "silver", "gold"]);
    let [qa, bronze, silver, gold] = &loaded.ladder[..] else { panic!("four tiers") };
    assert_eq!((qa.merge, qa.soak.min), (MergeRule::all(Merge::Automatic), SignedDuration::ZERO));
    assert_eq!(
        (qa.approvals.clone(), qa.health, &qa.windows, &qa.force),
        (Approvals::default(), HealthRule::default(), &None, &None)
    );
    assert_eq!(bronze.merge, MergeRule { patch: Merge::Automatic, minor: Merge::Approved, major: Merge::Manual });
    assert_eq!((bronze.soak.min, silver.soak.min), (SignedDuration::from_hours(24), SignedDuration::from_hours(48)));
    assert_eq!(
        (qa.on_failure, bronze.on_failure, silver.on_failure),
        (OnFailure::Hold, OnFailure::Stall, OnFailure::RollBack { merge: Merge::Automatic })
    );
    assert_eq!((silver.announce, gold.announce), (SignedDuration::ZERO, SignedDuration::from_hours(24)));
    assert_eq!((silver.approvals.covers.len(), &gold.approvals.covers[..]), (0, &["gold".into()][..]));
    assert_eq!((bronze.watch, silver.watch), (SignedDuration::ZERO, SignedDuration::from_hours(6)));
    assert_eq!((bronze.soak.max, silver.soak.max), (None, Some(SignedDuration::from_hours(168))));
    assert_eq!(
        silver.health,
        HealthRule {
            progress_deadline: SignedDuration::from_mins(90),
            degraded_for: SignedDuration::from_mins(10),
            max_failures: 1,
            max_unknown: 2,
            max_age: SignedDuration::from_secs(30),
        }
    );
    let windows = silver.windows.as_ref().unwrap();
    assert_eq!(windows.zone.iana_name(), Some("Europe/Berlin"), "the file's zone");
    assert_eq!(windows.open[0], Range { days: vec![4, 5, 6, 7], from: 0, to: 1440 });
    assert_eq!(windows.open[1], Range { days: vec![1, 2, 3, 4, 5, 6, 7], from: 1320, to: 240 });
    let cron = Cron { cron: "0 8 * * MON-WED".parse().unwrap(), lasts: SignedDuration::from_mins(90) };
    assert_eq!(windows.cron, [cron]);
    assert_eq!(silver.constraint.as_ref().unwrap().as_str(), "<2");
    assert_eq!(silver.merge, MergeRule::all(Merge::Approved), "the default");
    assert_eq!(gold.select.match_expressions[1].operator, Operator::DoesNotExist);
    let hours = SignedDuration::from_hours;
    assert_eq!(
        gold.force,
        Some(Force { after: hours(720), notice: vec![hours(336), hours(72), hours(24)] }),
        "longest first"
    );

    let file_windows = policy.windows.as_ref().unwrap();
    assert_eq!(file_windows.open, [Range { days: vec![1, 2, 3, 4], from: 480, to: 960 }]);
    assert_eq!((file_windows.room, file_windows.closed[0].why.as_str()), (hours(2), "year-end freeze"));
    let until: Vec<String> = policy.freezes.iter().map(|freeze| freeze.until.unwrap().to_string()).collect();
    assert_eq!(until, ["2027-01-10T23:00:00Z", "2027-02-01T07:00:00Z"], "a date ends with its day in Berlin");
    assert_eq!(policy.freezes[0].by.as_ref().unwrap().as_str(), "@octo");
    assert_eq!(policy.limits, Limits { open_pulls: Some(10), clusters_per_hour: Some(50) });

    let cert = &policy.plugins[0];
    assert_eq!(cert.constraint.as_ref().unwrap().as_str(), "^1.14");
    assert_eq!(cert.tiers[..3], loaded.ladder[..3]);
    assert_eq!(cert.tiers[3].soak.min, hours(72));
    assert_eq!(cert.tiers[3].approvals, Approvals { code_owners: true, at_least: 1, ..Approvals::default() });
    assert_eq!(cert.tiers[3].force, gold.force, "what an override does not name stays");
    assert_eq!(policy.plugins[1].tiers, loaded.ladder);

    let wiring = &loaded.wiring;
    assert_eq!(wiring.inventory, Inventory::File { path: "inventory/clusters.yaml".into() });
    assert_eq!(
        (wiring.people.hold, wiring.people.acknowledge, wiring.people.fail, wiring.people.rebuild),
        (Right::Admin, Right::CodeOwners, Right::CodeOwners, Right::Admin)
    );
    let [maintenance] = &policy.maintenance[..] else { panic!("{:?}", policy.maintenance) };
    assert_eq!(maintenance.select.match_labels["region"], "ap");
    assert_eq!(maintenance.windows.zone.iana_name(), Some("Asia/Tokyo"));
    assert_eq!(wiring.people.freeze, Right::Admin);
    let cert = &wiring.plugins[&"cert-manager".into()];
    assert_eq!(cert.chart, Chart::Oci { reference: "registry.example/charts/cert-manager".into(), plain: false });
    assert_eq!(cert.poll.as_secs(), 300);
    assert!(cert.write[0].per_cluster());
    let [release, application, resource] = &cert.signals[..] else {
        panic!("three signals, in order: {:?}", cert.signals)
    };
    let kinds = [release, application, resource].map(|signal| signal.kind.name);
    assert_eq!(kinds, ["helmRelease", "application", "resource"]);
    let text = |signal: &signal::SignalSpec, key: &str| {
        let parse::settings::Given::Text(text) = &signal.values[key] else { panic!("`{key}` is no text") };
        text.clone()
    };
    assert_eq!(text(release, "namespace"), "cert-manager");
    assert_eq!(text(application, "name"), "{cluster}-cert-manager");
    assert_eq!(text(resource, "version"), "$.metadata.labels.version", "the forms of kubectl become RFC 9535");
    assert_eq!(text(resource, "generation"), "$.status.observedGeneration");
    let loki = &wiring.plugins[&"loki".into()];
    assert_eq!(loki.chart, Chart::Http { repository: "https://charts.example/stable".into(), name: "loki".into() });
    assert_eq!(loki.poll.as_secs(), 900, "the default");
    let (from, tag) = (Some("acme/charts".to_string()), Some("{plugin}-v{version}".to_string()));
    assert_eq!((cert.released.clone(), loki.released.clone()), (Released { from, tag }, Released::default()));
    assert_eq!(policy.plugins[0].checks, ["e2e", "Upgrade test"]);
    let write = Write {
        file: "clusters/{tier}/loki.yaml".into(),
        format: None,
        scalar: Some(Scalar { document: None, path: "$.spec.chart.spec.version".into(), value: None }),
        template: None,
    };
    assert_eq!(loki.write, [write]);
    let [fast, slow] = &policy.plugins[0].hotfixes[..] else { panic!("two hotfixes") };
    assert_eq!(
        (fast.version.as_str(), fast.soak, fast.through_windows),
        ("v1.14.9", Some(SignedDuration::from_mins(30)), true)
    );
    assert_eq!((slow.why.as_str(), slow.soak, slow.through_windows), ("data loss", None, false));
    assert_eq!(
        (policy.plugins[0].cooldown, policy.plugins[1].cooldown),
        (SignedDuration::from_mins(90), SignedDuration::ZERO)
    );
    assert_eq!(policy.plugins[1].after, [After { plugin: "cert-manager".into(), version: None }]);
    let [block, withdrawn] = &policy.plugins[0].blocks[..] else { panic!("two blocks") };
    assert!(policy.plugins[0].prereleases && !policy.plugins[1].prereleases);
    assert_eq!(block.from.as_ref().map(|from| from.as_str()), Some("<1.15"));
    assert_eq!((block.to.as_str(), block.why.as_str()), ("1.15.0", "CRD migration"));
    assert_eq!(block.fixed_in, "1.15.1".parse().ok());
    assert_eq!((&block.above, &withdrawn.above), (&Some("qa".into()), &None));
    let plugin = &policy.plugins[0];
    assert_eq!((plugin.deprecated.as_ref().map(|old| old.as_str()), plugin.max_live), (Some("<1.12"), Some(3)));
    let expires: Vec<(&str, String, &str)> =
        plugin.expires.iter().map(|e| (e.versions.as_str(), e.at.to_string(), e.why.as_str())).collect();
    // That day included, in the zone of the file.
    assert_eq!(expires[0], ("<1.11", "2027-03-01T23:00:00Z".to_string(), "end of support"));
    assert_eq!(expires[1], ("1.9.x", "2026-12-01T12:00:00Z".to_string(), ""));
    assert_eq!(
        policy.plugins.iter().map(|plugin| plugin.next).collect::<Vec<_>>(),
        [Next::NewestFinished, Next::Every]
    );
}

#[test]
fn a_signal_that_proves_less_is_warned_of_where_nothing_else_is_asked() {
    let warned = |signals: &str| {
        let text = format!(
            "tiers: [{{name: gold}}]\nplugins:\n  - name: loki\n    chart: {{oci: oci://registry.example/loki}}\n    \
             write: [{{file: loki.yaml, path: $.version}}]\n    signals: {signals}\n"
        );
        let warnings = load(&[SourceFile { path: "coldframe.yaml".into(), text }]).unwrap().warnings;
        warnings.into_iter().map(|warning| (warning.line, warning.message)).collect::<Vec<_>>()
    };
    let secret = "helmSecret: {namespace: loki, release: loki}";
    let [(line, message)] = &warned(&format!("[{{{secret}}}]"))[..] else { panic!("one warning") };
    assert_eq!(*line, 6);
    let expected = "plugin `loki`: nothing here proves that a release runs well: `helmSecret` proves what Helm has deployed, \
                    not that its pods are well, unless Helm was told to wait";
    assert!(message.ends_with(expected), "{message}");
    let workload = "workload: {kind: Deployment, namespace: loki, name: loki}";
    assert_eq!(warned(&format!("[{{{secret}}}, {{{workload}}}]")), []);
    assert_eq!(warned("[{helmRelease: {namespace: loki, name: loki}}]"), []);
    let query = |more: &str| format!("prometheus: {{url: https://prom.example, query: up, expect: '>= 1'{more}}}");
    let page = "http: {url: https://loki.example, version: $.v, state: {path: $.s, healthy: [ok]}}";
    let [(_, message)] = &warned(&format!("[{{{}}}, {{{page}}}]", query("")))[..] else { panic!("one warning") };
    assert!(
        message.contains("`prometheus` proves what its query says") && message.contains("`http` proves what answers")
    );
    assert_eq!(warned(&format!("[{{{}}}]", query(", version: revision"))), []);
    assert_eq!(warned(&format!("[{{{}}}, {{{workload}}}]", query(""))), []);
}

#[test]
fn a_query_that_no_run_would_ever_answer_is_warned_of() {
    let warned = |head: &str, signals: &str| {
        let text = format!(
            "{head}tiers: [{{name: gold}}]\nplugins:\n  - name: loki\n    chart: {{oci: oci://registry.example/loki}}\n    \
             write: [{{file: loki.yaml, path: $.version}}]\n    signals: [{signals}]\n"
        );
        let warnings = load(&[SourceFile { path: "coldframe.yaml".into(), text }]).unwrap().warnings;
        warnings.into_iter().map(|warning| warning.message).collect::<Vec<_>>()
    };
    let release = "{helmRelease: {namespace: loki, name: loki}}";
    let workload = "{workload: {kind: Deployment, namespace: loki, name: loki}}";
    let query = |more: &str| format!("{{prometheus: {{url: https://prom.example, query: up, expect: '>= 1'{more}}}}}");
    let both = |one: &str, more: &str| format!("{one}, {}", query(more));
    let [message] = &warned("schedule: 10m\n", &both(workload, ""))[..] else { panic!("one warning") };
    assert!(message.contains("`prometheus` gets no answer beside `workload`"), "{message}");
    assert_eq!(warned("", &both(workload, "")), [""; 0], "a process that stays remembers");
    assert_eq!(warned("schedule: 10m\n", &both(release, "")), [""; 0], "it says since when");
    assert_eq!(warned("schedule: 10m\n", &both(workload, ", version: revision")), [""; 0], "it proves for itself");
}
