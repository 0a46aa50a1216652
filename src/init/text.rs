//! How texts from files go into a policy: as YAML, and into its comments.

/// How long a line of a comment is.
const WIDTH: usize = 112;

/// A text as YAML: plain where that is plainly a text.
pub(super) fn scalar(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:+".contains(c))
        && !text.ends_with(':')
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    if plain { text.to_string() } else { serde_json::Value::String(text.to_string()).to_string() }
}

/// A comment of lines that fit on a page.
pub(super) fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.len() + word.len() > WIDTH {
            out.push_str(&format!("#{line}\n"));
            line.clear();
        }
        line.push(' ');
        line.push_str(word);
    }
    out + &format!("#{line}\n")
}

/// One line, whatever a file is called.
pub(super) fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// What somebody wrote, for a comment: on one line, and nothing in it that is looked for in a policy.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().replace("${", "$ {")
}
