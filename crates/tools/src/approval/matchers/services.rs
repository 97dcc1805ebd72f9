//! Programs that end other programs, this one among them.

use super::super::shell::{Call, Scene};

/// Names this program goes by.
pub(in super::super) const OURSELVES: &[&str] = &["hermes", "talaria"];

fn first_operand(call: &Call) -> String {
    call.operands()
        .first()
        .map(|word| word.text())
        .unwrap_or_default()
}

pub(in super::super) fn service_stop(call: &Call, _: &Scene) -> bool {
    let verb = first_operand(call);
    match call.program.as_str() {
        "systemctl" => matches!(
            verb.as_str(),
            "stop" | "restart" | "disable" | "mask" | "kill" | "isolate"
        ),
        "service" | "rc-service" => call
            .operands()
            .get(1)
            .is_some_and(|verb| matches!(verb.text().as_str(), "stop" | "restart")),
        "launchctl" => matches!(
            verb.as_str(),
            "stop" | "unload" | "bootout" | "kill" | "disable" | "remove" | "kickstart"
        ),
        _ => false,
    }
}

pub(in super::super) fn force_kill(call: &Call, _: &Scene) -> bool {
    let kill_signal = |text: &str| {
        let name = text.trim_start_matches('-').to_ascii_uppercase();
        matches!(name.as_str(), "9" | "KILL" | "SIGKILL")
    };
    let words: Vec<String> = call.texts().collect();
    let direct = words
        .iter()
        .any(|word| word.starts_with('-') && kill_signal(word));
    let named = words
        .windows(2)
        .any(|pair| matches!(pair[0].as_str(), "-s" | "--signal") && kill_signal(&pair[1]));
    let joined = words
        .iter()
        .any(|word| word.strip_prefix("--signal=").is_some_and(kill_signal));
    match call.program.as_str() {
        "pkill" => direct || named || joined,
        "killall" => direct || named || joined || call.has_option('r', "regexp"),
        _ => false,
    }
}

pub(in super::super) fn containers_stop(call: &Call, _: &Scene) -> bool {
    const VERBS: &[&str] = &["stop", "kill", "rm", "rmi", "down", "restart", "prune", "pause"];
    const GROUPS: &[&str] = &[
        "compose",
        "container",
        "image",
        "volume",
        "network",
        "system",
        "stack",
        "service",
        "builder",
    ];
    if !call.is(&["docker", "podman", "nerdctl", "docker-compose", "podman-compose"]) {
        return false;
    }
    let words: Vec<String> = call.operands().iter().map(|word| word.text()).collect();
    let verb = words.iter().position(|word| VERBS.contains(&word.as_str()));
    // Before the verb stand only groups and values of global options; `docker run x rm y` runs in the container.
    verb.is_some_and(|at| {
        let before = &words[..at];
        let runs = before.iter().any(|word| {
            matches!(
                word.as_str(),
                "run" | "exec" | "build" | "create" | "cp" | "logs" | "pull"
            )
        });
        !runs
            && (at == 0
                || before.iter().any(|word| GROUPS.contains(&word.as_str()))
                || call.options().next().is_some()
                || call.program.ends_with("compose"))
    })
}

pub(in super::super) fn own_gateway(call: &Call, _: &Scene) -> bool {
    let words: Vec<String> = call.operands().iter().map(|word| word.text()).collect();
    let verb = words.get(1).map(String::as_str).unwrap_or_default();
    call.is(OURSELVES)
        && words.first().is_some_and(|word| word == "gateway")
        && (matches!(verb, "stop" | "restart") || verb == "run" && call.background)
}

pub(in super::super) fn own_update(call: &Call, _: &Scene) -> bool {
    call.is(OURSELVES) && first_operand(call) == "update"
}

pub(in super::super) fn own_kill(call: &Call, _: &Scene) -> bool {
    let ours = |text: String| OURSELVES.iter().any(|name| text.to_lowercase().contains(name));
    call.is(&["pkill", "killall"]) && call.operands().iter().any(|word| ours(word.text()))
}

pub(in super::super) fn kill_found(call: &Call, _: &Scene) -> bool {
    let finds = |name: &str| matches!(name, "pgrep" | "pidof");
    let in_words = call.args().iter().any(|word| word.programs().any(finds));
    let piped = call.wrappers.iter().any(|wrapper| wrapper == "xargs")
        && call.upstream.iter().any(|name| finds(name));
    call.program == "kill" && (in_words || piped)
}

pub(in super::super) fn sudo_password(call: &Call, _: &Scene) -> bool {
    call.sudo_options
        .iter()
        .any(|option| match option.strip_prefix("--") {
            Some(long) => matches!(long, "stdin" | "askpass" | "shell"),
            None => option.contains(['S', 's', 'A']),
        })
}
