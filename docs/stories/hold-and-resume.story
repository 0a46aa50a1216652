# Somebody who sees trouble holds the pull request of gold. An approval does not pass the hold; whoever may
# write resumes it.
story: Hold and resume
zone: Europe/Berlin
policy: ladder.yaml
clusters: qa-1 qa-2  tier=qa
clusters: bronze-1 bronze-2  tier=bronze
clusters: silver-1 silver-2  tier=silver
clusters: gold-1 gold-2  tier=gold
plugins: cert-manager 1.15.0
owners: maria noor
people: kim
strangers: eve

2026-11-23 09:00  release cert-manager 1.15.1
Tue 12:00         maria approves cert-manager on silver
Thu 13:00         kim holds cert-manager on gold: customer demo on Friday
                  expect cert-manager on gold says held by kim: customer demo on Friday
13:30             noor approves cert-manager on gold
Fri 18:00         expect not gold merged cert-manager 1.15.1
                  eve resumes cert-manager on gold
18:30             expect cert-manager on gold says held by kim
Mon 09:00         kim resumes cert-manager on gold
09:01             expect gold merged cert-manager 1.15.1
