//! Where a report goes besides its file.
//!
//! A command that gets reports stands in the configuration, which no tool writes: a job can only say that it is
//! used.

use std::process::Stdio;
use std::time::Duration;

use talaria_config::Loaded;
use talaria_schedule::Job;
use tokio::io::AsyncWriteExt;

use super::{name_of, script};

/// The longest the command may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Delivers a report; why it could not be, for each place that failed.
pub(crate) async fn deliver(loaded: &Loaded, job: &Job, report: &str) -> Option<String> {
    let text = if loaded.config.cron.wrap_response {
        format!(
            "Cronjob Response: {}\n-------------\n\n{}\n",
            name_of(job),
            report.trim()
        )
    } else {
        report.to_owned()
    };
    let mut errors = Vec::new();
    for place in job.deliver.split(',').map(str::trim) {
        let failed = match place {
            "" | "local" | "origin" => None,
            "command" => by_command(loaded, job, &text).await.err(),
            other => Some(format!(
                "{other} is no place this program delivers to; the report is kept in its file"
            )),
        };
        errors.extend(failed);
    }
    (!errors.is_empty()).then(|| errors.join("; "))
}

async fn by_command(loaded: &Loaded, job: &Job, text: &str) -> Result<(), String> {
    let line = loaded.config.cron.deliver_command.trim();
    if line.is_empty() {
        return Err("the job is delivered by a command, and cron.deliver_command is not set".to_owned());
    }
    let failed = |error: std::io::Error| format!("cron.deliver_command: {error}");
    let mut child = tokio::process::Command::new("/bin/sh")
        .arg("-c")
        .arg(line)
        .env_clear()
        .envs(script::environment(loaded))
        .env("TALARIA_CRON_JOB_ID", &job.id)
        .env("TALARIA_CRON_JOB_NAME", name_of(job))
        .current_dir(loaded.home.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let mut group = script::Group(child.id());
    if let Some(mut input) = child.stdin.take() {
        // A command that does not read says by its exit whether that is a failure.
        let _ = tokio::time::timeout(PATIENCE, input.write_all(text.as_bytes())).await;
    }
    let ended = tokio::time::timeout(PATIENCE, child.wait()).await;
    if ended.is_ok() {
        group.0 = None;
    }
    match ended {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(format!("cron.deliver_command failed ({status})")),
        Ok(Err(error)) => Err(failed(error)),
        Err(_) => Err(format!(
            "cron.deliver_command did not end within {} s",
            PATIENCE.as_secs()
        )),
    }
}
