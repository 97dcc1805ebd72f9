//! Lets the person edit a text in their own editor.

use std::io::IsTerminal;
use std::path::Path;

use talaria_config::env;

use crate::exit::Failure;
use crate::place::Place;

/// Opens a file in the person's editor and waits until it is closed.
pub(crate) fn open(place: &Place, file: &Path) -> Result<(), Failure> {
    let environment = &place.environment;
    let editor = environment
        .get(env::VISUAL)
        .or_else(|| environment.get(env::EDITOR));
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let Some(editor) = editor.or_else(|| terminal.then_some("vi")) else {
        // An editor that nobody chose would wait for keys that nobody can press.
        return Err(Failure::usage("an editor needs a terminal")
            .hint(format!("edit {} by other means", file.display())));
    };
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = std::process::Command::new(program).args(words).arg(file).status();
    let status = status.map_err(|error| {
        Failure::failed(format!("the editor {program:?} cannot be started: {error}")).hint("set $EDITOR")
    })?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::failed(format!(
        "the editor {program:?} failed ({status})"
    )))
}

/// A text as the person leaves it. They edit a copy, so that nobody reads half of it.
pub(crate) fn edited(place: &Place, name: &str, text: &str) -> Result<String, Failure> {
    let failed =
        |error: std::io::Error| Failure::failed(format!("the copy of {name} cannot be used: {error}"));
    let folder = tempfile::Builder::new()
        .prefix("talaria-edit-")
        .tempdir()
        .map_err(failed)?;
    let copy = folder.path().join(name);
    std::fs::write(&copy, text).map_err(failed)?;
    open(place, &copy)?;
    std::fs::read_to_string(&copy).map_err(failed)
}
