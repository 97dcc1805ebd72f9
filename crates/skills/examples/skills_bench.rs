//! How long the index of many skills takes: `cargo run --release -p talaria-skills --example skills_bench [NUMBER]`.
//!
//! Cold: nothing is known. Next process: the cache knows all. Warm: the same process asks again. In each
//! case the disk is asked whether anything has changed.

use std::{error::Error, io::Write as _, path::Path, time::Instant};
use talaria_skills::{Library, Roots};

fn main() -> Result<(), Box<dyn Error>> {
    let number = std::env::args()
        .nth(1)
        .map_or(Ok(10_000), |number| number.parse())?;
    let home = tempfile::tempdir()?;
    write(home.path(), number)?;
    let mut out = std::io::stdout().lock();
    let cold = library(home.path());
    writeln!(out, "{number} skills, cold: {:.1} ms", time(&cold))?;
    let next = (0..5)
        .map(|_| time(&library(home.path())))
        .fold(f64::MAX, f64::min);
    writeln!(out, "next process: {next:.1} ms")?;
    let warm = (0..5).map(|_| time(&cold)).fold(f64::MAX, f64::min);
    writeln!(out, "warm: {warm:.1} ms")?;
    Ok(())
}

fn library(home: &Path) -> Library {
    Library::new(Roots {
        home: home.to_owned(),
        ..Roots::default()
    })
}

/// Milliseconds for one block of a prompt.
fn time(library: &Library) -> f64 {
    let began = Instant::now();
    std::hint::black_box(library.block(&|_| true, false));
    began.elapsed().as_secs_f64() * 1_000.0
}

fn write(home: &Path, number: usize) -> Result<(), Box<dyn Error>> {
    for place in 0..number {
        let folder = home.join(format!("skills/category-{}/skill-{place}", place % 50));
        std::fs::create_dir_all(&folder)?;
        let tags = if place % 4 == 0 {
            "metadata:\n  hermes:\n    tags: [a, b]\n"
        } else {
            ""
        };
        let text = format!(
            "---\nname: skill-{place}\ndescription: Does the thing number {place} for people who need it\n{tags}---\n\n# Skill\n\n{}",
            "One step after the other.\n".repeat(60)
        );
        std::fs::write(folder.join("SKILL.md"), text)?;
    }
    Ok(())
}
