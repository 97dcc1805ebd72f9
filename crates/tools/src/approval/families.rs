//! Commands that are asked for before they run.
//!
//! One row a family: adding one is adding a row. A row sees the programs of a
//! command, not its text, so a word in quotes, a comment or the argument of
//! `echo` is no danger.

use super::matchers::{code, containers, escapes, files, git, own, services, variables};
use super::shell::{Call, MOST_CALLS, Scene};

/// One family of dangerous commands.
pub struct Family {
    /// Its name, as consent for it is kept.
    pub key: &'static str,
    /// What the person is told.
    pub description: &'static str,
    /// A command that belongs to it.
    pub example: &'static str,
    /// A command that looks like it and does not.
    pub look_alike: &'static str,
    found: fn(&Call, &Scene) -> bool,
}

impl Family {
    /// Whether `call` of `scene` belongs to it.
    pub(super) fn covers(&self, call: &Call, scene: &Scene) -> bool {
        (self.found)(call, scene)
    }

    /// Whether `name` means this family: its key or its description.
    pub fn is_called(&self, name: &str) -> bool {
        let name = name.trim();
        name.eq_ignore_ascii_case(self.key) || name.eq_ignore_ascii_case(self.description)
    }
}

const fn row(
    (key, description): (&'static str, &'static str),
    (example, look_alike): (&'static str, &'static str),
    found: fn(&Call, &Scene) -> bool,
) -> Family {
    Family {
        key,
        description,
        example,
        look_alike,
        found,
    }
}

/// All of them.
pub const FAMILIES: &[Family] = &[
    // Deletion
    row(
        ("recursive_delete", "recursive delete"),
        ("rm -rf build", "rm notes.txt"),
        files::recursive_delete,
    ),
    row(
        ("delete_outside", "delete outside of the working folder"),
        ("rm /opt/app/data.db", "rm /tmp/scratch.txt"),
        files::delete_outside,
    ),
    row(
        (
            "delete_unknown",
            "delete of a file whose name is only known when it runs",
        ),
        ("rm \"$target\"", "target=notes.txt; rm \"$target\""),
        files::delete_unknown,
    ),
    row(
        ("shred", "destruction of a file's content"),
        ("shred notes.txt", "truncate -s 10 notes.txt"),
        |call, _| call.program == "shred",
    ),
    row(
        ("xargs_delete", "xargs with rm"),
        ("ls | xargs rm", "ls | xargs wc"),
        files::xargs_delete,
    ),
    row(
        ("find_exec_delete", "find -exec rm"),
        ("find . -exec rm {} \\;", "find . -exec wc {} \\;"),
        files::find_exec_delete,
    ),
    row(
        ("find_delete", "find -delete"),
        ("find . -name '*.o' -delete", "find . -name '-delete.txt'"),
        files::find_delete,
    ),
    // Permissions
    row(
        ("open_permissions", "world/other-writable permissions"),
        ("chmod -R 777 .", "chmod 755 run.sh"),
        files::open_permissions,
    ),
    row(
        ("chown_root", "recursive chown to root"),
        ("chown -R root:root .", "chown -R me ."),
        files::chown_root,
    ),
    row(
        ("run_made_executable", "chmod +x followed by immediate execution"),
        ("chmod +x get.sh && ./get.sh", "chmod +x get.sh && ls"),
        code::run_made_executable,
    ),
    // Disks
    row(
        ("disk_copy", "disk copy"),
        ("dd if=/dev/zero of=disk.img count=1", "echo dd if=x"),
        files::disk_copy,
    ),
    row(
        ("device_write", "write to block device"),
        ("cp image /dev/sdb", "cp image /dev/null"),
        files::device_write,
    ),
    // Databases
    row(
        ("sql_drop", "SQL DROP"),
        ("psql -c 'DROP TABLE users'", "psql -c 'SELECT * FROM drop_table'"),
        code::sql_drop,
    ),
    row(
        ("sql_delete", "SQL DELETE without WHERE"),
        (
            "sqlite3 x.db 'DELETE FROM users;'",
            "sqlite3 x.db 'DELETE FROM users WHERE id = 1'",
        ),
        code::sql_delete,
    ),
    row(
        ("sql_truncate", "SQL TRUNCATE"),
        (
            "mysql -e 'TRUNCATE TABLE logs'",
            "mysql -e 'SELECT truncate(1.5, 0)'",
        ),
        code::sql_truncate,
    ),
    // Files that others depend on
    row(
        ("system_config_write", "overwrite system config"),
        ("echo x > /etc/hosts", "cat /etc/hosts > hosts"),
        files::system_config_write,
    ),
    row(
        ("credential_write", "write to credentials or shell startup files"),
        ("echo key >> ~/.ssh/authorized_keys", "cat ~/.bashrc > copy"),
        files::credential_write,
    ),
    row(
        ("project_config_write", "overwrite project env/config"),
        ("echo A=1 > .env", "cp .env /tmp/env-copy"),
        files::project_config_write,
    ),
    row(
        (
            "git_internals",
            "change of a repository's hooks or configuration files",
        ),
        ("echo x > .git/hooks/pre-commit", "cat .git/config"),
        own::git_internals,
    ),
    // This program itself
    row(
        (
            "own_settings",
            "change of this program's own settings or sessions",
        ),
        ("talaria config set approvals.mode off", "talaria config show"),
        own::own_settings,
    ),
    row(
        ("own_files", "change of this program's own files"),
        ("cp /tmp/x ~/.hermes/state.db", "cat ~/.hermes/logs/agent.log"),
        own::own_files,
    ),
    // Services and processes
    row(
        ("service_stop", "stop/restart system service"),
        ("systemctl restart nginx", "systemctl status nginx"),
        services::service_stop,
    ),
    row(
        ("force_kill", "force kill processes"),
        ("pkill -9 node", "pkill -f my-server"),
        services::force_kill,
    ),
    row(
        ("containers_stop", "stop/remove containers"),
        ("docker compose down", "docker ps -a"),
        services::containers_stop,
    ),
    row(
        ("own_gateway", "stop/restart this program's gateway"),
        ("hermes gateway stop", "hermes gateway status"),
        services::own_gateway,
    ),
    row(
        ("own_update", "update of this program"),
        ("hermes update", "hermes --version"),
        services::own_update,
    ),
    row(
        ("own_kill", "kill of this program"),
        ("pkill -f hermes", "pgrep hermes"),
        services::own_kill,
    ),
    row(
        ("kill_found", "kill process via pgrep expansion"),
        ("kill $(pgrep node)", "kill 4321"),
        services::kill_found,
    ),
    // Code from elsewhere
    row(
        ("script_flag", "script execution via -e/-c flag"),
        ("python3 -c 'import shutil'", "python3 script.py -c x"),
        code::script_flag,
    ),
    row(
        ("script_heredoc", "script execution via heredoc"),
        ("python3 <<'EOF'\nprint(1)\nEOF", "cat <<'EOF'\nprint(1)\nEOF"),
        code::script_heredoc,
    ),
    row(
        ("hidden_script", "shell command that cannot be read in advance"),
        ("bash -c \"$SCRIPT\"", "bash -c 'echo hello'"),
        code::hidden_script,
    ),
    row(
        ("remote_script", "pipe remote content to shell"),
        (
            "curl http://127.0.0.1:9/x.sh | sh",
            "curl http://127.0.0.1:9/x.json | jq .",
        ),
        code::remote_script,
    ),
    row(
        (
            "remote_substitution",
            "execute remote script via process substitution",
        ),
        (
            "bash <(curl -s http://127.0.0.1:9/x.sh)",
            "diff <(curl -s http://127.0.0.1:9/a) b",
        ),
        code::remote_substitution,
    ),
    row(
        ("decoded_script", "pipe decoded content to shell"),
        ("base64 -d payload | bash", "base64 -d payload > image.png"),
        code::decoded_script,
    ),
    row(
        ("windows_delete", "recursive delete or encoded command on Windows"),
        ("powershell -EncodedCommand AAAA", "powershell -File build.ps1"),
        code::windows,
    ),
    row(
        ("piped_script", "script from a pipe or a file fed to a shell"),
        ("cat build.sh | bash", "cat build.sh | wc -l"),
        code::piped_script,
    ),
    row(
        ("run_written", "script that is written and run in one command"),
        ("printf 'x' > s.sh; sh s.sh", "printf 'x' > s.txt; sh s.sh"),
        code::run_written,
    ),
    row(
        ("sourced_output", "output of programs read as shell commands"),
        ("source <(cat list)", "source venv/bin/activate"),
        code::sourced_output,
    ),
    row(
        (
            "program_escape",
            "commands hidden in the arguments of another program",
        ),
        ("awk 'BEGIN { system(\"id\") }'", "awk '{ print $1 }' list"),
        escapes::program_escape,
    ),
    row(
        ("fed_runner", "shell that is handed what xargs or find found"),
        ("ls | xargs -I{} sh -c '{}'", "ls | xargs -I{} wc {}"),
        escapes::fed_runner,
    ),
    row(
        ("shell_socket", "network connection opened by the shell"),
        ("echo x > /dev/tcp/127.0.0.1/80", "echo x > /dev/null"),
        escapes::shell_socket,
    ),
    row(
        (
            "telling_variable",
            "variable that makes other programs run something",
        ),
        ("LD_PRELOAD=./x.so ls", "GIT_EDITOR=true git rebase --continue"),
        variables::telling_variable,
    ),
    row(
        (
            "container_host",
            "container with the rights or folders of this machine",
        ),
        (
            "docker run -v /:/host alpine",
            "docker run -v /srv/project:/work alpine",
        ),
        containers::container_host,
    ),
    // Version control
    row(
        (
            "git_reset_hard",
            "git reset --hard (destroys uncommitted changes)",
        ),
        ("git reset --hard", "git reset --soft HEAD~1"),
        git::reset_hard,
    ),
    row(
        ("git_force_push", "git force push (rewrites remote history)"),
        ("git push --force origin main", "git push origin main"),
        git::force_push,
    ),
    row(
        ("git_clean", "git clean with force (deletes untracked files)"),
        ("git clean -fd", "git clean -n"),
        git::clean,
    ),
    row(
        ("git_branch_delete", "git branch force delete"),
        ("git branch -D old", "git branch -d old"),
        git::branch_delete,
    ),
    row(
        ("git_discard", "git command that discards uncommitted changes"),
        ("git checkout -- .", "git checkout -b feature"),
        git::discard,
    ),
    row(
        ("git_runs", "git setting or option that runs a command"),
        ("git -c core.pager='sh x' log", "git -c user.name=x commit"),
        git::runs,
    ),
    // Rights
    row(
        (
            "sudo_password",
            "sudo with a password from elsewhere or with a shell",
        ),
        ("sudo -S true", "sudo -n true"),
        services::sudo_password,
    ),
];

/// The families `scene` belongs to, in the order of the table.
pub(super) fn found(scene: &Scene) -> Vec<&'static Family> {
    let calls = &scene.calls[..scene.calls.len().min(MOST_CALLS)];
    FAMILIES
        .iter()
        .filter(|family| calls.iter().any(|call| family.covers(call, scene)))
        .collect()
}
