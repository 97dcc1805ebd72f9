//! Finds the hooks of the configuration, of the files it names and of the project, and the plugins; starts
//! those that the person has enabled.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use talaria_config::{Loaded, expand_tilde};
use talaria_plugins::hooks::{Written, files};
use talaria_plugins::{
    Dialect, FoundPlugin, HookSetup, HookSpec, Manifest, Origin, Plugin, ShellHook, manifest,
};
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

/// The plugins of the home, and of the project where the person wants that.
pub fn found_plugins(loaded: &Loaded, project: &Path) -> Vec<FoundPlugin> {
    let wants_project = loaded
        .variable(talaria_config::env::HERMES_ENABLE_PROJECT_PLUGINS)
        .is_some_and(|value| matches!(value, "1" | "true" | "yes" | "on"));
    manifest::find(loaded.home.root(), wants_project.then_some(project))
}

/// Starts one plugin.
///
/// # Errors
/// When it does not start or cannot be understood, in words.
pub async fn start_plugin(loaded: &Loaded, cwd: &Path, found: &FoundPlugin) -> Result<Plugin, String> {
    let variable = |name: &str| loaded.variable(name).map(str::to_owned);
    Plugin::start(found, (loaded.home.root(), cwd), &variable).await
}

/// Starts the plugins that are enabled, side by side. What does not start is told.
pub(crate) async fn started(
    loaded: &Loaded,
    cwd: &Path,
    with_project: bool,
    warnings: &mut Vec<String>,
) -> Vec<Arc<Plugin>> {
    let config = &loaded.config.plugins;
    if config.enabled.is_empty() {
        return Vec::new();
    }
    let found = found_plugins(loaded, cwd);
    let is_on = |name: &String| !config.disabled.contains(name);
    let mut wanted = Vec::new();
    for name in config.enabled.iter().filter(|name| is_on(name)) {
        match found.iter().find(|plugin| plugin.name == *name) {
            None => warnings.push(format!(
                "plugin {name} is enabled and not there; `talaria plugins list` shows which are"
            )),
            // A memory alone is started as one.
            Some(plugin) if plugin.manifest.as_ref().is_ok_and(is_memory_alone) => {}
            Some(plugin) if plugin.of_project && !with_project => {}
            Some(plugin) => match plugin
                .of_project
                .then(|| manifest::withheld(loaded.home.root(), plugin))
                .flatten()
            {
                Some(why) => warnings.push(why),
                None => wanted.push(plugin),
            },
        }
    }
    let starts = wanted.iter().map(|plugin| start_plugin(loaded, cwd, plugin));
    let started = futures_util::future::join_all(starts).await;
    let mut plugins = Vec::new();
    for (found, started) in wanted.iter().zip(started) {
        match started {
            Ok(plugin) => plugins.push(Arc::new(plugin)),
            Err(why) => warnings.push(format!("plugin {} is left out: {why}", found.name)),
        }
    }
    plugins
}

fn is_memory_alone(manifest: &Manifest) -> bool {
    manifest.provides.iter().all(|part| part == "memory") && manifest.has("memory")
}

/// The plugin that `context.engine` names.
pub(crate) fn engine(
    loaded: &Loaded,
    plugins: &[Arc<Plugin>],
    warnings: &mut Vec<String>,
) -> Option<Arc<Plugin>> {
    let name = loaded.config.context_engine.as_str();
    if matches!(name, "" | "compressor") {
        return None;
    }
    let found = plugins
        .iter()
        .find(|plugin| plugin.name() == name && plugin.has_engine());
    if found.is_none() {
        warnings.push(format!(
            "context.engine: no enabled plugin {name:?} brings a context engine; the built-in one is used"
        ));
    }
    found.cloned()
}

/// A memory provider that is a plugin becomes the process it is: `memory.provider` names it, its manifest says
/// what runs. Nothing is changed when the name is no enabled plugin's.
pub fn resolve_memory_plugin(loaded: &mut Loaded, cwd: &Path) {
    let (name, plugins) = (
        loaded.config.memory.provider.trim().to_owned(),
        &loaded.config.plugins,
    );
    if name.is_empty() || !plugins.enabled.contains(&name) || plugins.disabled.contains(&name) {
        return;
    }
    let found = found_plugins(loaded, cwd);
    let Some(plugin) = found.iter().find(|plugin| plugin.name == name) else {
        return;
    };
    let trusted = !plugin.of_project || manifest::is_trusted(loaded.home.root(), plugin);
    let Some(manifest) = plugin
        .manifest
        .as_ref()
        .ok()
        .filter(|manifest| trusted && manifest.has("memory"))
    else {
        return;
    };
    // The process is started elsewhere: what stands in the plugin's folder is named in full.
    let whole = |word: &String| match plugin.folder.join(word) {
        file if file.is_file() => file.display().to_string(),
        _ => word.clone(),
    };
    let memory = &mut loaded.config.memory;
    memory.command = manifest.command.iter().map(whole).collect();
    memory.env_passthrough.clone_from(&manifest.env);
    "process".clone_into(&mut memory.provider);
}
