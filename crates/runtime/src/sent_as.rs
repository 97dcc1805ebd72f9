//! What is sent beside the person's words: recalled memories, what hooks and plugins add for a turn.
//!
//! The row keeps the words as they were typed; what was sent in their place stands beside them and is
//! sent again byte for byte.

use talaria_types::Message;

/// Adds `texts` to what is sent for `message`, each after a blank line.
pub(crate) fn add(message: &mut Message, texts: &[String]) {
    let texts: Vec<&str> = texts
        .iter()
        .map(|text| text.trim())
        .filter(|text| !text.is_empty())
        .collect();
    if texts.is_empty() {
        return;
    }
    let mut sent = message
        .sent_as
        .take()
        .unwrap_or_else(|| message.content.text().into_owned());
    for text in texts {
        if !sent.is_empty() {
            sent.push_str("\n\n");
        }
        sent.push_str(text);
    }
    message.sent_as = Some(sent);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_stands_behind_the_words_and_they_stay_as_typed() {
        let mut message = Message::user("hello");
        add(&mut message, &[" ".to_owned()]);
        assert_eq!(message.sent_as, None);
        add(
            &mut message,
            &["one".to_owned(), String::new(), "two\n".to_owned()],
        );
        assert_eq!(message.sent_as.as_deref(), Some("hello\n\none\n\ntwo"));
        assert_eq!(message.content.text(), "hello");
    }
}
