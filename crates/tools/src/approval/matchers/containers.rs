//! Containers that reach the machine they run on.

use super::super::shell::{Call, Scene};

/// Folders that no container should be given.
const HOST_FOLDERS: &[&str] = &[
    "/etc", "/boot", "/usr", "/bin", "/sbin", "/lib", "/var", "/root", "/dev", "/proc", "/sys", "/run",
    "/home",
];

pub(in super::super) fn container_host(call: &Call, _: &Scene) -> bool {
    if !call.is(&["docker", "podman", "nerdctl"]) {
        return false;
    }
    let texts: Vec<String> = call.texts().collect();
    let option = |text: &String| {
        text.starts_with("--privileged")
            || matches!(
                text.as_str(),
                "--pid=host" | "--userns=host" | "--cap-add=ALL" | "--cap-add=SYS_ADMIN" | "--ipc=host"
            )
    };
    let named = texts.windows(2).any(|pair| match pair[0].as_str() {
        "-v" | "--volume" => is_host(call, &pair[1]),
        "--mount" => mounts_host(call, &pair[1]),
        "--pid" | "--userns" => pair[1] == "host",
        "--cap-add" => matches!(pair[1].as_str(), "ALL" | "SYS_ADMIN"),
        _ => false,
    });
    let attached = texts.iter().any(|text| {
        let volume = text
            .strip_prefix("--volume=")
            .or_else(|| text.strip_prefix("-v").filter(|rest| !rest.is_empty()));
        volume.is_some_and(|volume| is_host(call, volume))
            || text
                .strip_prefix("--mount=")
                .is_some_and(|mount| mounts_host(call, mount))
    });
    named || attached || texts.iter().any(option)
}

fn mounts_host(call: &Call, mount: &str) -> bool {
    mount
        .split(',')
        .filter_map(|part| part.strip_prefix("source=").or_else(|| part.strip_prefix("src=")))
        .any(|source| is_host(call, source))
}

/// Whether `volume` is the machine's root, a folder of the system, or the user's whole home.
fn is_host(call: &Call, volume: &str) -> bool {
    let source = volume.split(':').next().unwrap_or_default();
    if !source.starts_with(['/', '~', '.', '$']) {
        return false;
    }
    let path = call.path(&super::super::shell::Word::plain(source));
    let system = |folder: &&str| {
        path == **folder
            || *folder != "/home"
                && *folder != "/root"
                && path
                    .strip_prefix(*folder)
                    .is_some_and(|rest| rest.starts_with('/'))
    };
    matches!(path.as_str(), "/" | "~" | "$HOME" | "") || HOST_FOLDERS.iter().any(system)
}
