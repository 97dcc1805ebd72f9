//! `plugin.yaml`: what a plugin says of itself before it is started, and where plugins are found.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A manifest is not longer, in bytes.
const LONGEST: u64 = 256 * 1024;
/// Seconds a call of a tool or command may take when the manifest does not say.
const TIMEOUT: u64 = 60;
/// The most it may say.
const LONGEST_TIMEOUT: u64 = 400;

/// A manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Its name: that of its folder.
    pub name: String,
    /// Its version, in its own words.
    pub version: String,
    /// What it is for.
    pub description: String,
    /// What is started, as words.
    pub command: Vec<String>,
    /// What it brings: `tools`, `hooks`, `commands`, `memory`, `context_engine`.
    pub provides: Vec<String>,
    /// Variables it is given; no other secret reaches it.
    pub env: Vec<String>,
    /// How long one call may take, in seconds.
    pub timeout_s: u64,
}

#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    name: String,
    #[serde(default)]
    version: serde_json::Value,
    #[serde(default)]
    description: String,
    command: Option<Words>,
    #[serde(default)]
    provides: Vec<String>,
    #[serde(default)]
    provides_tools: Vec<serde_json::Value>,
    #[serde(default)]
    provides_hooks: Vec<serde_json::Value>,
    #[serde(default)]
    requires_env: Vec<Variable>,
    #[serde(default)]
    env: Vec<String>,
    timeout: Option<u64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    Line(String),
    List(Vec<String>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Variable {
    Name(String),
    Described { name: String },
}

/// What a plugin may bring.
pub const PARTS: &[&str] = &["tools", "hooks", "commands", "memory", "context_engine"];

impl Manifest {
    /// Reads the text of a `plugin.yaml` in a folder of that name.
    ///
    /// # Errors
    /// When it is no manifest of a program, in words.
    pub fn parse(text: &str, folder: &str) -> Result<Self, String> {
        let written: Written = serde_saphyr::from_str(text).map_err(|error| {
            let error = error.to_string();
            format!("plugin.yaml: {}", error.lines().next().unwrap_or_default())
        })?;
        let command = match written.command {
            Some(Words::Line(line)) => {
                shlex::split(&line).ok_or("plugin.yaml: command has quotes that are not closed")?
            }
            Some(Words::List(words)) => words,
            None => Vec::new(),
        };
        if command.is_empty() {
            return Err("plugin.yaml has no command: a plugin here is a program (docs/plugins.md); plugins of Hermes \
                        that are Python modules are not run"
                .to_owned());
        }
        let name = if written.name.is_empty() {
            folder.to_owned()
        } else {
            written.name
        };
        if !is_name(&name) {
            return Err(format!(
                "plugin.yaml: the name {name:?} is not made of letters, digits, - and _"
            ));
        }
        if let Some(other) = written
            .provides
            .iter()
            .find(|part| !PARTS.contains(&part.as_str()))
        {
            return Err(format!(
                "plugin.yaml: it provides {other:?}; there is {}",
                PARTS.join(", ")
            ));
        }
        let mut provides = written.provides;
        let implied = [
            ("tools", !written.provides_tools.is_empty()),
            ("hooks", !written.provides_hooks.is_empty()),
        ];
        for (part, _) in implied.into_iter().filter(|(_, is)| *is) {
            if !provides.iter().any(|known| known == part) {
                provides.push(part.to_owned());
            }
        }
        let required = written.requires_env.into_iter().map(|variable| match variable {
            Variable::Name(name) | Variable::Described { name } => name,
        });
        Ok(Self {
            name,
            version: match written.version {
                serde_json::Value::String(version) => version,
                serde_json::Value::Null => String::new(),
                other => other.to_string(),
            },
            description: written.description,
            command,
            provides,
            env: required.chain(written.env).collect(),
            timeout_s: written.timeout.unwrap_or(TIMEOUT).clamp(1, LONGEST_TIMEOUT),
        })
    }

    /// Whether it says that it brings this.
    pub fn has(&self, part: &str) -> bool {
        self.provides.iter().any(|known| known == part)
    }
}

/// Letters, digits, `-` and `_`.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= 64 && name.chars().all(fits)
}

/// A plugin on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPlugin {
    /// Its name as far as it is known.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// It stands in the project, not in the home.
    pub of_project: bool,
    /// What it says of itself, or why that cannot be used.
    pub manifest: Result<Manifest, String>,
}

impl FoundPlugin {
    /// A digest of its whole folder and of what its command names besides, so that trust ends when any of it changes.
    ///
    /// # Errors
    /// When no digest can be made of it, in words.
    pub fn sha256(&self) -> Result<String, String> {
        let words = self.manifest.as_ref().map(|manifest| manifest.command.as_slice());
        crate::contents::sha256(&self.folder, words.unwrap_or_default())
    }
}

/// Where the digests of trusted project plugins are kept, in the home.
const TRUSTED: &str = "plugins/.trusted.json";

/// Whether the person has allowed this plugin of a project as it is now.
pub fn is_trusted(home: &Path, plugin: &FoundPlugin) -> bool {
    withheld(home, plugin).is_none()
}

/// Why a plugin of a project may not be started as it is now, and what to do; nothing when it may.
pub fn withheld(home: &Path, plugin: &FoundPlugin) -> Option<String> {
    let name = &plugin.name;
    let allowed = trusted(home).remove(&plugin.folder.display().to_string());
    let Some(allowed) = allowed else {
        return Some(format!(
            "plugin {name} of this project is not started: you have not allowed it here; `talaria plugins enable \
             {name}` does"
        ));
    };
    match plugin.sha256() {
        Ok(now) if now == allowed => None,
        Ok(_) => Some(format!(
            "plugin {name} of this project is not started: its files have changed since you enabled it; look at {}, \
             then `talaria plugins enable {name}` allows it again",
            plugin.folder.display()
        )),
        Err(why) => Some(format!(
            "plugin {name} of this project is not started: it cannot be compared with what you enabled: {why}"
        )),
    }
}

/// Allows a plugin of a project as it is now.
///
/// # Errors
/// When no digest can be made of it, or that cannot be written down.
pub fn trust(home: &Path, plugin: &FoundPlugin) -> std::io::Result<()> {
    let refused = |why| std::io::Error::other(format!("plugin {} cannot be allowed: {why}", plugin.name));
    let sha256 = plugin.sha256().map_err(refused)?;
    let mut all = trusted(home);
    all.insert(plugin.folder.display().to_string(), sha256);
    std::fs::create_dir_all(home.join("plugins"))?;
    let text = serde_json::to_string_pretty(&all).map_err(std::io::Error::other)?;
    let mut file = tempfile::NamedTempFile::new_in(home.join("plugins"))?;
    std::io::Write::write_all(&mut file, text.as_bytes())?;
    file.persist(home.join(TRUSTED)).map_err(|error| error.error)?;
    Ok(())
}

fn trusted(home: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(home.join(TRUSTED)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// The plugins of `home`, and of `project` where the person wants that; of two with one name the
/// project's is left out: it must not stand in for one that was chosen.
pub fn find(home: &Path, project: Option<&Path>) -> Vec<FoundPlugin> {
    let mut found: BTreeMap<String, FoundPlugin> = BTreeMap::new();
    let project = project.map(|folder| (folder.join(".hermes/plugins"), true));
    for (folder, of_project) in std::iter::once((home.join("plugins"), false)).chain(project) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if let Some(plugin) = read(&entry.path(), of_project) {
                found.entry(plugin.name.clone()).or_insert(plugin);
            }
        }
    }
    found.into_values().collect()
}

/// The plugin of a folder; nothing when it has no manifest.
pub fn read(folder: &Path, of_project: bool) -> Option<FoundPlugin> {
    let path = folder.join("plugin.yaml");
    let facts = std::fs::metadata(&path).ok()?;
    let name = folder.file_name()?.to_string_lossy().into_owned();
    let manifest = if facts.len() > LONGEST {
        Err("plugin.yaml is too long".to_owned())
    } else {
        let text = std::fs::read_to_string(&path).map_err(|error| format!("plugin.yaml: {error}"));
        text.and_then(|text| Manifest::parse(&text, &name))
    };
    Some(FoundPlugin {
        name: manifest.as_ref().map_or(name, |manifest| manifest.name.clone()),
        folder: folder.to_owned(),
        of_project,
        manifest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_in_hermes_words_says_what_is_needed() {
        let text = "name: weather\nversion: 1.2\ndescription: Says the weather\ncommand: python3 'my plugin.py' --fast\n\
                    provides_tools: [weather]\nrequires_env:\n- WEATHER_KEY\n- {name: OTHER, description: x}\n";
        let manifest = Manifest::parse(text, "folder").unwrap();
        assert_eq!(manifest.command, ["python3", "my plugin.py", "--fast"]);
        assert_eq!((manifest.version.as_str(), manifest.timeout_s), ("1.2", 60));
        assert_eq!(manifest.env, ["WEATHER_KEY", "OTHER"]);
        assert!(manifest.has("tools") && !manifest.has("memory"));
    }

    #[test]
    fn what_cannot_be_run_says_why() {
        let refused = |text: &str| Manifest::parse(text, "x").unwrap_err();
        assert!(refused("name: x\nversion: '1'").contains("no command"));
        assert!(refused("command: x\nprovides: [magic]").contains("\"magic\""));
        assert!(refused("name: ../x\ncommand: x").contains("letters"));
        assert!(refused("[").starts_with("plugin.yaml: "));
    }

    #[test]
    fn plugins_are_found_by_their_manifests_and_a_project_takes_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let write = |place: &str, text: &str| {
            let path = folder.path().join(place);
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join("plugin.yaml"), text).unwrap();
        };
        write("home/plugins/a", "command: x");
        write("home/plugins/broken", "version: 1");
        write("project/.hermes/plugins/a", "command: evil");
        write("project/.hermes/plugins/b", "command: run-b");
        let (home, project) = (folder.path().join("home"), folder.path().join("project"));
        let found = find(&home, Some(&project));
        let told: Vec<(&str, bool, bool)> = found
            .iter()
            .map(|plugin| (plugin.name.as_str(), plugin.of_project, plugin.manifest.is_ok()))
            .collect();
        assert_eq!(
            told,
            [("a", false, true), ("b", true, true), ("broken", false, false)]
        );
        assert_eq!(find(&home, None).len(), 2);
        assert!(withheld(&home, &found[1]).unwrap().contains("have not allowed"));
        trust(&home, &found[1]).unwrap();
        assert!(is_trusted(&home, &found[1]));
        std::fs::write(project.join(".hermes/plugins/b/helper.py"), "planted").unwrap();
        let why = withheld(&home, &found[1]).unwrap();
        assert!(
            why.contains("changed since you enabled it")
                && why.contains("`talaria plugins enable b` allows it again"),
            "{why}"
        );
        trust(&home, &found[1]).unwrap();
        write("project/.hermes/plugins/b", "command: other");
        assert!(
            !is_trusted(&home, &find(&home, Some(&project))[1]),
            "it has changed since"
        );
        std::os::unix::fs::symlink(".", project.join(".hermes/plugins/b/loop")).unwrap();
        let why = trust(&home, &found[1]).unwrap_err().to_string();
        assert!(why.starts_with("plugin b cannot be allowed: loop links"), "{why}");
    }
}
