//! What the agent of a scheduled run is asked.

use talaria_config::Loaded;
use talaria_schedule::Job;
use talaria_tools::untrusted;

use super::script::Said;

/// The most characters of another job's report.
const REPORT: usize = 8_000;

const OPENING: &str = "[This is a scheduled run. Nobody is there to answer: do not ask, decide and do it. Your final \
    answer is the report, and it is delivered as it is; do not send it anywhere yourself. When there is nothing to \
    report, answer with exactly [SILENT].]";

/// The prompt of a job, with what its script and other jobs said, as a stranger's words.
pub(crate) fn of(loaded: &Loaded, job: &Job, script: Option<&Said>) -> String {
    let mut parts = vec![OPENING.to_owned()];
    for other in sources(job) {
        if let Some(report) = newest_report(loaded, &other) {
            parts.push(format!(
                "The newest report of job {other}:\n{}",
                untrusted::wrap(&format!("report of job {other}"), &report)
            ));
        }
    }
    if let (Some(said), Some(name)) = (script, &job.script) {
        let output = untrusted::wrap(&format!("output of {name}"), said.output.trim());
        parts.push(match &said.error {
            Some(error) => format!("The script {name} failed: {error}\nWhat it said before:\n{output}"),
            None => format!("What the script {name} found:\n{output}"),
        });
    }
    parts.push(job.prompt.clone());
    parts.join("\n\n")
}

/// Jobs whose reports this one reads.
fn sources(job: &Job) -> Vec<String> {
    match job.rest.get("context_from") {
        Some(serde_json::Value::String(one)) => vec![one.clone()],
        Some(serde_json::Value::Array(several)) => {
            let ids = several.iter().filter_map(|id| id.as_str());
            ids.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

fn newest_report(loaded: &Loaded, id: &str) -> Option<String> {
    // The id comes from a file; it must not become a path.
    if id.is_empty()
        || !id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        return None;
    }
    let folder = loaded.home.root().join("cron").join("output").join(id);
    let mut reports: Vec<_> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    reports.sort();
    let text = std::fs::read_to_string(reports.last()?).ok()?;
    Some(crate::web_tools::beginning(&text, REPORT).to_owned())
}
