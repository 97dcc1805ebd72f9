//! Whether the servers that a project brings may be started: asked once, before a person's session begins.

use std::path::Path;

use talaria_mcp::{ProjectFile, Trust};

use crate::exit::Failure;
use crate::output;
use crate::place::Place;

/// Asks about the `.mcp.json` of the project at `cwd`, if there is one that nobody was asked about.
pub(super) fn ask(place: &Place, cwd: &Path) -> Result<(), Failure> {
    use std::io::IsTerminal;
    let home = place.home.root();
    // What is wrong with the file is told when the session opens.
    let Ok(Some(file)) = ProjectFile::find(cwd) else {
        return Ok(());
    };
    let asked = file.servers().is_empty() || file.trust(home) != Trust::Unknown;
    if asked || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(());
    }
    output::note(&format!(
        "{} brings MCP servers, which run on this machine:",
        file.path.display()
    ));
    for (name, written) in file.servers() {
        output::note(&format!(
            "  {name}: {}",
            talaria_redact::redact(&written.to_string())
        ));
    }
    output::notes("Trust them? [y/N] ");
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.map_err(|error| Failure::failed(format!("the terminal cannot be read: {error}")))?;
    let yes = matches!(line.trim().to_lowercase().as_str(), "y" | "yes");
    file.decide(home, yes)?;
    if !yes {
        output::note("they are not used; `talaria mcp trust` changes that");
    }
    Ok(())
}
