//! The tool `web_extract`: pages as text.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::{BoxFuture, join_all};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use talaria_tools::{Tool, ToolContext, ToolError, ToolOutput, untrusted};
use talaria_types::Effect;
use talaria_web::{Fetcher, WebError};

use super::{Reader, title};

/// The most pages of one call.
const MOST: usize = 5;

/// Reads pages.
pub(crate) struct WebExtract {
    pub(crate) fetcher: Arc<Fetcher>,
    pub(crate) reader: Reader,
    /// What reads PDFs.
    pub(crate) pdf_reader: Option<PathBuf>,
}

/// Which pages.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct WebExtractArgs {
    /// Addresses, 5 at most.
    #[schemars(length(max = 5))]
    urls: Vec<String>,
}

impl Tool for WebExtract {
    const NAME: &'static str = "web_extract";
    const DESCRIPTION: &'static str =
        "Reads web pages and PDFs as Markdown. Long ones come as a summary, or cut.";
    const EFFECT: Effect = Effect::Read;
    type Args = WebExtractArgs;

    fn run<'a>(
        &'a self,
        args: WebExtractArgs,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            if args.urls.is_empty() || args.urls.len() > MOST {
                let text = format!("urls holds {} addresses; give 1 to {MOST}", args.urls.len());
                return Err(ToolError::BadArguments(text));
            }
            let pages = join_all(args.urls.iter().map(|url| self.page(url, cx)));
            let pages = tokio::select! {
                pages = pages => pages,
                () = cx.cancel.cancelled() => return Err(ToolError::Interrupted),
            };
            let failed = pages.iter().filter(|page| !page["error"].is_null()).count();
            let brief = format!(
                "[web_extract] {} -> {} read, {failed} failed",
                args.urls.join(" "),
                pages.len() - failed
            );
            let output = ToolOutput::json(&json!({"results": pages}), brief);
            Ok(if failed == args.urls.len() {
                output.failed()
            } else {
                output
            })
        })
    }
}

impl WebExtract {
    /// One page, or why there is none.
    async fn page(&self, url: &str, cx: &ToolContext<'_>) -> Value {
        let read = async {
            let fetched = self.fetcher.page(url).await?;
            let at = fetched.url.to_string();
            let page = talaria_web::read(fetched, self.pdf_reader.as_deref()).await?;
            Ok::<_, WebError>((at, page))
        };
        let shown_url = talaria_redact::redact_url(url);
        match read.await {
            Ok((at, page)) => {
                let session = cx.session.id();
                match self.reader.read(&at, &page, &session, cx.cancel).await {
                    Ok(text) => json!({
                        "url": at, "title": title(&page.title), "error": null,
                        "content": untrusted::wrap(&at, &headed(&page.title, &text)),
                    }),
                    Err(why) => json!({"url": at, "title": "", "content": "", "error": why}),
                }
            }
            Err(error) => {
                let mut result =
                    json!({"url": shown_url, "title": "", "content": "", "error": error.to_string()});
                if let WebError::Blocked {
                    host,
                    rule,
                    source_name,
                } = &error
                {
                    result["blocked_by_policy"] = json!({"host": host, "rule": rule, "source": source_name});
                }
                result
            }
        }
    }
}

/// The text under its title, unless it begins with it.
fn headed(title: &str, text: &str) -> String {
    let begins = text.trim_start_matches(['#', ' ']).starts_with(title);
    if title.is_empty() || begins {
        text.to_owned()
    } else {
        format!("# {title}\n\n{text}")
    }
}
