//! Keeps found-out windows in `context_length_cache.yaml`.
//!
//! The file is shared with Hermes: one map `context_lengths` of
//! `model@base_url` to tokens. It is a memory aid, so nothing about it is an
//! error: what cannot be read is asked again, what cannot be written is found
//! out again next time.

use std::fs;
use std::io::Write;
use std::path::Path;

use talaria_types::ModelIdentity;

const HEAD: &str = "context_lengths:";

/// The kept window of a model, if there is one.
pub(crate) fn read(file: &Path, identity: &ModelIdentity) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let key = key(identity);
    let found = entries(&text).find(|(known, _)| *known == key || known.trim_end_matches('/') == key);
    found.map(|(_, tokens)| tokens)
}

/// Keeps the window of a model.
pub(crate) fn write(file: &Path, identity: &ModelIdentity, tokens: u64) {
    let text = fs::read_to_string(file).unwrap_or_default();
    let key = key(identity);
    if entries(&text).any(|(known, kept)| known == key && kept == tokens) {
        return;
    }
    let mut lines = vec![HEAD.to_owned()];
    lines.extend(
        entries(&text)
            .filter(|(known, _)| *known != key)
            .map(|(known, kept)| line(known, kept)),
    );
    lines.push(line(&key, tokens));
    if let Err(error) = replace(file, &(lines.join("\n") + "\n")) {
        tracing::debug!(%error, "the found-out window could not be kept");
    }
}

fn key(identity: &ModelIdentity) -> String {
    format!("{}@{}", identity.model, identity.base_url)
}

fn entries(text: &str) -> impl Iterator<Item = (&str, u64)> {
    text.lines().filter_map(|line| {
        let (key, tokens) = line.trim().rsplit_once(": ")?;
        let key = key.trim().trim_matches(['"', '\'']);
        Some((key, tokens.trim().parse().ok()?))
    })
}

fn line(key: &str, tokens: u64) -> String {
    // JSON's quoting is YAML's.
    format!("  {}: {tokens}", serde_json::Value::from(key))
}

fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    let beside = file.with_extension(format!("tmp{}", std::process::id()));
    let mut written = fs::File::create(&beside)?;
    written.write_all(text.as_bytes())?;
    drop(written);
    fs::rename(&beside, file)
}

#[cfg(test)]
mod tests {
    use talaria_types::ApiMode;

    use super::*;

    fn identity(model: &str) -> ModelIdentity {
        ModelIdentity {
            provider: "custom".to_owned(),
            model: model.to_owned(),
            base_url: "http://h:1/v1".to_owned(),
            api_mode: ApiMode::ChatCompletions,
        }
    }

    #[test]
    fn a_window_is_found_again_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("context_length_cache.yaml");
        assert_eq!(read(&file, &identity("a")), None);
        write(&file, &identity("a"), 5000);
        write(&file, &identity("b"), 6000);
        write(&file, &identity("a"), 7000);
        assert_eq!(read(&file, &identity("a")), Some(7000));
        assert_eq!(read(&file, &identity("b")), Some(6000));
    }

    #[test]
    fn a_file_that_hermes_wrote_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cache.yaml");
        fs::write(
            &file,
            "context_lengths:\n  a@http://h:1/v1: 32768\n  'b@http://h:1/v1/': 4096\n",
        )
        .unwrap();
        assert_eq!(read(&file, &identity("a")), Some(32768));
        assert_eq!(read(&file, &identity("b")), Some(4096));
    }
}
