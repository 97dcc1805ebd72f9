//! What a text is found by, and which sentences ask to be remembered. Pure.

/// Words that say nothing about what is meant.
const EMPTY: &[&str] = &[
    "about", "all", "and", "any", "are", "can", "could", "did", "does", "for", "from", "had", "has", "have",
    "how", "into", "its", "let", "now", "our", "please", "should", "that", "the", "their", "them", "then",
    "there", "this", "use", "was", "were", "what", "when", "where", "which", "who", "why", "will", "with",
    "would", "you", "your",
];

/// Words of a query at most.
const WORDS: usize = 24;

/// How a sentence begins that the person wants remembered.
const ASKS: &[&str] = &[
    "remember that ",
    "remember: ",
    "remember, ",
    "please remember that ",
    "please remember: ",
    "don't forget that ",
    "note that i ",
    "for the record, ",
    "from now on, ",
    "from now on ",
    "i prefer ",
    "i always ",
    "i never ",
    "my name is ",
    "call me ",
    "merk dir, dass ",
    "请记住",
    "记住",
    "記住",
    "覚えておいて",
];

/// Whether a letter stands for a word by itself.
fn is_ideograph(char: char) -> bool {
    matches!(char, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ac00}'..='\u{d7af}')
}

/// A text as it is indexed: letters that are words stand alone.
pub(super) fn indexed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        if is_ideograph(char) {
            out.extend([' ', char, ' ']);
        } else {
            out.push(char);
        }
    }
    out
}

/// A query in FTS5's words that finds any of the words of `text`; nothing when it has none.
pub(super) fn query(text: &str) -> Option<String> {
    let mut terms: Vec<String> = Vec::new();
    for word in text
        .to_lowercase()
        .split(|char: char| !char.is_alphanumeric() && char != '_')
    {
        for term in terms_of(word) {
            if !terms.contains(&term) && terms.len() < WORDS {
                terms.push(term);
            }
        }
    }
    (!terms.is_empty()).then(|| terms.join(" OR "))
}

/// A word, or the neighbours of letters that are words.
fn terms_of(word: &str) -> Vec<String> {
    let chars: Vec<char> = word.chars().collect();
    if chars.iter().any(|char| is_ideograph(*char)) {
        let quoted = |pair: &[char]| format!("\"{}\"", indexed(&pair.iter().collect::<String>()).trim());
        return match chars.len() {
            1 => vec![quoted(&chars)],
            _ => chars.windows(2).map(quoted).collect(),
        };
    }
    let says = chars.len() > 2 || (chars.len() == 2 && chars.iter().any(char::is_ascii_digit));
    if says && !EMPTY.contains(&word) {
        vec![format!("\"{word}\"")]
    } else {
        Vec::new()
    }
}

/// The sentences of the person that ask to be remembered, word for word.
pub(super) fn asked_to_remember(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for sentence in text.split_inclusive(['.', '!', '?', '\n', '。', '！', '？']) {
        let sentence = sentence.trim();
        let lower = sentence.to_lowercase();
        let asks = ASKS.iter().any(|start| lower.starts_with(start));
        if asks && (8..400).contains(&sentence.len()) && !sentence.ends_with('?') {
            found.push(sentence.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_made_of_the_words_that_say_something() {
        assert_eq!(
            query("What is the tea you prefer?").as_deref(),
            Some("\"tea\" OR \"prefer\"")
        );
        assert_eq!(query("喜欢茶").as_deref(), Some("\"喜  欢\" OR \"欢  茶\""));
        assert_eq!(query("AND (\"* -"), None);
        assert_eq!(query("the a ?"), None);
    }

    #[test]
    fn only_what_is_asked_for_is_kept_word_for_word() {
        let text =
            "Fix the build. Remember that the CI has two cores. Do I always talk like that? I prefer tabs!";
        assert_eq!(
            asked_to_remember(text),
            ["Remember that the CI has two cores.", "I prefer tabs!"]
        );
        assert_eq!(asked_to_remember("记住我喜欢茶。"), ["记住我喜欢茶。"]);
    }
}
