//! Reads Python's `repr` of a dict, which proxies paste into their messages.

use serde_json::Value;

/// The dict at the start of `text`, read up to its closing brace.
pub(super) fn read(text: &str) -> Option<Value> {
    let mut json = String::with_capacity(text.len());
    let mut chars = text.char_indices().peekable();
    let mut depth = 0_u32;
    while let Some((at, c)) = chars.next() {
        match c {
            '{' | '[' => {
                depth += 1;
                json.push(c);
            }
            '}' | ']' => {
                depth = depth.checked_sub(1)?;
                json.push(c);
                if depth == 0 {
                    return serde_json::from_str(&json).ok();
                }
            }
            '\'' | '"' => json.push_str(&string(&mut chars, c)?),
            'N' | 'T' | 'F' => {
                let rest = text.get(at..)?;
                let (word, put) = [("None", "null"), ("True", "true"), ("False", "false")]
                    .into_iter()
                    .find(|(word, _)| rest.starts_with(word))?;
                json.push_str(put);
                for _ in 1..word.len() {
                    chars.next();
                }
            }
            // A bytes literal: `b'…'`.
            'b' if matches!(chars.peek(), Some((_, '\'' | '"'))) => {}
            other => json.push(other),
        }
    }
    None
}

/// A quoted string as JSON, its opening quote already taken.
fn string(chars: &mut std::iter::Peekable<std::str::CharIndices<'_>>, quote: char) -> Option<String> {
    let mut text = String::new();
    while let Some((_, c)) = chars.next() {
        match c {
            '\\' => match chars.next()?.1 {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                other => text.push(other),
            },
            c if c == quote => return serde_json::to_string(&text).ok(),
            other => text.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_dict_is_read_up_to_its_end() {
        let text = r#"{'type': 'error', 'n': 3, 'none': None, 'yes': [True, False], 'q': "it's"} and prose"#;
        let want = json!({"type": "error", "n": 3, "none": null, "yes": [true, false], "q": "it's"});
        assert_eq!(read(text), Some(want));
    }

    #[test]
    fn what_is_no_dict_is_none() {
        for text in ["{'open", "}", "[1, 2", "", "{'a': Noone}"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
