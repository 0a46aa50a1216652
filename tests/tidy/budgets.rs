//! How many lines of code each room may have: that one grows is a decision, and stands in a diff.

use std::collections::BTreeMap;

use super::source::File;

/// Lines of code that ship, without comments, blank lines and tests. Who writes more raises the number here.
const BUDGETS: &[(&str, usize)] = &[
    ("act", 3_060),
    ("cli", 4_350),
    ("clock", 50),
    ("command", 200),
    ("compare", 1_620),
    ("decide", 10_890),
    ("demo", 15_050),
    ("edit", 3_640),
    ("git", 2_130),
    ("hub", 5_100),
    ("init", 3_080),
    ("inventory", 400),
    ("jsonpath", 400),
    ("kubeconfig", 300),
    ("ledger", 250),
    ("lib", 50),
    ("main", 50),
    ("metrics", 340),
    ("observe", 8_920),
    ("onboard", 170),
    ("openpgp", 600),
    ("parse", 1_750),
    ("policy", 5_080),
    ("process", 50),
    ("proxies", 200),
    ("rehearse", 4_120),
    ("repo", 100),
    ("seal", 150),
    ("secret", 100),
    ("signal", 3_870),
    ("tell", 5_760),
    ("tick", 100),
    ("trace", 130),
    ("wake", 1_830),
];

/// A budget follows what it is for: this much above the room's lines it means nothing any more.
const LOOSE: usize = 200;

/// Rooms over their budget, without one, or far below it.
pub fn kept(files: &[File]) -> Vec<String> {
    against(&lines(files), BUDGETS)
}

fn against(lines: &BTreeMap<String, usize>, budgets: &[(&str, usize)]) -> Vec<String> {
    let mut problems = Vec::new();
    for (room, lines) in lines {
        match budgets.iter().find(|(known, _)| known == room) {
            None => problems.push(format!("`{room}` has {lines} lines of code and no budget in tests/tidy/budgets.rs")),
            Some((_, budget)) if lines > budget => {
                problems.push(format!("`{room}` has {lines} lines of code, {} over its budget", lines - budget));
            }
            Some((_, budget)) if *budget > lines + LOOSE => {
                problems.push(format!("`{room}` has {lines} lines of code: lower its budget of {budget}"));
            }
            Some(_) => {}
        }
    }
    let gone = budgets.iter().filter(|(room, _)| !lines.contains_key(*room));
    problems.extend(gone.map(|(room, _)| format!("`{room}` is gone: take its budget out")));
    problems
}

/// Lines of code of each room.
fn lines(files: &[File]) -> BTreeMap<String, usize> {
    let mut rooms = BTreeMap::new();
    let product = |file: &&File| file.is_rust() && file.within("src/") && !file.is_for_tests();
    for file in files.iter().filter(product) {
        let room = file.path.split('/').nth(1).unwrap_or_default().trim_end_matches(".rs");
        let lines = file.product().filter(|(_, line)| !line.trim().is_empty()).count();
        *rooms.entry(room.to_string()).or_default() += lines;
    }
    rooms
}

/// `./tests/run generated` shows the table.
#[allow(clippy::print_stdout)] // for whoever reads the run
#[test]
fn lines_of_code_by_room() {
    let mut rooms: Vec<(String, usize)> = lines(&super::source::repository()).into_iter().collect();
    rooms.sort_by_key(|(room, lines)| (std::cmp::Reverse(*lines), room.clone()));
    let of = |sandbox: bool| rooms.iter().filter(|(room, _)| (room == "demo") == sandbox).map(|(_, lines)| lines).sum();
    let (bot, sandbox): (usize, usize) = (of(false), of(true));
    for (room, lines) in &rooms {
        println!("{lines:>7}  {room}");
    }
    println!("{bot:>7}  the bot, {sandbox} the sandbox");
    assert!(bot > 10_000 && sandbox > 1_000, "wrong folder?");
}

#[test]
fn growth_is_found_and_so_is_a_budget_that_means_nothing() {
    let found = |lines: usize, budgets: &[(&str, usize)]| against(&[("git".to_string(), lines)].into(), budgets).len();
    assert_eq!(found(100, &[("git", 100)]), 0);
    assert_eq!(found(101, &[("git", 100)]), 1);
    assert_eq!(found(100, &[("git", 300)]), 0);
    assert_eq!(found(100, &[("git", 301)]), 1);
    assert_eq!(found(100, &[]), 1);
    assert_eq!(found(100, &[("git", 100), ("attic", 5)]), 1);
    let file = |path: &str| File::new(path.to_string(), "// why\n\nfn a() {}\n#[cfg(test)]\nmod tests;\n".to_string());
    let counted = lines(&[file("src/git/a.rs"), file("src/git/tests.rs"), file("src/clock.rs"), file("tests/a.rs")]);
    assert_eq!(counted, [("clock".to_string(), 1), ("git".to_string(), 1)].into());
}
