//! Reports of runs: `cron/output/<job>/<time>.md`, the newest of them.

use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::Job;
use crate::book::private_folder;

/// Writes a report, and removes all but the newest `most` of the job; 0 keeps all.
///
/// # Errors
/// When it cannot be written.
pub fn keep(
    home: &Path,
    job: &Job,
    report: &str,
    most: usize,
    (now, zone): (Timestamp, &TimeZone),
) -> std::io::Result<PathBuf> {
    use std::os::unix::fs::OpenOptionsExt;
    let folder = home.join("cron").join("output").join(&job.id);
    private_folder(&folder)?;
    let time = now
        .to_zoned_datetime(zone.clone())
        .strftime("%Y-%m-%d_%H-%M-%S")
        .to_string();
    let path = folder.join(format!("{time}.md"));
    let mut options = std::fs::File::options();
    let mut file = options
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all(report.as_bytes())?;
    if most > 0 {
        let mut reports: Vec<PathBuf> = std::fs::read_dir(&folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
            .collect();
        reports.sort();
        let old = reports.len().saturating_sub(most);
        for report in reports.iter().take(old) {
            std::fs::remove_file(report)?;
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_reports_stay() {
        let home = tempfile::tempdir().unwrap();
        let job = Job {
            id: "ab12".to_owned(),
            ..Job::default()
        };
        for second in 0..5 {
            let at = (Timestamp::from_second(second).unwrap(), &TimeZone::UTC);
            keep(home.path(), &job, &format!("report {second}"), 3, at).unwrap();
        }
        let folder = home.path().join("cron/output/ab12");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3);
        let newest = std::fs::read_to_string(folder.join("1970-01-01_00-00-04.md")).unwrap();
        assert_eq!(newest, "report 4");
    }
}
