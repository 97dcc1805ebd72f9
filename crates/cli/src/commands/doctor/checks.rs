//! The checks, one function each.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use talaria_config::{Overrides, env};

use super::Finding;
use crate::exit::Failure;
use crate::place::Place;

/// The home folder: there, ours, private, writable.
pub(super) fn home(place: &Place) -> Vec<Finding> {
    const NAME: &str = "home";
    let root = place.home.root();
    let told = root.display();
    let meta = match root.metadata() {
        Ok(meta) if meta.is_dir() => meta,
        Ok(_) => return vec![Finding::failed(NAME, format!("{told} is not a folder"))],
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return vec![Finding::ok(
                NAME,
                format!("{told} is not there yet; the first turn makes it"),
            )];
        }
        Err(error) => return vec![Finding::failed(NAME, format!("{told}: {error}"))],
    };
    let probe = root.join(format!(".probe.{}", std::process::id()));
    let written = std::fs::write(&probe, [0; 4096]);
    let _ = std::fs::remove_file(&probe);
    if let Err(error) = written {
        return vec![
            Finding::failed(NAME, format!("{told} cannot be written: {error}")).hint(
                if error.kind() == std::io::ErrorKind::StorageFull {
                    "free some space; nothing that was stored is lost"
                } else {
                    "check its owner and permissions, or give another home with --home"
                },
            ),
        ];
    }
    let mode = meta.mode() & 0o777;
    if mode & 0o022 != 0 {
        return vec![
            Finding::warning(NAME, format!("{told} can be written by others (mode {mode:o})"))
                .hint(format!("chmod 700 {told}")),
        ];
    }
    vec![Finding::ok(NAME, format!("{told} (mode {mode:o})"))]
}

/// The configuration: readable, valid.
pub(super) fn config(place: &Place) -> Vec<Finding> {
    const NAME: &str = "config";
    let loaded = place
        .cwd(None)
        .and_then(|cwd| place.config(&cwd, &Overrides::default()));
    match loaded {
        Err(Failure { message, hint, .. }) => {
            let finding = Finding::failed(NAME, message);
            vec![match hint {
                Some(hint) => finding.hint(hint),
                None => finding,
            }]
        }
        Ok(loaded) if loaded.warnings.is_empty() => {
            vec![Finding::ok(
                NAME,
                format!("{} set", crate::text::count(loaded.origins.len(), "value")),
            )]
        }
        Ok(loaded) => loaded
            .warnings
            .iter()
            .map(|warning| Finding::warning(NAME, warning.clone()))
            .collect(),
    }
}

/// Files with keys are for their owner alone.
pub(super) fn secrets(place: &Place) -> Vec<Finding> {
    let files = [place.home.env_file(), place.home.auth_file()];
    let open = files.iter().filter_map(|file| {
        let mode = file.metadata().ok()?.permissions().mode() & 0o777;
        (mode & 0o077 != 0).then(|| {
            let told = file.display();
            Finding::warning("secrets", format!("{told} can be read by others (mode {mode:o})"))
                .hint(format!("chmod 600 {told}"))
        })
    });
    open.collect()
}

/// The database: sound.
pub(super) fn database(place: &Place) -> Vec<Finding> {
    const NAME: &str = "database";
    let file = place.home.database();
    match place.has_database() {
        Ok(true) => {}
        Ok(false) => return vec![Finding::ok(NAME, "not there yet; the first turn makes it")],
        Err(Failure { message, hint, .. }) => {
            return vec![Finding::failed(NAME, message).hint(hint.unwrap_or_default())];
        }
    }
    match talaria_store::care::check(&file) {
        Ok(report) if report.sound => {
            vec![Finding::ok(
                NAME,
                format!(
                    "{}: sound, {}",
                    file.display(),
                    crate::text::count(report.messages, "message")
                ),
            )]
        }
        Ok(report) => vec![
            Finding::failed(
                NAME,
                format!("{} is damaged: {}", file.display(), report.problems.join("; ")),
            )
            .hint("`talaria db repair` saves what can be read and keeps the damaged file"),
        ],
        Err(error) => {
            let Failure { message, hint, .. } = error.into();
            vec![Finding::failed(NAME, message).hint(hint.unwrap_or_else(|| "talaria db check".to_owned()))]
        }
    }
}

/// SQLite's version. 3.51.3 mends a rare loss of write-ahead-log pages when several processes write.
pub(super) fn sqlite(_: &Place) -> Vec<Finding> {
    const NAME: &str = "sqlite";
    const MENDED: [u32; 3] = [3, 51, 3];
    let version = talaria_store::care::sqlite_version();
    let parts: Vec<u32> = version.split('.').filter_map(|part| part.parse().ok()).collect();
    if parts.as_slice() >= MENDED.as_slice() {
        return vec![Finding::ok(
            NAME,
            format!("{version} (has the write-ahead-log fix of 3.51.3)"),
        )];
    }
    vec![Finding::warning(
        NAME,
        format!("{version} lacks the write-ahead-log fix of 3.51.3"),
    )]
}

/// Programs that tools call.
pub(super) fn programs(place: &Place) -> Vec<Finding> {
    /// Name, whether turns need it, what it is for.
    const PROGRAMS: [(&str, bool, &str); 2] = [
        ("bash", true, "the terminal tool runs commands with it"),
        ("git", false, "projects are looked at with it"),
    ];
    let path = place.environment.get(env::PATH).unwrap_or_default();
    let found = |name: &str| std::env::split_paths(path).find(|folder| is_program(&folder.join(name)));
    let look = |(name, needed, purpose): (&'static str, bool, &str)| match found(name) {
        Some(folder) => Finding::ok("programs", format!("{name} in {}", folder.display())),
        None if needed => Finding::failed("programs", format!("{name} is not in $PATH; {purpose}")),
        None => Finding::warning("programs", format!("{name} is not in $PATH; {purpose}")),
    };
    PROGRAMS.map(look).to_vec()
}

fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// The memory provider: known, and given what it needs. It is not reached for.
pub(super) fn memory(place: &Place) -> Vec<Finding> {
    use talaria_memory::providers::table;
    const NAME: &str = "memory";
    let loaded = place
        .cwd(None)
        .and_then(|cwd| place.config(&cwd, &Overrides::default()));
    // What is wrong with the configuration is said by its own check.
    let Ok(loaded) = loaded else { return Vec::new() };
    let Some(name) = super::super::memory::providers::configured(&loaded) else {
        return Vec::new();
    };
    let finding = match table::row(name) {
        None => Finding::warning(NAME, format!("there is no memory provider {name:?}")),
        Some(row) => match row.build(&talaria_runtime::memory_place(&loaded, "cli")) {
            Ok(_) => return vec![Finding::ok(NAME, format!("{name} ({})", row.about))],
            Err(error) => Finding::warning(NAME, error.to_string()),
        },
    };
    vec![finding.hint("turns run without it; `talaria memory providers` lists them")]
}
