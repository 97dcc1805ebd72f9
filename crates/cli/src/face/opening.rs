//! Opens the engine and a session for a face.

use std::path::{Path, PathBuf};

use talaria_config::Loaded;
use talaria_runtime::{Engine, EngineOptions, Open};
use talaria_types::{Content, ImagePart, Part};
use tokio::runtime::Runtime;

use crate::args::TurnFlags;
use crate::exit::Failure;
use crate::place::Place;

/// A runtime with threads enough that a slow tool does not keep a signal waiting.
pub(super) fn runtime() -> Result<Runtime, Failure> {
    let built = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    built.map_err(|error| Failure::failed(format!("threads cannot be started: {error}")))
}

/// A runtime on this thread, for one turn: nothing waits for another thread to wake up.
/// Tools that take long have threads of their own; signals are watched apart.
pub(super) fn runtime_for_one_turn() -> Result<Runtime, Failure> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| Failure::failed(format!("the turn cannot be started: {error}")))
}

/// The engine of this place and these flags.
pub(super) fn engine(
    place: &Place,
    flags: &TurnFlags,
    interactive: bool,
) -> Result<(Engine, Loaded), Failure> {
    use talaria_config::env;
    let cwd = place.cwd(flags.cwd.as_ref())?;
    let mut loaded = place.config(&cwd, &flags.overrides())?;
    loaded.config.hooks_auto_accept |= flags.accept_hooks;
    let source = flags
        .source
        .clone()
        .or_else(|| loaded.variable(env::HERMES_SESSION_SOURCE).map(str::to_owned));
    let is_on = |name| {
        loaded
            .variable(name)
            .is_some_and(|value| matches!(value, "1" | "true" | "yes" | "on"))
    };
    let options = EngineOptions {
        cwd: working_folder(place, flags, &loaded, cwd)?,
        source: source.unwrap_or_else(|| "cli".to_owned()),
        yolo: flags.yolo || is_on(env::HERMES_YOLO_MODE),
        ignore_rules: flags.ignore_rules || is_on(env::HERMES_IGNORE_RULES),
        skills: flags.skills.clone(),
        interactive,
    };
    place.home.ensure()?;
    if interactive {
        super::trust::ask(place, &options.cwd)?;
    }
    talaria_runtime::log::init(&loaded.home.logs(), &loaded.config.logging);
    let engine = Engine::open(loaded.clone(), options)?;
    Ok((engine, loaded))
}

/// The folder that the tools begin in: `--cwd`, else `terminal.cwd` when it names one, else `current`.
fn working_folder(
    place: &Place,
    flags: &TurnFlags,
    loaded: &Loaded,
    current: PathBuf,
) -> Result<PathBuf, Failure> {
    let written = loaded.config.terminal.cwd.as_str();
    if flags.cwd.is_some() || matches!(written, "" | "." | "auto") {
        return Ok(current);
    }
    let folder = talaria_config::expand_tilde(written, &place.environment);
    if folder.is_dir() {
        return Ok(folder.canonicalize().unwrap_or(folder));
    }
    let origin = loaded.origin("terminal.cwd");
    Err(
        Failure::usage(format!("terminal.cwd ({origin}): {written} is not a folder"))
            .hint("make the folder, or `talaria config unset terminal.cwd` to work where you are"),
    )
}

/// An engine for a command that is no conversation, and the runtime it works in.
pub(crate) fn engine_for_commands(place: &Place, flags: &TurnFlags) -> Result<(Engine, Runtime), Failure> {
    let runtime = runtime()?;
    let (engine, _) = runtime.block_on(async { engine(place, flags, false) })?;
    Ok((engine, runtime))
}

/// Which session the flags mean.
pub(super) fn session(flags: &TurnFlags) -> Result<Open, Failure> {
    let named = flags.resume.clone().or_else(|| {
        flags
            .r#continue
            .clone()
            .flatten()
            .filter(|title| !title.is_empty())
    });
    match (named, &flags.r#continue) {
        (Some(name), _) => Ok(Open::Resume {
            name,
            exact: flags.exact,
        }),
        (None, _) if flags.exact => Err(Failure::usage("--exact needs --resume ID")),
        (None, Some(_)) => Ok(Open::Newest),
        (None, None) => Ok(Open::New),
    }
}

/// The prompt with its images, whose bytes are kept in the home.
pub(super) fn content(place: &Place, prompt: String, images: &[PathBuf]) -> Result<Content, Failure> {
    if images.is_empty() {
        return Ok(Content::Text(prompt));
    }
    let mut parts = Vec::new();
    if !prompt.is_empty() {
        parts.push(Part::Text { text: prompt });
    }
    for path in images {
        parts.push(Part::Image(image(&place.home.images(), path)?));
    }
    Ok(Content::Parts(parts))
}

fn image(folder: &Path, path: &Path) -> Result<ImagePart, Failure> {
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::usage(format!("--image {}: {error}", path.display())))?;
    let Some(media_type) = talaria_store::image_type(&bytes) else {
        return Err(Failure::usage(format!(
            "--image {} is no PNG, JPEG, GIF or WebP",
            path.display()
        )));
    };
    Ok(talaria_store::store_image(folder, &bytes, media_type)?)
}
