# Preset all-at-once: one tier with every cluster. What nobody approves waits; a newer release takes its place in
# the same pull request.
story: All at once
policy:
  extends: [all-at-once]
clusters: eu-1 eu-2 us-1
plugins: loki 3.1.0
owners: maria

2026-11-23 09:00  release loki 3.1.1
Tue 09:00         expect loki on all says waits for an approval by @maria
                  release loki 3.1.2
09:01             expect all opened loki 3.1.2
                  expect 1 pull request
                  maria approves loki on all
+30m              expect us-1 runs loki 3.1.2
+1h               expect all finished loki 3.1.2

expect never all merges loki 3.1.1
