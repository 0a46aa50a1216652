# Preset gardener-grace: a minor release reaches production in the end although nobody answers, told in
# advance and in a window; a patch asks nobody.
story: A grace period, then it comes by itself
policy:
  extends: [gardener-grace]
clusters: eval-1  purpose=evaluation
clusters: dev-1 dev-2  purpose=development
clusters: prod-1 prod-2 prod-3  purpose=production
plugins: ingress 4.10.0
owners: maria

2026-10-05 09:00  release ingress 4.11.0
09:30             expect evaluation merged ingress 4.11.0
Tue 12:00         expect ingress on development says waits for an approval by @maria
# Nobody answers: told after a week and after thirteen days; merged in the first window after the fourteenth.
2026-10-13 12:00  expect 1 notice
2026-10-20 09:30  expect development forced ingress 4.11.0
2026-10-22 12:00  expect ingress on production is open
2026-11-08 12:00  expect 3 notices
2026-11-20 12:00  expect 5 notices
                  expect not production merged ingress 4.11.0
2026-11-23 08:30  expect production forced ingress 4.11.0
                  expect 2 forced merges
2026-11-24 10:00  expect production finished ingress 4.11.0

# A patch asks nobody, and waits for its window only.
2026-11-27 18:00  release ingress 4.11.1
2026-12-04 12:00  expect production merged ingress 4.11.1
                  expect 2 forced merges
