//! The tools `skills_list`, `skill_view` and `skill_manage`.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use talaria_skills::{Change, Done, Library, SkillError, Used, View, Writer};
use talaria_tools::{Tool, ToolContext, ToolError, ToolOutput};
use talaria_types::Effect;

use crate::clock;
use crate::pending_skills;

/// The most skills one listing names.
const LISTED: usize = 200;

/// What the three tools share.
pub(crate) struct Bench {
    pub(crate) library: Arc<Library>,
    /// `skills.write_approval`.
    pub(crate) approval: bool,
    /// A review works here, with what it has read; a turn of the person does not count.
    pub(crate) review: Option<Mutex<HashSet<String>>>,
}

impl Bench {
    /// For turns of the person.
    pub(crate) fn of_turns(library: Arc<Library>, approval: bool) -> Arc<Self> {
        Arc::new(Self {
            library,
            approval,
            review: None,
        })
    }

    /// For one review.
    pub(crate) fn of_review(library: Arc<Library>, approval: bool) -> Arc<Self> {
        Arc::new(Self {
            library,
            approval,
            review: Some(Mutex::default()),
        })
    }

    fn has_read(&self, name: &str) -> bool {
        let read = self.review.as_ref();
        read.is_none_or(|read| read.lock().unwrap_or_else(PoisonError::into_inner).contains(name))
    }

    fn reads(&self, name: &str) {
        if let Some(read) = &self.review {
            read.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(name.to_owned());
        }
    }

    fn change(&self, change: &Change) -> Result<Done, SkillError> {
        let has_read = |name: &str| self.has_read(name);
        let writer = match &self.review {
            None => Writer::Foreground,
            Some(_) => Writer::Review { has_read: &has_read },
        };
        let done = self.library.change(change, writer, clock::now())?;
        // What it has just written itself it knows.
        self.reads(&done.name);
        Ok(done)
    }
}

/// Lists skills.
pub(crate) struct SkillsList(pub(crate) Arc<Bench>);
/// Shows one.
pub(crate) struct SkillView(pub(crate) Arc<Bench>);
/// Changes one.
pub(crate) struct SkillManage(pub(crate) Arc<Bench>);

/// Which skills.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ListArgs {
    /// Only this category
    #[serde(default)]
    category: Option<String>,
    /// Only skills with these words
    #[serde(default)]
    query: Option<String>,
}

/// Which skill, which file.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ViewArgs {
    /// Name, or category/name
    name: String,
    /// One of its linked files instead of the skill itself
    #[serde(default)]
    file_path: Option<String>,
}

/// What is to be done.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ManageArgs {
    /// create, edit (whole text), patch, delete, write_file or remove_file
    action: String,
    name: String,
    /// create, edit: the whole SKILL.md, beginning with --- name, description ---
    #[serde(default)]
    content: Option<String>,
    /// create: the folder it goes into
    #[serde(default)]
    category: Option<String>,
    /// A file below references/, templates/, scripts/ or assets/
    #[serde(default)]
    file_path: Option<String>,
    #[serde(default)]
    file_content: Option<String>,
    /// patch: text that is there once
    #[serde(default)]
    old_string: Option<String>,
    #[serde(default)]
    new_string: Option<String>,
    #[serde(default)]
    replace_all: Option<bool>,
    /// delete: the skill that holds its content now, or ""
    #[serde(default)]
    absorbed_into: Option<String>,
}

impl Tool for SkillsList {
    const NAME: &'static str = "skills_list";
    const DESCRIPTION: &'static str = "Lists skills with their descriptions";
    const EFFECT: Effect = Effect::Read;
    type Args = ListArgs;

    fn run<'a>(
        &'a self,
        args: ListArgs,
        _: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let library = self.0.library.clone();
        Box::pin(blocking(move || Ok(list(&library, &args))))
    }
}

fn list(library: &Library, args: &ListArgs) -> ToolOutput {
    let all = library.all();
    let words: Vec<String> = args
        .query
        .as_deref()
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_lowercase)
        .collect();
    let matches = |entry: &&talaria_skills::Entry| {
        let text = format!("{} {} {}", entry.name, entry.category, entry.description).to_lowercase();
        args.category
            .as_deref()
            .is_none_or(|category| category.trim() == entry.category)
            && words.iter().all(|word| text.contains(word))
    };
    let found: Vec<_> = all
        .iter()
        .filter(|entry| entry.is_offered(&|_| true))
        .filter(matches)
        .collect();
    let mut categories: Vec<&str> = all.iter().map(|entry| entry.category.as_str()).collect();
    categories.sort_unstable();
    categories.dedup();
    let shown: Vec<Value> = found
        .iter()
        .take(LISTED)
        .map(
            |entry| json!({"name": entry.name, "description": entry.description, "category": entry.category}),
        )
        .collect();
    let mut told = json!({"success": true, "skills": shown, "categories": categories, "count": found.len()});
    told["hint"] = if found.len() > LISTED {
        json!(format!("only {LISTED} are shown; give a category or a query"))
    } else {
        json!("skill_view(name) shows one")
    };
    ToolOutput::json(&told, format!("[skills_list] {} skills", found.len()))
}

impl Tool for SkillView {
    const NAME: &'static str = "skill_view";
    const DESCRIPTION: &'static str = "Loads a skill: its instructions and the list of its files";
    const EFFECT: Effect = Effect::Read;
    type Args = ViewArgs;

    fn run<'a>(
        &'a self,
        args: ViewArgs,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let (bench, session) = (self.0.clone(), cx.session.id());
        Box::pin(blocking(move || {
            Ok(
                match bench
                    .library
                    .view(&args.name, args.file_path.as_deref(), &session)
                {
                    Ok(view) => bench.viewed(&view, &args),
                    Err(error) => refused(Self::NAME, &error),
                },
            )
        }))
    }

    fn keeps_whole_results(&self) -> bool {
        true
    }
}

impl Bench {
    fn viewed(&self, view: &View, args: &ViewArgs) -> ToolOutput {
        let name = &view.entry.name;
        if args.file_path.is_none() {
            self.reads(name);
        }
        // A review that reads a skill is no use of it.
        if self.review.is_none() {
            let now = clock::now();
            let counted = self.library.count(name, Used::Viewed, now);
            if let Err(error) = counted.and_then(|()| self.library.count(name, Used::Used, now)) {
                tracing::warn!(%error, "the use of a skill could not be counted");
            }
        }
        let brief = format!("[skill_view] {name} ({} chars)", view.content.chars().count());
        ToolOutput::json(&view.told, brief)
    }
}

impl Tool for SkillManage {
    const NAME: &'static str = "skill_manage";
    const DESCRIPTION: &'static str = "Creates, patches or removes skills: procedures worth keeping for a class of tasks. \
        Prefer to patch one that exists. Every change can be undone by the user";
    const EFFECT: Effect = Effect::Write;
    type Args = ManageArgs;

    fn run<'a>(
        &'a self,
        args: ManageArgs,
        _: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let bench = self.0.clone();
        Box::pin(blocking(move || Ok(manage(&bench, args))))
    }
}

fn manage(bench: &Bench, args: ManageArgs) -> ToolOutput {
    let change = match change_of(args) {
        Ok(change) => change,
        Err(error) => return refused(SkillManage::NAME, &error),
    };
    let brief = format!("[skill_manage] {} {}", change.action(), change.name());
    if bench.approval {
        let origin = if bench.review.is_some() {
            "background_review"
        } else {
            "foreground"
        };
        return match pending_skills::stage(bench.library.home(), &change, origin) {
            Ok(id) => {
                let message = format!(
                    "Not written yet: skills.write_approval is on. It waits for the user, who decides with /skills approve {id} or \
                     /skills reject {id}. Do not write it again."
                );
                let told = json!({"success": true, "staged": true, "pending_id": id, "message": message});
                ToolOutput::json(&told, format!("{brief} (waits for consent)"))
            }
            Err(error) => refused(SkillManage::NAME, &error),
        };
    }
    match bench.change(&change) {
        Ok(done) => {
            let mut told = json!({"success": true, "message": done.message, "path": done.path});
            if let Some(snapshot) = &done.snapshot {
                told["snapshot"] = json!(snapshot);
            }
            ToolOutput::json(&told, brief)
        }
        Err(error) => refused(SkillManage::NAME, &error),
    }
}

fn change_of(args: ManageArgs) -> Result<Change, SkillError> {
    let name = args.name.trim().to_owned();
    let action = args.action.trim().to_owned();
    let needs = |value: Option<String>, what: &str| {
        value.ok_or_else(|| SkillError::Invalid(format!("{action} needs {what}")))
    };
    Ok(match action.as_str() {
        "create" => Change::Create {
            content: needs(args.content, "content")?,
            category: args.category,
            name,
        },
        "edit" => Change::Edit {
            content: needs(args.content, "content")?,
            name,
        },
        "patch" => Change::Patch {
            old_string: needs(args.old_string, "old_string")?,
            new_string: needs(args.new_string, "new_string (\"\" removes the text)")?,
            file_path: args.file_path,
            replace_all: args.replace_all.unwrap_or(false),
            name,
        },
        "delete" => Change::Delete {
            absorbed_into: args.absorbed_into.unwrap_or_default(),
            name,
        },
        "write_file" => Change::WriteFile {
            file_path: needs(args.file_path, "file_path")?,
            file_content: needs(args.file_content, "file_content")?,
            name,
        },
        "remove_file" => Change::RemoveFile {
            file_path: needs(args.file_path, "file_path")?,
            name,
        },
        other => {
            return Err(SkillError::Invalid(format!(
                "there is no action {other:?}; use create, edit, patch, delete, write_file or remove_file"
            )));
        }
    })
}

/// What the model reads of a failure.
fn refused(tool: &str, error: &SkillError) -> ToolOutput {
    let mut told = json!({"success": false, "error": error.to_string()});
    match error {
        SkillError::NotFound { available, .. } => told["available_skills"] = json!(available),
        SkillError::Ambiguous { matches, .. } => told["matches"] = json!(matches),
        SkillError::NoFile { available, .. } => told["available_files"] = json!(available),
        SkillError::NoMatch { preview, .. } => told["file_preview"] = json!(preview),
        SkillError::Invalid(_)
        | SkillError::Refused(_)
        | SkillError::Dangerous(_)
        | SkillError::Failed(_)
        | SkillError::File { .. } => {}
    }
    ToolOutput::json(&told, format!("[{tool}] refused: {error}")).failed()
}

/// Disk work beside the session's own task.
async fn blocking(
    work: impl FnOnce() -> Result<ToolOutput, ToolError> + Send + 'static,
) -> Result<ToolOutput, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| ToolError::Failed(error.to_string()))?
}
