//! A skill in front of a turn: called as a slash command, or with `-s` for a
//! whole session.

use talaria_skills::{Entry, Kind, Library, SkillError, Used};

use crate::clock;

/// The text of a skill as the model reads it, with what tells it where its files are.
fn text(library: &Library, name: &str, session: &str) -> Result<(Entry, String), SkillError> {
    let view = library.view(name, None, session)?;
    let mut text = view.content.trim_end().to_owned();
    if view.entry.kind != Kind::Bundled {
        text.push_str(&format!("\n\n[Skill directory: {}]", view.entry.folder.display()));
    }
    if let Some(files) = view.told["linked_files"]
        .as_object()
        .filter(|files| !files.is_empty())
    {
        let paths = files
            .values()
            .flat_map(|list| list.as_array().into_iter().flatten());
        for path in paths.filter_map(|path| path.as_str()) {
            text.push_str(&format!("\n- {}", view.entry.folder.join(path).display()));
        }
    }
    Ok((view.entry, text))
}

/// What stands around a skill that was called.
const INVOKED: &str = "[The user has invoked the skill ";
/// What stands before the words that were said with it.
const WITH_IT: &str = "\n\nThe user's instruction with it: ";

/// The person's own words of a prompt: without a skill that came with them.
pub(crate) fn own_words(prompt: &str) -> &str {
    if !prompt.starts_with(INVOKED) {
        return prompt;
    }
    prompt
        .rfind(WITH_IT)
        .map_or("", |at| &prompt[at + WITH_IT.len()..])
}

/// The message of `/skill-name instruction`; nothing when no skill is called so.
pub(crate) fn invoked(library: &Library, command: &str, instruction: &str, session: &str) -> Option<String> {
    let entry = library.by_slug(command)?;
    let (entry, text) = text(library, &entry.path_name(), session).ok()?;
    if let Err(error) = library.count(&entry.name, Used::Used, clock::now()) {
        tracing::warn!(%error, "the use of a skill could not be counted");
    }
    let mut message = format!("{INVOKED}{:?}: follow its instructions.]\n\n{text}", entry.name);
    if !instruction.trim().is_empty() {
        message.push_str(WITH_IT);
        message.push_str(instruction.trim());
    }
    Some(message)
}

/// The block of the system prompt for skills that were asked for with `-s`; empty without any.
///
/// # Errors
/// When one of them does not exist.
pub(crate) fn preloaded(
    library: &Library,
    names: &[String],
    session: &str,
) -> Result<Option<String>, SkillError> {
    let mut blocks = Vec::new();
    for name in names
        .iter()
        .map(|name| name.trim())
        .filter(|name| !name.is_empty())
    {
        let (entry, text) = text(library, name, session)?;
        blocks.push(format!(
            "[The user has loaded the skill {:?} for this session: follow its instructions.]\n\n{text}",
            entry.name
        ));
    }
    Ok((!blocks.is_empty()).then(|| blocks.join("\n\n")))
}
