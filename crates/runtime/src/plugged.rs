//! Finds the hooks of the configuration, of the files it names and of the project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use talaria_config::{Loaded, expand_tilde};
use talaria_plugins::hooks::{Written, files};
use talaria_plugins::{Dialect, HookSetup, HookSpec, Origin, ShellHook};
use talaria_tools::{ToolSettings, outer_variables};

/// What was found.
#[derive(Default)]
pub struct FoundHooks {
    /// The hooks, in the order they are asked.
    pub hooks: Vec<Arc<ShellHook>>,
    /// What the person should know.
    pub warnings: Vec<String>,
}

/// The hooks of a configuration, for a session in `project`; without one, only the person's own.
pub fn found_hooks(loaded: &Loaded, project: Option<&Path>) -> FoundHooks {
    let mut found = FoundHooks::default();
    let config = &loaded.config;
    let user_home = std::env::home_dir().unwrap_or_else(|| PathBuf::from("/"));
    let of_project = project
        .map(|cwd| files::of_project(cwd, &user_home))
        .unwrap_or_default();
    if config.hooks.is_empty() && config.hooks_files.is_empty() && of_project.is_empty() {
        return found;
    }
    let setup = Arc::new(HookSetup {
        home: loaded.home.root().to_owned(),
        user_home,
        variables: variables(loaded),
        accept: config.hooks_auto_accept,
    });
    let mut add = |spec: Result<HookSpec, String>| {
        let hook = spec.and_then(|spec| {
            let place = spec.origin.told();
            ShellHook::new(spec, &setup).map_err(|why| format!("{place}: {why}; the hook is left out"))
        });
        match hook {
            Ok(hook) => found.hooks.push(Arc::new(hook)),
            Err(why) => found.warnings.push(format!("hooks: {why}")),
        }
    };
    for (event, hooks) in &config.hooks {
        for hook in hooks {
            let written = Written {
                command: hook.command.clone(),
                matcher: hook.matcher.clone(),
                timeout: hook.timeout,
                on_failure: hook.on_failure.clone(),
                ..Written::default()
            };
            add(HookSpec::new(
                event,
                Dialect::Hermes,
                written,
                Origin::Home,
                loaded.home.root(),
            ));
        }
    }
    let environment = talaria_config::Environment::of_process();
    let imported = config
        .hooks_files
        .iter()
        .map(|file| (expand_tilde(file, &environment), false));
    let mut warnings = Vec::new();
    for (file, is_project) in imported.chain(of_project.into_iter().map(|file| (file, true))) {
        let (specs, told) = files::read(&file, is_project);
        warnings.extend(told.into_iter().map(|text| format!("hooks: {text}")));
        specs.into_iter().for_each(|spec| add(Ok(spec)));
    }
    found.warnings.extend(warnings);
    found
}

/// What programs of the person see of the environment: this program's own keys stay out.
pub(crate) fn variables(loaded: &Loaded) -> talaria_plugins::hooks::Variables {
    let mut settings = ToolSettings::for_folder(loaded.home.root(), "/");
    settings
        .env_passthrough
        .clone_from(&loaded.config.terminal.env_passthrough);
    settings.secret_env = loaded.secrets.keys().cloned().collect();
    outer_variables(&settings)
}
