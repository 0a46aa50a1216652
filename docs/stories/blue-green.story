# Preset blue-green: the preview gets the release first, somebody tries it there, and then all the rest follow
# at once. A preview that is not well goes no further.
story: Blue and green
policy:
  extends: [blue-green]
clusters: eu-1 us-1  preview=true
clusters: eu-2 eu-3 us-2 us-3
plugins: portal 4.2.0
owners: maria
people: kim

2026-11-23 09:00  release portal 4.3.0
                  maria approves portal on all
10:00             expect us-1 runs portal 4.3.0
                  expect eu-2 runs portal 4.2.0
Tue 09:00         expect portal on all says the next slice waits until somebody lets it go on
                  expect us-3 runs portal 4.2.0
                  kim resumes portal on all
09:20             expect eu-2 runs portal 4.3.0
                  expect us-3 runs portal 4.3.0
                  expect 2 pull requests
+2h               expect all finished portal 4.3.0

                  release portal 4.3.1
                  us-1 breaks on portal 4.3.1: login fails
                  maria approves portal on all
+1h               expect all failed portal 4.3.1
                  expect eu-2 runs portal 4.3.0
+1d               expect 3 pull requests
