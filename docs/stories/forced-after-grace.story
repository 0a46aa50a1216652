# Gold asks its owners and gives them ten days. They are told three times, nobody answers, and the bot
# merges without the approval at the end: force waives approvals and nothing else.
story: Forced after the grace period
zone: Europe/Berlin
policy:
  windows: {zone: Europe/Berlin, open: ["Mon-Thu 08:00-16:00"]}
  tiers:
    - {name: bronze, select: {matchLabels: {tier: bronze}}, merge: automatic, soak: 24h}
    - name: gold
      select: {matchLabels: {tier: gold}}
      soak: 24h
      force: {after: 10d, notice: [5d, 2d, 1d]}
clusters: bronze-1  tier=bronze
clusters: gold-1 gold-2  tier=gold
plugins: loki 3.1.0
owners: maria

2026-11-24 10:00  release loki 3.1.1
11:00             expect bronze merged loki 3.1.1
Wed 11:00         expect loki on gold is open
                  expect loki on gold says waits for an approval by @maria
Mon 12:00         expect 1 notice
Fri 12:00         expect 3 notices
                  expect not gold merged loki 3.1.1
# The ten days are over on Saturday morning; the next window opens on Monday.
Sun 12:00         expect not gold merged loki 3.1.1
                  expect loki on gold says the window of the policy file is closed
Mon 08:30         expect gold forced loki 3.1.1
                  expect gold runs loki 3.1.1
Tue 12:00         expect gold finished loki 3.1.1
                  expect 1 forced merge
