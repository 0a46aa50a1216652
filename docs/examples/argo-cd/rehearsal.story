# A canary of one cluster, then two, then all; and one that goes wrong is taken back.
story: A canary in production
policy: coldframe.yaml
clusters: staging-eu  tier=staging
clusters: production-ap production-eu production-us  tier=production
plugins: podinfo 6.8.0
owners: maria

2026-11-23 09:00  release podinfo 6.8.1
15:00             expect staging finished podinfo 6.8.1
                  maria approves podinfo on production
15:30             expect production-ap runs podinfo 6.8.1
                  expect production-eu runs podinfo 6.8.0
17:00             expect production-eu runs podinfo 6.8.1
                  expect podinfo on production says the next slice waits until somebody lets it go on
                  maria resumes podinfo on production
18:00             expect production-us runs podinfo 6.8.1

Wed 09:00         release podinfo 6.8.2
                  production-ap breaks on podinfo 6.8.2: CrashLoopBackOff
15:00             maria approves podinfo on production
16:00             expect production failed podinfo 6.8.2
                  maria approves podinfo on production
17:00             expect production-ap runs podinfo 6.8.1
                  expect production-us runs podinfo 6.8.1
