//! Servers that never end, and are better started in the background.

use crate::approval::{Call, Scene};

/// Package runners whose scripts of these names serve until they are stopped.
const RUNNERS: &[&str] = &["npm", "pnpm", "yarn", "bun"];
const SCRIPTS: &[&str] = &["dev", "start", "serve", "watch", "develop"];
/// Programs that serve until they are stopped.
const SERVERS: &[&str] = &[
    "vite",
    "nodemon",
    "uvicorn",
    "gunicorn",
    "http-server",
    "live-server",
    "browser-sync",
];

/// What the model is told when `command` would run a server in the foreground until it times out.
pub(super) fn advice(command: &str) -> Option<String> {
    let scene = Scene::read(command, None, None);
    let call = scene.calls.iter().find(|call| serves(call))?;
    Some(format!(
        "{} runs until it is stopped. Start it with background: true and follow it with the process tool",
        call.program
    ))
}

fn serves(call: &Call) -> bool {
    let bounded = call.background || call.wrappers.iter().any(|wrapper| wrapper.ends_with("timeout"));
    let words: Vec<String> = call.texts().collect();
    if bounded
        || words
            .iter()
            .any(|word| matches!(word.as_str(), "--help" | "-h" | "--version" | "-V"))
    {
        return false;
    }
    let operands: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let first = operands.first().copied().unwrap_or_default();
    match call.program.as_str() {
        runner if RUNNERS.contains(&runner) => {
            let script = if first == "run" {
                operands.get(1).copied().unwrap_or_default()
            } else {
                first
            };
            SCRIPTS.contains(&script)
        }
        "next" | "nuxt" | "astro" => first == "dev",
        "vite" => !matches!(first, "build" | "optimize"),
        "docker" | "docker-compose" | "podman" => {
            let composes = call.program == "docker-compose" || first == "compose";
            composes
                && operands.contains(&"up")
                && !words
                    .iter()
                    .any(|word| matches!(word.as_str(), "-d" | "--detach" | "--wait"))
        }
        name if name.starts_with("python") => words.windows(2).any(|pair| pair == ["-m", "http.server"]),
        name => SERVERS.contains(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_in_the_foreground_are_advised_against() {
        for command in [
            "npm run dev",
            "cd web && yarn start",
            "python3 -m http.server 8000",
            "docker compose up",
            "npx vite",
            "uvicorn app:app",
        ] {
            let expected = command != "npx vite";
            assert_eq!(advice(command).is_some(), expected, "{command}");
        }
    }

    #[test]
    fn what_ends_by_itself_is_not() {
        for command in [
            "npm test",
            "npm run build",
            "python3 -m http.server 0 &",
            "timeout 5 npm start",
            "docker compose up -d",
            "vite build",
            "uvicorn --help",
            "echo npm run dev",
            "npm install",
        ] {
            assert_eq!(advice(command), None, "{command}");
        }
    }
}
