//! Paths as `kubectl -o jsonpath` takes them, turned into RFC 9535.

/// `.a.b\.c[0]` becomes `$.a['b.c'][0]`; what stands in brackets is left as it is.
pub(super) fn to_rfc(path: &str) -> String {
    let mut out = String::from("$");
    let mut characters = path.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '.' if characters.peek() == Some(&'.') => {
                characters.next();
                out.push_str("..");
                let name = kubectl_name(&mut characters);
                if is_plain(&name) {
                    out.push_str(&name);
                } else if !name.is_empty() {
                    out.push_str(&format!("['{name}']"));
                }
            }
            '.' => match kubectl_name(&mut characters).as_str() {
                "" => {}
                "*" => out.push_str("[*]"),
                name if is_plain(name) => out.push_str(&format!(".{name}")),
                name => out.push_str(&format!("['{name}']")),
            },
            '[' => {
                out.push('[');
                copy_bracket(&mut characters, &mut out);
            }
            other => out.push(other),
        }
    }
    out
}

/// Whether RFC 9535 takes the name after a dot, without brackets.
fn is_plain(name: &str) -> bool {
    let letter = |character: char| character.is_ascii_alphabetic() || character == '_';
    name.starts_with(letter) && name.chars().all(|character| letter(character) || character.is_ascii_digit())
}

fn kubectl_name(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut name = String::new();
    while let Some(&character) = characters.peek() {
        match character {
            '.' | '[' => break,
            '\\' => {
                characters.next();
                name.extend(characters.next());
            }
            '\'' => {
                characters.next();
                name.push_str("\\'");
            }
            other => {
                characters.next();
                name.push(other);
            }
        }
    }
    name
}

fn copy_bracket(characters: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    let (mut depth, mut quote) = (1, None);
    for character in characters.by_ref() {
        out.push(character);
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '[') => depth += 1,
            (None, ']') => depth -= 1,
            (None, _) => {}
        }
        if depth == 0 {
            return;
        }
    }
}
