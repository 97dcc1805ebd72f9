//! `insights`: what was used over a span of days, and what it has cost.

use clap::{ArgMatches, Args};
use serde_json::{Value, json};
use talaria_store::{Insights, ModelUsage, SessionStore};
use talaria_types::{Timestamp, Usage};

use super::Row;
use crate::args;
use crate::exit::{DONE, Outcome};
use crate::output;
use crate::place::Place;
use crate::text;

pub(super) const ROW: Row = Row {
    name: "insights",
    about: "Show what was used and what it has cost, by model, task, tool and day",
    define: Span::augment_args,
    run: |place, _, matches| run(place, matches),
};

const DAY: f64 = 86_400.0;

/// Tokens, money, tools and days of what was done lately
#[derive(Args, Debug)]
struct Span {
    /// How many days back.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    days: u32,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

fn run(place: &Place, matches: &ArgMatches) -> Outcome {
    let asked: Span = args::read(matches)?;
    let since = Timestamp(text::now().0 - DAY * f64::from(asked.days));
    let insights = match place.store()? {
        Some(store) => store.insights(since)?,
        None => Insights::default(),
    };
    if asked.json {
        output::json(&as_json(&insights, asked.days));
    } else {
        tell(&insights, asked.days);
    }
    Ok(DONE)
}

/// All of it added up.
struct Sum {
    api_calls: u64,
    usage: Usage,
    usd: f64,
    is_priced: bool,
}

fn sum<'a>(parts: impl IntoIterator<Item = &'a ModelUsage>) -> Sum {
    let nothing = Sum {
        api_calls: 0,
        usage: Usage::default(),
        usd: 0.0,
        is_priced: true,
    };
    parts.into_iter().fold(nothing, |mut sum, part| {
        sum.api_calls += part.api_calls;
        sum.usage += part.usage;
        sum.usd += part.known_cost_usd;
        sum.is_priced &= part.is_priced;
        sum
    })
}

impl Sum {
    /// The price; nothing when a part of it is not known.
    fn cost(&self) -> Option<f64> {
        self.is_priced.then_some(self.usd)
    }

    fn status(&self) -> &'static str {
        match (self.is_priced, self.usd > 0.0) {
            (true, _) => "known",
            (false, true) => "partial",
            (false, false) => "unknown",
        }
    }

    fn told(&self) -> String {
        match (self.is_priced, self.usd > 0.0) {
            (true, _) => format!("{:.4} USD", self.usd),
            (false, true) => format!("{:.4} USD and what is not known", self.usd),
            (false, false) => "price not known".to_owned(),
        }
    }
}

fn as_json(insights: &Insights, days: u32) -> Value {
    let all = sum(&insights.models);
    let part = |part: &ModelUsage| {
        let own = sum([part]);
        json!({
            "model": part.model, "provider": part.provider, "task": part.task, "api_calls": part.api_calls,
            "usage": part.usage, "estimated_cost_usd": own.cost(), "cost_status": own.status(),
        })
    };
    let pairs = |name: &str, value: &str, pairs: &[(String, u64)]| {
        let pair = |(key, count): &(String, u64)| json!({name: key, value: count});
        pairs.iter().map(pair).collect::<Vec<_>>()
    };
    let by_day = insights
        .days
        .iter()
        .map(|(day, usd)| json!({"day": day, "known_cost_usd": usd}));
    json!({
        "days": days, "sessions": insights.sessions, "messages": insights.messages,
        "api_calls": all.api_calls, "usage": all.usage,
        "estimated_cost_usd": all.cost(), "cost_status": all.status(),
        "models": insights.models.iter().map(part).collect::<Vec<_>>(),
        "tools": pairs("name", "calls", &insights.tools),
        "sources": pairs("source", "sessions", &insights.sources),
        "by_day": by_day.collect::<Vec<_>>(),
    })
}

fn tell(insights: &Insights, days: u32) {
    let all = sum(&insights.models);
    output::line(&format!(
        "last {days} days: {} sessions, {} messages, {} model calls, {} tokens in, {} out, {}",
        insights.sessions,
        insights.messages,
        all.api_calls,
        all.usage.prompt_tokens,
        all.usage.completion_tokens,
        all.told(),
    ));
    if !insights.models.is_empty() {
        let rows: Vec<Vec<String>> = insights.models.iter().map(row).collect();
        let head = [
            ("Model", 36),
            ("Provider", 16),
            ("Task", 16),
            ("Calls", 8),
            ("In", 12),
            ("Out", 10),
            ("Cost", 34),
        ];
        output::line(&format!("\n{}", text::table(&head, &rows)));
    }
    for (title, pairs) in [("Tool", &insights.tools), ("Source", &insights.sources)] {
        if !pairs.is_empty() {
            let rows: Vec<Vec<String>> = pairs
                .iter()
                .map(|(name, count)| vec![name.clone(), count.to_string()])
                .collect();
            output::line(&format!(
                "\n{}",
                text::table(&[(title, 30), ("Count", 10)], &rows)
            ));
        }
    }
    if !insights.days.is_empty() {
        let rows: Vec<Vec<String>> = insights
            .days
            .iter()
            .map(|(day, usd)| vec![day.clone(), format!("{usd:.4}")])
            .collect();
        output::line(&format!(
            "\n{}",
            text::table(&[("Day", 12), ("USD, as far as known", 22)], &rows)
        ));
    }
}

fn row(part: &ModelUsage) -> Vec<String> {
    vec![
        part.model.clone(),
        part.provider.clone(),
        part.task.clone(),
        part.api_calls.to_string(),
        part.usage.prompt_tokens.to_string(),
        part.usage.completion_tokens.to_string(),
        sum([part]).told(),
    ]
}
