//! Reads `tests/edits/<layout>.txt`. A case begins with `=== name`; `--- edit` gives the arguments and is followed by
//! the file, `--- beside` by another one; `--- becomes LINE` by what that line is to be, `--- refused` by the reason.

#![allow(dead_code)] // not everybody who reads it asks for everything

use std::path::Path;

/// One file, what is asked for, and what comes of it.
#[derive(Clone, Debug)]
pub struct Case {
    pub layout: String,
    pub name: String,
    pub arguments: Vec<String>,
    pub text: String,
    /// Files beside it.
    pub beside: Vec<(String, String)>,
    pub end: End,
}

/// What comes of it.
#[derive(Clone, Debug)]
pub enum End {
    /// Lines of files, from 1, and what they are then.
    Becomes(Vec<(String, usize, String)>),
    /// A part of the reason.
    Refused(String),
}

/// Every case.
pub fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/edits");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let all: Vec<Case> = files.iter().flat_map(|file| of_file(file)).collect();
    let mut names: Vec<_> = all.iter().map(|case| (&case.layout, &case.name)).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all.len(), "a name stands twice");
    assert!(all.len() >= 150, "{} cases", all.len());
    all
}

fn of_file(file: &Path) -> Vec<Case> {
    let layout = file.file_stem().unwrap().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(file).unwrap();
    let mut cases: Vec<Case> = Vec::new();
    // Where a line of the text belongs.
    enum Into {
        Text,
        Beside,
        Line,
    }
    let mut into = Into::Text;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches('\n');
        if let Some(name) = bare.strip_prefix("=== ") {
            let end = End::Becomes(Vec::new());
            let (name, layout) = (name.to_string(), layout.clone());
            cases.push(Case { layout, name, arguments: Vec::new(), text: String::new(), beside: Vec::new(), end });
            continue;
        }
        let case = cases.last_mut().expect("a file begins with a case");
        if let Some(arguments) = bare.strip_prefix("--- edit ") {
            case.arguments = arguments.split_whitespace().map(str::to_string).collect();
            into = Into::Text;
        } else if let Some(place) = bare.strip_prefix("--- beside becomes ") {
            let (name, number) = place.split_once(' ').unwrap();
            case.becomes(name, number);
            into = Into::Line;
        } else if let Some(name) = bare.strip_prefix("--- beside ") {
            case.beside.push((name.to_string(), String::new()));
            into = Into::Beside;
        } else if let Some(number) = bare.strip_prefix("--- becomes ") {
            let name = case.arguments[0].clone();
            case.becomes(&name, number);
            into = Into::Line;
        } else if let Some(why) = bare.strip_prefix("--- refused ") {
            case.end = End::Refused(why.to_string());
        } else {
            match into {
                Into::Text => case.text.push_str(line),
                Into::Beside => case.beside.last_mut().unwrap().1.push_str(line),
                Into::Line => {
                    let End::Becomes(lines) = &mut case.end else { panic!("{}: refused, and becomes", case.name) };
                    lines.last_mut().unwrap().2 = bare.to_string();
                }
            }
        }
    }
    cases
}

impl Case {
    fn becomes(&mut self, name: &str, number: &str) {
        let End::Becomes(lines) = &mut self.end else { panic!("{}: refused, and becomes", self.name) };
        lines.push((name.to_string(), number.parse().unwrap(), String::new()));
    }

    /// The files before, the edited one first.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        let beside = self.beside.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        std::iter::once((self.arguments[0].as_str(), self.text.as_str())).chain(beside)
    }

    /// The files after.
    pub fn after(&self) -> Vec<(String, String)> {
        let End::Becomes(lines) = &self.end else { panic!("{} is refused", self.name) };
        let after = |(name, text): (&str, &str)| {
            let mut all: Vec<String> = text.split_inclusive('\n').map(str::to_string).collect();
            for (_, number, becomes) in lines.iter().filter(|(of, ..)| of == name) {
                let end = if all[number - 1].ends_with('\n') { "\n" } else { "" };
                all[number - 1] = format!("{becomes}{end}");
            }
            (name.to_string(), all.concat())
        };
        self.files().map(after).collect()
    }

    /// The same case, edited already.
    pub fn edited(&self) -> Self {
        let mut after = self.after().into_iter();
        let (_, text) = after.next().unwrap();
        Self { text, beside: after.collect(), ..self.clone() }
    }
}
