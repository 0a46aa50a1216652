# Production moves one cluster after the other, and only as far as all of those before are healthy.
story: One cluster of production after the other
zone: Europe/Berlin
policy: coldframe.yaml
clusters: staging-1 staging-2  tier=staging
clusters: production-ap production-eu production-us  tier=production
plugins: cert-manager v1.17.1, podinfo 6.8.0
owners: maria

2026-11-23 09:00  release cert-manager v1.17.2
                  release podinfo 6.8.1
                  expect not staging opened podinfo 6.8.1
Tue 12:00         expect staging finished cert-manager v1.17.2
                  expect staging-1 runs podinfo 6.8.1
                  maria approves cert-manager on production
14:00             expect production-us runs cert-manager v1.17.2

# podinfo comes after it. One cluster does not take it, so that the others never see it.
Mon 09:00         production-eu breaks on podinfo 6.8.1: CrashLoopBackOff
                  maria approves podinfo on production
14:00             expect production-ap runs podinfo 6.8.1
                  expect production failed podinfo 6.8.1
                  expect production-us runs podinfo 6.8.0
