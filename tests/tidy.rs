//! House rules that neither the compiler nor clippy can see, each with its reason. A rule that
//! finds something prints every place at once.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "tidy/attacks.rs"]
mod attacks;
#[path = "tidy/budgets.rs"]
mod budgets;
#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/links.rs"]
mod links;
#[path = "tidy/promises.rs"]
mod promises;
#[path = "tidy/rooms.rs"]
mod rooms;
#[path = "tidy/source.rs"]
mod source;

use source::{File, has_word, repository};

type Problems = Vec<String>;

/// What a rule is called, why it exists, and what it finds.
struct Rule {
    name: &'static str,
    why: &'static str,
    find: fn(&[File]) -> Problems,
}

const RULES: &[Rule] = &[
    Rule {
        name: "modules say what they are for",
        why: "a newcomer reads the first three lines of each file and knows where to go",
        find: opening_lines,
    },
    Rule {
        name: "files are short",
        why: "a file that fits in a head can be changed without fear; split it by meaning",
        find: file_length,
    },
    Rule {
        name: "white space is plain",
        why: "diffs show meaning only; a tab or a trailing space is never meant",
        find: white_space,
    },
    Rule {
        name: "the sandbox knows nothing of the bot",
        why: "two sides that share code agree with each other and not with GitHub",
        find: demo_is_apart,
    },
    Rule {
        name: "rooms import downwards",
        why: "a circle of rooms can only be read, tested and changed as one",
        find: rooms::imports_go_down,
    },
    Rule {
        name: "few files import each other in a circle",
        why: "whoever changes one of them has to have all of them in mind; move down what several of them need",
        find: circles::are_small,
    },
    Rule { name: "rooms keep within their budgets", why: "nobody can carry on what grows unseen", find: budgets::kept },
    Rule {
        name: "the planner is pure",
        why: "the same facts must always give the same plan, in the simulator as in production",
        find: decide_is_pure,
    },
    Rule {
        name: "the bot starts no child process",
        why: "there is no shell to inject into and no kubeconfig exec plugin to run",
        find: no_child_process,
    },
    Rule {
        name: "archives are opened in one place",
        why: "one unpacks to as much as its author likes, and where; `src/compare/package.rs` has the bounds",
        find: no_archive,
    },
    Rule {
        name: "one clock",
        why: "`now` enters once per tick; a second look at the clock can contradict the first",
        find: one_clock,
    },
    Rule {
        name: "no unwrap outside tests",
        why: "a panic in one repository's loop must not be the answer to a surprising byte",
        find: no_unwrap,
    },
    Rule {
        name: "the search API is not asked",
        why: "its index lags and was stale for hours; a gate that reads it opens by mistake",
        find: no_search,
    },
    Rule {
        name: "nothing is left for later in a comment",
        why: "what is not done belongs into an issue, where somebody sees it",
        find: no_leftovers,
    },
    Rule {
        name: "what is no text is a picture or a fuzzer's find",
        why: "nobody can review a binary, and every clone carries it for ever",
        find: source::binaries,
    },
    Rule {
        name: "no path of one machine",
        why: "what works in one home folder only is broken everywhere else",
        find: no_home_paths,
    },
    Rule {
        name: "workflows pin what they run and own nothing",
        why: "a moved tag runs somebody else's code with our token",
        find: workflows,
    },
    Rule {
        name: "what came of a wave is set by entries of the ledger alone",
        why: "what is set beside them no other process reads, and a restart forgets it",
        find: entries_alone,
    },
    Rule {
        name: "dependencies say why",
        why: "each one is code that we answer for; a line that cannot be justified goes",
        find: dependencies,
    },
    Rule {
        name: "links lead somewhere",
        why: "who follows one that does not gives up there",
        find: links::lead_somewhere,
    },
    Rule {
        name: "a page names tests that there are",
        why: "whoever reads a promise wants to see what holds it",
        find: promises::are_proved,
    },
    Rule {
        name: "every member of an open set has its page",
        why: "a signal or a source that no page explains is found by nobody",
        find: promises::members_have_pages,
    },
];

/// Files over the limit, with the reason; none is the aim.
const LONG_FILES: &[(&str, &str)] = &[];
const LINES: usize = 400;
const LINES_OF_TESTS: usize = 450;
#[test]
fn the_house_is_tidy() {
    let files = repository();
    assert!(files.len() > 20, "only {} files found: wrong folder?", files.len());
    let mut report = String::new();
    for rule in RULES {
        let problems = (rule.find)(&files);
        if !problems.is_empty() {
            report.push_str(&format!("\n{} ({}):\n  {}\n", rule.name, rule.why, problems.join("\n  ")));
        }
    }
    assert!(report.is_empty(), "{report}");
}

fn opening_lines(files: &[File]) -> Problems {
    let mut problems = Problems::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let opening = file.text.lines().take_while(|line| line.starts_with("//! ")).count();
        if !(1..=3).contains(&opening) {
            problems.push(format!("{}:1 opens with {opening} lines of `//!`; one to three are wanted", file.path));
        }
    }
    problems
}

fn file_length(files: &[File]) -> Problems {
    let mut problems = Problems::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let lines = file.text.lines().count();
        let limit = if file.within("tests/") || file.is_for_tests() { LINES_OF_TESTS } else { LINES };
        let listed = LONG_FILES.iter().any(|(path, _)| *path == file.path);
        if lines > limit && !listed {
            problems.push(format!("{} has {lines} lines, {limit} is the limit and 300 the aim", file.path));
        }
        if lines <= limit && listed {
            problems.push(format!("{} is short again: take it off the list", file.path));
        }
    }
    problems
}

fn white_space(files: &[File]) -> Problems {
    let mut problems = Problems::new();
    // There every byte is the point.
    let given = |file: &File| ["tests/fixtures/", "tests/edits/"].iter().any(|folder| file.path.starts_with(folder));
    for file in files.iter().filter(|file| !given(file) && !file.is_generated()) {
        for (number, line) in file.text.split('\n').enumerate() {
            if line.contains('\t') || line.ends_with([' ', '\r']) {
                problems.push(format!("{}:{} tab, trailing space or CR", file.path, number + 1));
            }
        }
        if !file.text.is_empty() && !file.text.ends_with('\n') {
            problems.push(format!("{} does not end with a newline", file.path));
        }
    }
    problems
}

/// The compiler keeps it apart as long as its package names none of the others.
fn demo_is_apart(files: &[File]) -> Problems {
    let mut problems = Problems::new();
    for file in files.iter().filter(|file| file.path == "src/demo/Cargo.toml") {
        for (number, line) in file.text.lines().enumerate() {
            if line.contains("path = \"../") {
                problems.push(format!("{}:{} a package of the bot", file.path, number + 1));
            }
        }
    }
    problems
}

fn decide_is_pure(files: &[File]) -> Problems {
    let banned = ["std::", "async", "dyn", "trait", "unsafe", "HashMap", "thread", "static mut"];
    let mut problems = Problems::new();
    for file in files.iter().filter(|file| file.within("src/decide/") && !file.is_for_tests()) {
        for (number, line) in file.product() {
            for word in banned.iter().filter(|word| has_word(line, word)) {
                problems.push(format!("{}:{number} `{word}`", file.path));
            }
            if line.contains("::now(") {
                problems.push(format!("{}:{number} asks the time; it is a parameter", file.path));
            }
        }
    }
    problems
}

fn no_child_process(files: &[File]) -> Problems {
    found_in_product(files, &["process::Command", "Command::new"], &["src/demo/"])
}

fn no_archive(files: &[File]) -> Problems {
    found_in_product(files, &["tar::", "zip::"], &["src/demo/", "src/compare/package.rs"])
}

fn one_clock(files: &[File]) -> Problems {
    let clocks = ["Timestamp::now", "Zoned::now", "SystemTime::now", "Instant::now", "Utc::now", "Local::now"];
    found_in_product(files, &clocks, &["src/clock.rs", "src/demo/clock.rs"])
}

fn entries_alone(files: &[File]) -> Problems {
    found_in_product(files, &[".rewrite()"], &[])
}

fn no_unwrap(files: &[File]) -> Problems {
    found_in_product(files, &[".unwrap()", ".expect("], &[])
}

fn no_search(files: &[File]) -> Problems {
    let mut problems = Problems::new();
    for file in files.iter().filter(|file| file.within("src/") && !file.within("src/demo/")) {
        for (number, line) in file.text.lines().enumerate() {
            if ["search/issues", "search/code", "search/commits", "search(query"].iter().any(|what| line.contains(what))
            {
                problems.push(format!("{}:{}", file.path, number + 1));
            }
        }
    }
    problems
}

fn found_in_product(files: &[File], what: &[&str], except: &[&str]) -> Problems {
    let mut problems = Problems::new();
    for file in files.iter().filter(|file| file.is_rust() && file.within("src/")) {
        if file.is_for_tests() || except.iter().any(|place| file.within(place)) {
            continue;
        }
        for (number, line) in file.product() {
            for word in what.iter().filter(|word| line.contains(**word)) {
                problems.push(format!("{}:{number} `{word}`", file.path));
            }
        }
    }
    problems
}

fn no_leftovers(files: &[File]) -> Problems {
    let marks: Vec<String> =
        ["TO", "FIX", "XX"].iter().zip(["DO", "ME", "X:"]).map(|(a, b)| format!("{a}{b}")).collect();
    let mut problems = Problems::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        for (number, line) in file.text.lines().enumerate() {
            if marks.iter().any(|mark| has_word(line, mark)) {
                problems.push(format!("{}:{}", file.path, number + 1));
            }
        }
    }
    problems
}

fn no_home_paths(files: &[File]) -> Problems {
    let homes: Vec<String> = ["home", "root", "Users", "work"].iter().map(|home| format!("/{home}/")).collect();
    let mut problems = Problems::new();
    for file in files.iter().filter(|file| !file.is_generated()) {
        for (number, line) in file.text.lines().enumerate() {
            for home in &homes {
                let absolute = line
                    .match_indices(home.as_str())
                    .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "-_.~}]*)".contains(c)));
                if absolute {
                    problems.push(format!("{}:{} `{home}`", file.path, number + 1));
                }
            }
        }
    }
    problems
}

fn workflows(files: &[File]) -> Problems {
    let mut problems = Problems::new();
    for file in files.iter().filter(|file| file.within(".github/workflows/") || file.path == "action.yml") {
        if file.path != "action.yml" && !file.text.lines().any(|line| line == "permissions: {}") {
            problems.push(format!("{} lacks `permissions: {{}}` on top", file.path));
        }
        for (number, line) in file.text.lines().enumerate() {
            let Some(used) = line.trim_start().trim_start_matches("- ").strip_prefix("uses:") else { continue };
            let used = used.trim();
            let hash = used.split(['@', ' ']).nth(1).unwrap_or("");
            let pinned = hash.len() == 40 && hash.chars().all(|c| c.is_ascii_hexdigit()) && used.contains(" # v");
            if !used.starts_with("./") && !pinned {
                problems.push(format!("{}:{} `{used}` is not pinned as NAME@HASH # vVERSION", file.path, number + 1));
            }
        }
    }
    problems
}

fn dependencies(files: &[File]) -> Problems {
    let mut problems = Problems::new();
    for file in files.iter().filter(|file| file.path.ends_with("Cargo.toml")) {
        let mut inside = false;
        for (number, line) in file.text.lines().enumerate() {
            if line.starts_with('[') {
                inside = line.ends_with("dependencies]");
            } else if inside && line.contains('=') && !line.contains(" # ") {
                problems.push(format!("{}:{} no reason", file.path, number + 1));
            }
        }
    }
    problems
}

mod the_rules_themselves {
    use super::source::{self, code_of};
    use super::*;

    fn finds(find: fn(&[File]) -> Problems, path: &str, text: &str) -> usize {
        find(&[File::new(path.to_string(), text.to_string())]).len()
    }

    #[test]
    fn each_finds_what_it_is_for() {
        assert_eq!(finds(opening_lines, "src/a.rs", "use x;\n"), 1);
        assert_eq!(finds(opening_lines, "src/a.rs", "//! One.\n//! Two.\n//!\n//! More.\n"), 0);
        assert_eq!(finds(file_length, "src/a.rs", &"\n".repeat(401)), 1);
        assert_eq!(finds(file_length, "src/a/tests.rs", &"\n".repeat(450)), 0);
        assert_eq!(finds(white_space, "src/a.rs", "a \n\tb\n"), 2);
        let apart = |text| finds(demo_is_apart, "src/demo/Cargo.toml", text);
        assert_eq!(apart("[dependencies]\nedit = { path = \"../edit\" } # a scalar\n"), 1);
        assert_eq!(apart("[lib]\npath = \"mod.rs\"\n"), 0);
        assert_eq!(finds(decide_is_pure, "src/decide/a.rs", "use std::fs;\nasync fn f(x: &dyn A) {}\n"), 3);
        assert_eq!(
            finds(decide_is_pure, "src/decide/a.rs", "fn f(now: T) {}\n#[cfg(test)]\nmod t { use std::x; }\n"),
            0
        );
        assert_eq!(finds(no_child_process, "src/act/a.rs", "std::process::Command::new(x);\n"), 2);
        assert_eq!(finds(no_child_process, "src/demo/a.rs", "std::process::Command::new(x);\n"), 0);
        assert_eq!(finds(one_clock, "src/tick.rs", "let a = Timestamp::now();\n"), 1);
        assert_eq!(finds(no_unwrap, "src/a.rs", "x.unwrap();\nlet s = \".unwrap()\";\n"), 1);
        assert_eq!(finds(no_search, "src/hub/a.rs", "let url = \"search/issues?q=\";\n"), 1);
        assert_eq!(finds(no_home_paths, "a.md", concat!("see /ho", "me/me/x and ~/ho", "me/x\n")), 1);
        assert_eq!(finds(workflows, ".github/workflows/a.yml", "permissions: {}\n  - uses: actions/checkout@v4\n"), 1);
        assert_eq!(finds(workflows, ".github/workflows/a.yml", "jobs:\n"), 1);
        assert_eq!(
            finds(dependencies, "Cargo.toml", "[dependencies]\na = \"1\"\nb = \"2\" # why\n[features]\nc = []\n"),
            1
        );
    }

    /// What the rule of this name finds in one file.
    fn found_by(name: &str, path: &str, text: &str) -> usize {
        finds(RULES.iter().find(|rule| rule.name == name).unwrap().find, path, text)
    }

    #[test]
    fn a26_an_archive_that_is_opened_is_found() {
        let found =
            |path| found_by("archives are opened in one place", path, "let chart = tar::Archive::new(bytes);\n");
        assert_eq!((found("src/observe/a.rs"), found("src/compare/package.rs"), found("src/demo/a.rs")), (1, 0, 0));
    }

    #[test]
    fn a42_what_nobody_reviewed_is_found() {
        let moved = "    - uses: actions/cache@v4 # v4\n";
        assert_eq!(found_by("workflows pin what they run and own nothing", "action.yml", moved), 1);
        assert_eq!(found_by("dependencies say why", "Cargo.toml", "[dependencies]\ntokyo = \"1\"\n"), 1);
        let wheel = |path: &str| source::binaries(&[File::binary(path.to_string())]).len();
        assert_eq!((wheel("a.whl"), wheel("src/a.png"), wheel("docs/img/a.png")), (1, 1, 0));
        let steps = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/run")).unwrap();
        assert!(steps.contains("cargo test --locked") && steps.contains("cargo deny --log-level error check"));
    }

    #[test]
    fn what_is_set_beside_the_ledger_is_found() {
        let rule = "what came of a wave is set by entries of the ledger alone";
        let found = |path| found_by(rule, path, "*wave.rewrite().failed = None;\n");
        assert_eq!((found("src/decide/a.rs"), found("src/decide/a/tests.rs")), (1, 0));
    }

    #[test]
    fn f07_a_search_is_found() {
        let found = found_by("the search API is not asked", "src/hub/a.rs", "let url = \"search/issues?q=\";\n");
        assert_eq!(found, 1);
    }

    #[test]
    fn comments_and_literals_are_no_code() {
        let code = code_of("a(\"b\\\"c\"); // d\nlet e = 'f'; fn g<'h>(x: &'h str) {} /* i\nj */ r#\"k\"l\"# m");
        for gone in ["b", "d", "f\'", "i", "j", "k", "l\""] {
            assert!(!code.contains(gone), "{gone} is left in {code:?}");
        }
        assert!(code.contains("'h str") && code.contains('m') && code.lines().count() == 3, "{code:?}");
    }
}
