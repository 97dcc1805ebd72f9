//! The V4A patch format: several files in one text.

/// What is to be done with one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add {
        path: String,
        content: String,
    },
    Update {
        path: String,
        moved: Option<String>,
        hunks: Vec<Hunk>,
    },
    Delete {
        path: String,
    },
    Move {
        from: String,
        to: String,
    },
}

/// One change of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// A line above the change, to find its place.
    pub(super) hint: Option<String>,
    /// Lines as they are.
    pub(super) old: Vec<String>,
    /// Lines as they will be.
    pub(super) new: Vec<String>,
}

impl Hunk {
    fn is_empty(&self) -> bool {
        self.old.is_empty() && self.new.is_empty()
    }
}

/// Reads a patch.
pub(super) fn parse(text: &str) -> Result<Vec<Operation>, String> {
    let mut operations: Vec<Operation> = Vec::new();
    let body = text.lines().skip_while(|line| line.trim().is_empty());
    for (number, line) in (1..).zip(body) {
        let line = line.trim_end_matches('\r');
        if let Some(marker) = line.strip_prefix("*** ") {
            match marker.trim() {
                "Begin Patch" | "End of File" => continue,
                "End Patch" => break,
                _ => {}
            }
            if let Some(target) = marker.strip_prefix("Move to:") {
                move_to(&mut operations, target.trim(), number)?;
            } else {
                operations.push(operation(marker, number)?);
            }
            continue;
        }
        match operations.last_mut() {
            Some(Operation::Add { content, .. }) => {
                content.push_str(line.strip_prefix('+').unwrap_or(line));
                content.push('\n');
            }
            Some(Operation::Update { hunks, .. }) => hunk_line(hunks, line),
            _ if line.trim().is_empty() => {}
            Some(_) => return Err(format!("line {number}: {line:?} belongs to no change")),
            None => {
                return Err(format!(
                    "line {number}: {line:?} comes before any \"*** Update File:\", \"*** Add File:\", \
                     \"*** Delete File:\" or \"*** Move File:\" line"
                ));
            }
        }
    }
    finish(&mut operations)?;
    Ok(operations)
}

fn operation(marker: &str, number: usize) -> Result<Operation, String> {
    let path = |rest: &str| {
        let path = rest.trim();
        if path.is_empty() {
            Err(format!("line {number}: the path is missing"))
        } else {
            Ok(path.to_owned())
        }
    };
    if let Some(rest) = marker.strip_prefix("Update File:") {
        return Ok(Operation::Update {
            path: path(rest)?,
            moved: None,
            hunks: Vec::new(),
        });
    }
    if let Some(rest) = marker.strip_prefix("Add File:") {
        return Ok(Operation::Add {
            path: path(rest)?,
            content: String::new(),
        });
    }
    if let Some(rest) = marker.strip_prefix("Delete File:") {
        return Ok(Operation::Delete { path: path(rest)? });
    }
    if let Some(rest) = marker.strip_prefix("Move File:") {
        let (from, to) = rest
            .split_once("->")
            .ok_or_else(|| format!("line {number}: write \"*** Move File: old -> new\""))?;
        return Ok(Operation::Move {
            from: path(from)?,
            to: path(to)?,
        });
    }
    Err(format!("line {number}: unknown marker \"*** {}\"", marker.trim()))
}

fn move_to(operations: &mut [Operation], target: &str, number: usize) -> Result<(), String> {
    match operations.last_mut() {
        Some(Operation::Update { moved, .. }) if !target.is_empty() => {
            *moved = Some(target.to_owned());
            Ok(())
        }
        _ => Err(format!(
            "line {number}: \"*** Move to:\" must follow \"*** Update File:\" and name a path"
        )),
    }
}

fn hunk_line(hunks: &mut Vec<Hunk>, line: &str) {
    if let Some(rest) = line.strip_prefix("@@") {
        let hint = rest.trim().trim_end_matches("@@").trim();
        // Positions of a unified diff say nothing: the lines are looked for.
        let numbers = hint.starts_with('-') && hint.contains(" +");
        let hint = if numbers {
            hint.rsplit_once("@@").map_or("", |(_, hint)| hint.trim())
        } else {
            hint
        };
        hunks.push(Hunk {
            hint: (!hint.is_empty()).then(|| hint.to_owned()),
            ..Hunk::default()
        });
        return;
    }
    if line.starts_with('\\') {
        return;
    }
    if hunks.is_empty() {
        hunks.push(Hunk::default());
    }
    let Some(hunk) = hunks.last_mut() else { return };
    match line.split_at_checked(1) {
        Some(("+", rest)) => hunk.new.push(rest.to_owned()),
        Some(("-", rest)) => hunk.old.push(rest.to_owned()),
        Some((" ", rest)) => {
            hunk.old.push(rest.to_owned());
            hunk.new.push(rest.to_owned());
        }
        _ => {
            hunk.old.push(line.to_owned());
            hunk.new.push(line.to_owned());
        }
    }
}

/// Drops what only separates the parts of a patch, and refuses what would do nothing.
fn finish(operations: &mut [Operation]) -> Result<(), String> {
    for operation in operations {
        let Operation::Update { path, moved, hunks } = operation else {
            continue;
        };
        for hunk in hunks.iter_mut() {
            // A blank line before the next marker is layout, not context.
            while hunk.old.last().is_some_and(String::is_empty)
                && hunk.new.last().is_some_and(String::is_empty)
            {
                hunk.old.pop();
                hunk.new.pop();
            }
        }
        hunks.retain(|hunk| !hunk.is_empty());
        if hunks.is_empty() && moved.is_none() {
            return Err(format!("the update of {path} has no lines"));
        }
    }
    Ok(())
}
