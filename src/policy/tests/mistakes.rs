//! Each mistake of the file and its tiers alone, and what is said about it. Those of a plugin are in
//! `plugin_mistakes`.

use super::problems;

/// One mistake in a file, and how what is said about it begins.
const MISTAKES: &[(&str, &str)] = &[
    // the file itself
    ("", "1:1: the file is empty"),
    ("# nothing", "1:1: the file is empty"),
    ("- a", "1:1: expected a mapping of `version`, `extends`"),
    ("hello", "1:1: expected a mapping of"),
    ("tiers: [", "1:8: this is not YAML"),
    ("version: 1\n---\nversion: 1", "2:1: a second document begins here"),
    ("version: 1\nversion: 1", "2:1: the key `version` stands here twice (the first is on line 1"),
    ("version: 2", "1:10: `version`: this file is of format 2"),
    ("version: ^1", "1:10: `version`: expected a whole number, found a text"),
    ("tiers:", "1:1: `tiers`: nothing stands here"),
    ("? [a]\n: b", "1:3: a key must be a text"),
    ("<<: {version: 1}", "1:1: merge keys"),
    ("version: *one", "1:10: no anchor `&one`"),
    ("version: !!int 1", "1:10: a tag"),
    ("version: 1\r\n# a\rtiers: []", "2:4: a carriage return stands alone"),
    // unknown, misplaced and later keys
    ("tires: []", "1:1: unknown key `tires` at the top level (did you mean `tiers`?)"),
    (
        "soak: 24h",
        "1:1: unknown key `soak` at the top level (`soak` belongs in a tier or an override or a hotfix; known here: `version`",
    ),
    ("xyzzy: 1", "1:1: unknown key `xyzzy` at the top level (known here: `version`, `extends`"),
    ("group: []", "1:1: `group` is not supported by this version"),
    ("pullRequests: {note: \"\"}", "1:22: `note` of `pullRequests`: it must be a text of 1 to 2000 characters"),
    ("pullRequests: {note: \"<!-- x -->\"}", "1:22: `note` of `pullRequests`: it must not hold HTML"),
    ("pullRequests: {note: \"a\\n```\\nb\"}", "1:22: `note` of `pullRequests`: it must not hold a block of code"),
    (
        "notify: [{issue: {number: 7}, email: {smtp: {secret: A}, to: [a@b.example]}}]",
        "1:10: `notify`: it goes to several places",
    ),
    ("notify: [{email: {smtp: {secret: A}, to: []}}]", "1:42: `to` of `email` of `notify`: nobody is named"),
    ("notify: [{email: {smtp: {secret: A}, to: [kim@acme]}}]", "1:43: `to` of `email` of `notify`: `kim@acme` is no"),
    (
        "notify: [{issue: {number: 7, mention: [a, b, c, d, e, f, g, h, i, j, k]}}]",
        "1:39: `mention` of `issue` of `notify`: 11 people and teams, and 10 is the most",
    ),
    (
        "pullRequests: {windows: {zone: UTC, closed: [{from: 2020-01-01, to: 2099-12-31}]}}",
        "1:25: `windows` of `pullRequests`: they never open, so that nothing would be promoted",
    ),
    (
        "pullRequests: {windows: {open: [\"Mon 08:00-09:00\"]}}",
        "1:16: `windows` of `pullRequests`: a `zone` is missing",
    ),
    ("pullRequests: {note: \"# a\"}", "1:22: `note` of `pullRequests`: `# a` would be a heading"),
    (
        "pullRequests: {body: \"{summary} {status}\"}",
        "1:22: `body` of `pullRequests`: `{summary}` must stand alone on its line",
    ),
    (
        "pullRequests: {body: \"{sumary}\\n{status}\\n{help}\"}",
        "1:22: `body` of `pullRequests`: `{sumary}` is not known (did you mean `{summary}`?",
    ),
    ("pullRequests: {body: \"{help}\\n{status}\\n{help}\"}", "1:22: `body` of `pullRequests`: it has `{help}` twice"),
    (
        "pullRequests: {body: \"{summary}\\n<details>\\n{status}\\n{help}\"}",
        "1:22: `body` of `pullRequests`: it must not hold HTML",
    ),
    ("tiers: [{name: gold, announce: soon}]", "1:32: `announce` of tier `gold`: `soon` is not a duration"),
    (
        "tiers: [{name: gold, onFailure: {rollBack: {merge: automatc}}}]",
        "1:52: `merge` of `rollBack` of `onFailure` of tier `gold`: `automatc` is not known (did you mean",
    ),
    (
        "tiers: [{name: qa, select: {}, merge: none}, {name: gold, select: {}, merge: none}]",
        "1:78: tier `gold` is not the first, and only the first may follow releases by itself (say who merges",
    ),
    (
        "tiers: [{name: gold, onFailure: {rollBack: {}, stall: {}}}]",
        "1:48: unknown key `stall` in `onFailure` of tier `gold`",
    ),
    ("tiers: [{name: gold, onFailure: revert}]", "1:33: `onFailure` of tier `gold`: `revert` is not known"),
    (
        "tiers: [{name: gold, approvals: {covers: [golf]}}]",
        "1:43: `approvals` of tier `gold`: there is no tier `golf` (did you mean `gold`?)",
    ),
    (
        "tiers: [{name: a, select: {}}, {name: b, select: {}, approvals: {covers: [b, a]}}]",
        "1:78: `approvals` of tier `b`: `covers` names tier `a`, which lies below",
    ),
    ("clusters: {from: argcd}", "1:18: `from` of `clusters`: `argcd` is not known (did you mean `argocd`?)"),
    (
        "clusters: {from: argocd}",
        "1:18: `clusters`: `argocd` needs a `connection` to the cluster that lists them (add `connection: NAME`",
    ),
    ("clusters: {from: ocm, connection: hub, namespace: x}", "1:40: `clusters`: a ManagedCluster is in no namespace"),
    ("clusters: {from: flux, connection: hub}", "1:18: `clusters`: `flux` needs a `select`: nothing else tells"),
    ("clusters: {from: flux, connection: hub, select: {}}", "1:49: `clusters`: `flux` needs a `select`"),
    ("clusters: {from: ocm, connection: hub, path: x}", "1:40: `clusters`: `path` is of a file"),
    ("clusters: {connection: hub}", "1:12: `clusters`: `connection` is not for clusters that a file lists"),
    ("clusters: {from: file, select: {}}", "1:24: `clusters`: `select` is not for clusters that a file lists"),
    (
        "clusters: {from: ocm, connection: a b}",
        "1:35: `connection` of `clusters`: `a b` is not the name of a credential",
    ),
    ("clusters: {from: argocd, connection: hub, namespace: A}", "1:54: `namespace` of `clusters`: `A` is not a name"),
    (
        "clusters: {from: ocm, connection: hub, select: {matchExpressions: [{key: a, operator: In}]}}",
        "1:87: `In` compares with nothing",
    ),
    (
        "people: {force: anybody}",
        "1:17: `force` of `people`: `anybody` is not known (write one of `write`, `codeOwners`, `admin`)",
    ),
    // strategies
    (
        "tiers: [{name: gold, strategy: canary}]",
        "1:32: `strategy` of tier `gold`: `canary` is not known (write one of `allAtOnce`, `delegated`)",
    ),
    ("tiers: [{name: gold, strategy: {}}]", "1:32: `strategy` of tier `gold`: an empty mapping names no strategy"),
    (
        "tiers: [{name: gold, strategy: {rollingUpdate: {maxUpdate: 3}, delegated: true}}]",
        "1:64: `strategy` of tier `gold`: a tier has one strategy",
    ),
    (
        "tiers: [{name: gold, strategy: {rollingUpdate: {maxUpdate: 3, maxUnavailable: 3}}}]",
        "1:63: `rollingUpdate` of `strategy` of tier `gold`: `maxUnavailable` is another name of `maxUpdate`",
    ),
    (
        "tiers: [{name: gold, strategy: {rollingUpdate: {maxUnavailable: 0}}}]",
        "1:65: `rollingUpdate` of `strategy` of tier `gold`: a cluster is unavailable while it moves, so that none could move (write how many may move at once, `maxUnavailable: 1`",
    ),
    (
        "tiers: [{name: gold, strategy: {rollingUpdate: {maxUnavailable: 0%}}}]",
        "1:65: `rollingUpdate` of `strategy` of tier `gold`: a cluster is unavailable while it moves",
    ),
    (
        "tiers: [{name: gold, strategy: {rollingUpdate: {maxSurge: 25%}}}]",
        "1:49: `rollingUpdate` of `strategy` of tier `gold`: `maxSurge` is not supported by this version of Coldframe (clusters do not surge: none is added for an update",
    ),
    (
        "tiers: [{name: gold, strategy: {rollingUpdate: {maxUpdate: 3, window: sliding}}}]",
        "1:63: `rollingUpdate` of `strategy` of tier `gold`: `window` is not supported by this version of Coldframe (a step is one pull request, and the next one waits for it",
    ),
    (
        "tiers: [{name: gold, strategy: {canary: {maxSurge: 1, steps: [{setWeight: 10}]}}}]",
        "1:42: `canary` of `strategy` of tier `gold`: `maxSurge` is not supported by this version of Coldframe (clusters do not surge",
    ),
    (
        "tiers: [{name: gold, strategy: {rollingUpdate: {maxUpdate: 101%}}}]",
        "1:60: `maxUpdate` of `rollingUpdate` of `strategy` of tier `gold`: `101%` is no number of members (write `3` or `25%`)",
    ),
    (
        "tiers: [{name: gold, strategy: {rollingUpdate: {maxUpdate: -1}}}]",
        "1:60: `maxUpdate` of `rollingUpdate` of `strategy` of tier `gold`: `-1` is no number of members",
    ),
    (
        "tiers: [{name: gold, strategy: {canary: {steps: [{setWeight: 101}]}}}]",
        "1:62: `canary` of `strategy` of tier `gold`: a weight is a percentage, 0 to 100",
    ),
    (
        "tiers: [{name: gold, strategy: {canary: {steps: [{setWeight: 50}, {setWeight: 10}]}}}]",
        "1:79: `canary` of `strategy` of tier `gold`: a lower weight would take clusters back from a release that is healthy there",
    ),
    (
        "tiers: [{name: gold, strategy: {canary: {steps: [{setWeight: 50, pause: {}}]}}}]",
        "1:66: `canary` of `strategy` of tier `gold`: a step is one thing",
    ),
    (
        "tiers: [{name: gold, strategy: {canary: {steps: [{}]}}}]",
        "1:50: `canary` of `strategy` of tier `gold`: an empty step",
    ),
    (
        "tiers: [{name: gold, strategy: {canary: {steps: [{verify: {workflow: a.yml}}]}}}]",
        "1:51: `canary` of `strategy` of tier `gold`: nothing has moved before this workflow",
    ),
    (
        "tiers: [{name: gold, strategy: {canary: {steps: [{setWeight: 100}, {verify: {workflow: a.yml}}]}}}]",
        "1:69: `canary` of `strategy` of tier `gold`: nothing follows this workflow",
    ),
    (
        "tiers: [{name: gold, strategy: {canary: {steps: [{setWeight: 10}, {verify: {workflow: .github/a.yml}}]}}}]",
        "1:87: `workflow` of `verify` of `steps` of `canary` of `strategy` of tier `gold`: `.github/a.yml` is not the file",
    ),
    (
        "tiers: [{name: gold, strategy: {canary: {steps: [{setWeight: 10}, {verify: {timeout: 0s, workflow: a.yml}}]}}}]",
        "1:86: `canary` of `strategy` of tier `gold`: nothing succeeds in no time",
    ),
    (
        "tiers: [{name: gold, strategy: {canary: {steps: [{setWeight: 10}, {verify: {}}]}}}]",
        "1:76: `verify` of `steps` of `canary` of `strategy` of tier `gold` has no `workflow`",
    ),
    (
        "tiers: [{name: qa, merge: none, verify: {workflow: a.yml}, select: {}}, {name: gold, select: {}}]",
        "1:33: tier `qa`: releases come here by themselves, so that nobody waits for a workflow",
    ),
    (
        "tiers: [{name: gold, strategy: {canary: {steps: [{pause: {}}]}}}]",
        "1:51: `canary` of `strategy` of tier `gold`: nothing has moved before this pause",
    ),
    (
        "tiers: [{name: gold, strategy: {canary: {steps: [{setWeight: 100}, {pause: {}}]}}}]",
        "1:69: `canary` of `strategy` of tier `gold`: nothing follows this pause",
    ),
    (
        "tiers: [{name: gold, strategy: {blueGreen: {}}}]",
        "1:44: `blueGreen` of `strategy` of tier `gold` has no `preview`",
    ),
    // words and types
    ("extends: [bronze]", "1:11: `extends`: `bronze` is not known"),
    ("extends: bronze-silver-gold", "1:10: `extends`: expected a list (`[…]`, also for one), found a text"),
    (
        "extends: [bronze-silver-gld]",
        "1:11: `extends`: `bronze-silver-gld` is not known (did you mean `bronze-silver-gold`?)",
    ),
    (
        "tiers: [{name: gold, merge: automatc}]",
        "1:29: `merge` of tier `gold`: `automatc` is not known (did you mean `automatic`?)",
    ),
    (
        "tiers: [{name: gold, merge: [patch]}]",
        "1:29: `merge` of tier `gold`: expected one of `automatic`, `approved`, `manual`, `none`, found a list",
    ),
    ("tiers: [{name: gold, merge: {patch: yes}}]", "1:37: `patch` of `merge` of tier `gold`: `yes` is not known"),
    (
        "tiers: [{name: gold, approvals: {codeOwners: yes}}]",
        "1:46: `codeOwners` of `approvals` of tier `gold`: `yes` is no boolean (write `true`",
    ),
    (
        "tiers: [{name: gold, approvals: {atLeast: two}}]",
        "1:43: `atLeast` of `approvals` of tier `gold`: expected a whole number, found a text",
    ),
    (
        "tiers: [{name: gold, approvals: {atLeast: -1}}]",
        "1:43: `atLeast` of `approvals` of tier `gold`: expected a whole number, found a number",
    ),
    (
        "tiers: [{name: gold, approvals: {team: acme/sre, atLeast: 0}}]",
        "1:34: `approvals` of tier `gold`: `team` says whose approvals count, and `atLeast: 0` asks for none",
    ),
    (
        "tiers: [{name: gold, approvals: {team: '@acme/sre'}}]",
        "1:40: `team` of `approvals` of tier `gold`: `@acme/sre` is not a team (write it without the `@`: `acme/sre`)",
    ),
    (
        "tiers: [{name: gold, approvals: {team: sre}}]",
        "1:40: `team` of `approvals` of tier `gold`: `sre` is not a team",
    ),
    ("limits: {openPulls: 0}", "1:21: `openPulls` of `limits`: 0 is not in 1 to 1000000"),
    ("tiers: gold", "1:8: `tiers`: expected a list (`[…]`, also for one), found a text"),
    ("tiers: [gold]", "1:9: `tiers`: expected a mapping of `name`"),
    ("tiers: []", "1:8: `tiers` is an empty list"),
    (
        "people: {hold: owner}",
        "1:16: `hold` of `people`: `owner` is not known (write one of `write`, `codeOwners`, `admin`)",
    ),
    // names
    (
        "tiers: [{name: Gold}]",
        "1:16: `name` of tier `Gold`: `Gold` is not a name: lower-case letters, digits and inner hyphens, at most 63 (`gold` would be one)",
    ),
    (
        "tiers: [{name: a_b}]",
        "1:16: `name` of tier `a_b`: `a_b` is not a name: lower-case letters, digits and inner hyphens, at most 63 (`a-b` would be one)",
    ),
    ("tiers: [{name: -a}]", "1:16: `name` of tier `-a`: `-a` is not a name"),
    ("tiers: [{soak: 1h}]", "1:9: a tier has no `name` (add `name:`)"),
    ("tiers: [{name: a}]\nfreeze: [{why: x, tiers: [b]}]", "2:27: `freeze`: there is no tier `b`"),
    ("freeze: [{why: x, plugins: [loki]}]", "1:29: `freeze`: there is no plugin `loki` (there is no plugin at all)"),
    // durations
    ("tiers: [{name: a, soak: 90}]", "1:25: `soak` of tier `a`: `90` has no unit (write `90s`, `90m`, `90h` or `90d`)"),
    ("tiers: [{name: a, soak: 1.5}]", "1:25: `soak` of tier `a`: `1.5` has no unit"),
    ("tiers: [{name: a, soak: soon}]", "1:25: `soak` of tier `a`: `soon` is not a duration"),
    ("tiers: [{name: a, soak: -1h}]", "1:25: `soak` of tier `a`: `-1h` is negative"),
    ("tiers: [{name: a, soak: 1mo}]", "1:25: `soak` of tier `a`: `1mo`: months and years have no fixed length"),
    ("tiers: [{name: a, soak: 9999d}]", "1:25: `soak` of tier `a`: `9999d` is longer than ten years"),
    ("tiers: [{name: a, soak: [1h]}]", "1:25: `soak` of tier `a`: expected a duration such as `24h`, found a list"),
    ("tiers: [{name: a, soak: {}}]", "1:25: `soak` of tier `a` has no `min`"),
    (
        "tiers: [{name: a, soak: {min: 2d, max: 1d}}]",
        "1:40: `soak` of tier `a`: `max` (1 d) is shorter than `min` (2 d) (make it longer",
    ),
    ("tiers: [{name: a, soak: {min: 0s, max: 0s}}]", "1:40: `soak` of tier `a`: a `max` of no time at all"),
    (
        "tiers: [{name: a, health: {progressDeadline: 0s}}]",
        "1:46: `progressDeadline` of `health` of tier `a`: no time at all",
    ),
    ("tiers: [{name: a, health: {maxAge: 0s}}]", "1:36: `maxAge` of `health` of tier `a`: no time at all"),
    // force
    ("tiers: [{name: a, force: {notice: [1d]}}]", "1:26: `force` of tier `a` has no `after`"),
    (
        "tiers: [{name: a, force: {after: 1d, notice: [2d]}}]",
        "1:47: `force` of tier `a`: a notice 2 d before the deadline is longer than `after` (1 d)",
    ),
    (
        "tiers: [{name: a, force: {after: 9d, notice: [1d, 24h]}}]",
        "1:51: `force` of tier `a`: the notice of 1 d stands here twice",
    ),
    ("tiers: [{name: a, force: {after: 0s, notice: [0s]}}]", "1:34: `force` of tier `a`: `after` is no time at all"),
    ("tiers: [{name: a, branch: a..b}]", "1:27: `branch` of tier `a`: `a..b` cannot be a branch"),
    (
        "tiers: [{name: a, branch: refs/heads/gold}]",
        "1:27: `branch` of tier `a`: `refs/heads/gold` is a reference (write the branch alone: `gold`)",
    ),
    (
        "tiers: [{name: a, branch: coldframe/a/b}]",
        "1:27: `branch` of tier `a`: `coldframe/a/b` is a branch of the bot's own",
    ),
    // windows and freezes
    ("windows: {open: [\"08:00-16:00\"]}", "1:1: `windows`: a `zone` is missing"),
    ("windows: {zone: Mars}", "1:17: `zone` of `windows`: `Mars` is not a time zone"),
    ("windows: {zone: CEST}", "1:17: `zone` of `windows`: `CEST` is not a time zone"),
    ("windows: {zone: UTC, open: [Mon]}", "1:29: `open` of `windows`: `Mon` names no hours"),
    ("windows: {zone: UTC, open: ['Mon 8:00-16:00']}", "1:29: `open` of `windows`: `8:00` is not a time of day"),
    ("windows: {zone: UTC, open: ['Mon 08:00-25:00']}", "1:29: `open` of `windows`: `25:00` is not a time of day"),
    ("windows: {zone: UTC, open: ['Mon 08:60-09:00']}", "1:29: `open` of `windows`: `08:60` is not a time of day"),
    ("windows: {zone: UTC, open: ['Mon 24:00-09:00']}", "1:29: `open` of `windows`: a window cannot begin at `24:00`"),
    (
        "windows: {zone: UTC, open: ['Mon 09:00-09:00']}",
        "1:29: `open` of `windows`: `09:00-09:00` is empty (the whole day is `00:00-24:00`)",
    ),
    ("windows: {zone: UTC, open: ['Mo-Fr 09:00-10:00']}", "1:29: `open` of `windows`: `Mo` is not a weekday"),
    (
        "windows: {zone: UTC, open: ['Mon - Fri 09:00-10:00']}",
        "1:29: `open` of `windows`: `Mon - Fri 09:00-10:00` is not a window",
    ),
    (
        "windows: {zone: UTC, open: [{cron: '0 8 * *', for: 8h}]}",
        "1:36: `cron` of `open` of `windows`: `0 8 * *` is not a schedule: a schedule has five fields, and this has 4",
    ),
    (
        "windows: {zone: UTC, open: [{cron: '0 25 * * *', for: 8h}]}",
        "1:36: `cron` of `open` of `windows`: `0 25 * * *` is not a schedule: `25` is no hour (write a number from 0 to 23",
    ),
    (
        "windows: {zone: UTC, open: [{cron: '0 8 30 2 *', for: 8h}]}",
        "1:36: `cron` of `open` of `windows`: `0 8 30 2 *` is not a schedule: no month has such a day",
    ),
    ("windows: {zone: UTC, open: [{cron: 0 8 * * 1}]}", "1:29: `open` of `windows` has no `for`"),
    (
        "windows: {zone: UTC, open: [{cron: '0 8 * * *', for: 8h, fro: 1h}]}",
        "1:58: unknown key `fro` in `open` of `windows` (did you mean `for`?)",
    ),
    (
        "windows: {zone: UTC, open: [{cron: '0 8 * * *', for: 59s}]}",
        "1:54: `open` of `windows`: a window is open for a minute at least",
    ),
    (
        "windows: {zone: UTC, open: [{cron: '0 8 * * *', for: 32d}]}",
        "1:54: `open` of `windows`: a window of 32 d is no window (31 days are the most",
    ),
    (
        "windows: {zone: UTC, open: [{cron: '0 8 * * *', for: 2h}], room: 2h}",
        "1:66: `windows`: `room` is as long as the longest window (2 h)",
    ),
    ("windows: {zone: UTC, open: []}", "1:28: `windows`: `open` is an empty list"),
    (
        "windows: {zone: UTC, open: ['Mon-Thu 08:00-16:00']}\ntiers:\n  - name: gold\n    windows: {open: ['Sat,Sun 00:00-24:00']}",
        "4:5: tier `gold`: its windows are never open together, so that nothing could merge (the windows of operator",
    ),
    ("schedule: 30s", "1:11: `schedule`: passes come a minute apart at least"),
    ("schedule: hourly", "1:11: `schedule`: `hourly` is not a duration"),
    (
        "freeze: [{why: x, select: {matchLabels: {tier: a b}}}]",
        "1:48: `tier` of `matchLabels` of `select` of `freeze`: `a b` is not the value of a label",
    ),
    (
        "windows: {zone: UTC, open: ['08:00-10:00'], room: 2h}",
        "1:51: `windows`: `room` is as long as the longest window (2 h)",
    ),
    ("windows: {zone: UTC, closed: [{from: 2026-12-20}]}", "1:31: `closed` of `windows` has no `to`"),
    (
        "windows: {zone: UTC, closed: [{from: 2026-12-20, to: 2026-12-19}]}",
        "1:54: `windows`: `to` (2026-12-19) is before `from` (2026-12-20)",
    ),
    (
        "windows: {zone: UTC, closed: [{from: 20.12.2026, to: 2026-12-19}]}",
        "1:38: `from` of `closed` of `windows`: `20.12.2026` is not a date",
    ),
    ("maintenanceWindows: [{windows: {zone: UTC}}]", "1:22: `maintenanceWindows` has no `select`"),
    (
        "windows: {zone: UTC, open: ['08:00-10:00']}\nmaintenanceWindows: [{select: {matchLabels: {a: b}}, windows: {open: ['12:00-14:00']}}]",
        "2:54: `maintenanceWindows`: its windows are never open together, so that nothing could merge",
    ),
    ("freeze: [{until: 2026-12-20T00:00:00Z}]", "1:10: `freeze` has no `why`"),
    ("freeze: [{why: x, until: 2026-12-20}]", "1:26: `freeze`: a date needs a zone, and the file's windows name none"),
    ("freeze: [{why: x, until: tomorrow}]", "1:26: `until` of `freeze`: `tomorrow` is neither a date nor an instant"),
    ("freeze: [{why: '  '}]", "1:16: `why` of `freeze`: the text is empty"),
    // selectors
    (
        "tiers: [{name: a, select: {matchExpressions: [{key: t, operator: in, values: [x]}]}}]",
        "1:66: `operator` of `matchExpressions` of `select` of tier `a`: `in` is not known (did you mean `In`?)",
    ),
    ("tiers: [{name: a, select: {matchExpressions: [{key: t, operator: In}]}}]", "1:66: `In` compares with nothing"),
    (
        "tiers: [{name: a, select: {matchExpressions: [{key: t, operator: NotIn, values: []}]}}]",
        "1:66: `NotIn` compares with nothing",
    ),
    (
        "tiers: [{name: a, select: {matchExpressions: [{key: t, operator: Exists, values: [x]}]}}]",
        "1:82: `Exists` takes no values",
    ),
    (
        "tiers: [{name: a, select: {matchExpressions: [{operator: Exists}]}}]",
        "1:47: `matchExpressions` of `select` of tier `a` has no `key`",
    ),
    (
        "tiers: [{name: a, select: {matchLabels: {tier: [x]}}}]",
        "1:48: `tier` of `matchLabels` of `select` of tier `a`: expected a label value such as `gold`, found a list",
    ),
    (
        "tiers: [{name: a, select: {tier: gold}}]",
        "1:28: unknown key `tier` in `select` of tier `a` (known here: `matchLabels`, `matchExpressions`)",
    ),
    ("tiers: [{name: a, select: {}}, {name: b}]", "1:39: tier `b` has no `select`, and there are other tiers"),
    (
        "tiers: [{name: a, select: {}}, {name: a, select: {}}]",
        "1:39: two tiers are called `a` (the first is on line 1; keep one)",
    ),
    // versions
    (
        "tiers: [{name: a, constraint: latest}]",
        "1:31: `constraint` of tier `a`: `latest` is not a version constraint: `latest`: `latest` is neither",
    ),
];

#[test]
fn every_mistake_of_the_file_and_its_tiers() {
    for (text, expected) in MISTAKES {
        let told = problems(text);
        assert_eq!(told.len(), 1, "{text}\n{told:#?}");
        assert!(told[0].starts_with(expected), "{text}\n  told     {}\n  expected {expected}", told[0]);
    }
}
