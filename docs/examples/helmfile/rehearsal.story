# A minor release is held by a reviewer and closed; its fix comes by itself and is announced before production.
story: Held, closed, and fixed
policy: coldframe.yaml
clusters: staging-eu  tier=staging
clusters: production-eu  tier=production
plugins: podinfo 6.8.0
owners: maria noor

2026-11-23 09:00  release podinfo 6.8.1
12:00             expect staging runs podinfo 6.8.1
Tue 10:00         expect staging finished podinfo 6.8.1
                  release podinfo 6.9.0
11:00             expect podinfo on staging says waits for an approval by @maria, @noor
                  maria holds podinfo on staging: the new probe is too strict
                  noor approves podinfo on staging
12:00             expect not staging merged podinfo 6.9.0
                  expect podinfo on staging says the new probe is too strict
                  maria closes podinfo on staging
                  maria approves podinfo on production
15:00             expect production runs podinfo 6.8.1

Wed 09:00         release podinfo 6.9.1
                  noor approves podinfo on staging
10:00             expect staging runs podinfo 6.9.1
Thu 11:00         expect staging finished podinfo 6.9.1
                  maria approves podinfo on production
13:00             expect not production merged podinfo 6.9.1
16:00             expect production runs podinfo 6.9.1

expect never staging merges podinfo 6.9.0
