# Preset canary: a tenth of the clusters, an hour later half of them, and the rest when somebody has looked.
# One approval is enough for all three pull requests.
story: A canary
policy:
  extends: [canary]
clusters: eu-1 eu-2 eu-3 eu-4 eu-5 eu-6 us-1 us-2 us-3 us-4
plugins: loki 3.1.0
owners: maria
people: kim
strangers: eve

2026-11-23 09:00  release loki 3.1.1
                  expect loki on all says waits for an approval by @maria
10:00             maria approves loki on all
10:30             expect eu-1 runs loki 3.1.1
                  expect eu-2 runs loki 3.1.0
                  expect loki on all says pauses for 1 h before the next slice
11:30             expect eu-5 runs loki 3.1.1
                  expect eu-6 runs loki 3.1.0

# The second pause has no length: it waits until somebody who may write lets it go on.
Tue 09:00         expect loki on all says the next slice waits until somebody lets it go on
                  expect eu-6 runs loki 3.1.0
                  expect 2 pull requests
                  eve resumes loki on all
+1h               expect us-4 runs loki 3.1.0
                  kim resumes loki on all
+30m              expect us-4 runs loki 3.1.1
                  expect 3 pull requests
+1h               expect all finished loki 3.1.1

# One cluster is not well on the next release: the others never see it.
                  release loki 3.1.2
                  eu-1 breaks on loki 3.1.2: out of memory
                  maria approves loki on all
+3h               expect all failed loki 3.1.2
                  expect eu-2 runs loki 3.1.1
