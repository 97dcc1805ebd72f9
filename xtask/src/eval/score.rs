//! Looks for every fact that was said so far.

use super::corpus::Fact;
use anyhow::Result;
use std::collections::HashSet;
use talaria_store::{SearchQuery, SessionStore};
use talaria_types::{Message, MessageId, SessionId, StoredMessage};

/// Hits of a search among which the fact must be.
const HITS: u64 = 8;

/// Shares of the facts, from 0 to 1.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    /// The next request says it, literally.
    pub(crate) in_context: f64,
    /// The next request cites the id of a message that says it.
    pub(crate) by_id: f64,
    /// A search with the words of a question finds a message that says it.
    pub(crate) by_search: f64,
    /// One of the last two, or it is in context anyway.
    pub(crate) recallable: f64,
}

/// What is looked through.
pub(crate) struct Place<'a> {
    pub(crate) store: &'a dyn SessionStore,
    pub(crate) lineage: Vec<SessionId>,
    pub(crate) live: &'a [StoredMessage],
    /// Whether what is hidden is kept at all.
    pub(crate) keeps: bool,
}

impl Place<'_> {
    pub(crate) fn look(&self, facts: &[&Fact]) -> Result<Found> {
        let context: String = self.live.iter().map(|row| said(&row.message) + "\n").collect();
        let cited = self.cited(&context)?;
        let mut counts = [0_usize; 4];
        for fact in facts {
            let literal = context.contains(&fact.value);
            let id = cited.iter().any(|text| text.contains(&fact.value));
            let search = self.search(fact)?;
            for (count, hit) in counts
                .iter_mut()
                .zip([literal, id, search, literal || id || search])
            {
                *count += usize::from(hit);
            }
        }
        let share = |count: usize| count as f64 / facts.len().max(1) as f64;
        Ok(Found {
            in_context: share(counts[0]),
            by_id: share(counts[1]),
            by_search: share(counts[2]),
            recallable: share(counts[3]),
        })
    }

    /// The originals of the ids that are cited.
    fn cited(&self, context: &str) -> Result<Vec<String>> {
        let mut ids = HashSet::new();
        for (at, _) in context.match_indices("[m:") {
            let rest = &context[at..];
            if let Some(id) = rest
                .find(']')
                .and_then(|end| rest[..=end].parse::<MessageId>().ok())
            {
                ids.insert(id);
            }
        }
        let ids: Vec<MessageId> = ids.into_iter().collect();
        let originals = self.store.recall(&ids)?;
        Ok(originals.iter().map(|row| said(&row.message)).collect())
    }

    fn search(&self, fact: &Fact) -> Result<bool> {
        if !self.keeps {
            return Ok(false);
        }
        let query = SearchQuery {
            text: fact.question.clone(),
            limit: HITS,
            ..SearchQuery::default()
        };
        let hits = self.store.search_within(&query, &self.lineage)?.hits;
        let ids: Vec<MessageId> = hits.iter().map(|hit| hit.message_id).collect();
        let originals = self.store.recall(&ids)?;
        Ok(originals
            .iter()
            .any(|row| said(&row.message).contains(&fact.value)))
    }
}

/// Everything a message says, its calls included.
pub(crate) fn said(message: &Message) -> String {
    let calls: String = message
        .tool_calls
        .iter()
        .map(|call| call.arguments.as_str())
        .collect();
    format!("{} {calls}", message.content.text())
}
