//! The members of a request besides its messages and tools.
//!
//! Every adapter lists the parameters it would send; the repairs that a server is
//! known to need (leave one out, rename one, ask for less) are applied here, the
//! same for all of them.

use std::borrow::Cow;

use serde_json::Value;
use talaria_types::{ModelRequest, Rewrite};

/// Parameters in the order they are sent.
#[derive(Debug)]
pub(crate) struct Params<'a> {
    rewrites: &'a [Rewrite],
    members: Vec<(Cow<'a, str>, Value)>,
}

impl<'a> Params<'a> {
    /// No parameters yet; `rewrites` are applied to those that follow.
    pub(crate) fn new(rewrites: &'a [Rewrite]) -> Self {
        Self {
            rewrites,
            members: Vec::new(),
        }
    }

    /// Adds one, unless a repair leaves it out.
    pub(crate) fn add(&mut self, name: &'a str, value: impl Into<Value>) {
        let mut name = name;
        // Renames first: a server may refuse the new name as well, which then is dropped.
        for rewrite in self.rewrites {
            if let Rewrite::RenameParameter { from, to } = rewrite
                && from == name
            {
                name = to;
            }
        }
        let dropped = self
            .rewrites
            .iter()
            .any(|rewrite| matches!(rewrite, Rewrite::DropParameter(gone) if gone == name));
        if !dropped && !self.members.iter().any(|(taken, _)| taken == name) {
            self.members.push((Cow::Borrowed(name), value.into()));
        }
    }

    /// Writes `,"name":value` for each of them.
    pub(crate) fn write(&self, body: &mut Vec<u8>) {
        for (name, value) in &self.members {
            body.push(b',');
            write_json(body, name);
            body.push(b':');
            write_json(body, value);
        }
    }
}

/// The request asks for a stream, as far as repairs go.
pub(crate) fn streams(rewrites: &[Rewrite]) -> bool {
    !rewrites.contains(&Rewrite::DoNotStream)
}

/// The most output tokens to ask for: the request's own bound or the endpoint's, capped by repairs.
pub(crate) fn output_bound(request: &ModelRequest, configured: Option<u64>) -> Option<u64> {
    let caps = request.rewrites.iter().filter_map(|rewrite| match rewrite {
        Rewrite::CapOutput(tokens) => Some(*tokens),
        _ => None,
    });
    let wanted = request.max_output_tokens.or(configured);
    match (wanted, caps.min()) {
        (Some(wanted), Some(cap)) => Some(wanted.min(cap)),
        (wanted, cap) => wanted.or(cap),
    }
}

/// Appends a value as JSON.
pub(crate) fn write_json<T: serde::Serialize + ?Sized>(body: &mut Vec<u8>, value: &T) {
    let before = body.len();
    // Writing to memory fails only for maps with keys that are no strings, and there are none.
    if serde_json::to_writer(&mut *body, value).is_err() {
        body.truncate(before);
        body.extend_from_slice(b"null");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(rewrites: &[Rewrite], members: &[(&str, u64)]) -> String {
        let mut params = Params::new(rewrites);
        for (name, value) in members {
            params.add(name, *value);
        }
        let mut body = Vec::new();
        params.write(&mut body);
        String::from_utf8(body).unwrap()
    }

    #[test]
    fn refused_parameters_are_left_out_or_renamed() {
        let rename = Rewrite::RenameParameter {
            from: "max_tokens".into(),
            to: "max_completion_tokens".into(),
        };
        let drop = Rewrite::DropParameter("top_k".into());
        assert_eq!(
            sent(&[], &[("max_tokens", 5), ("top_k", 1)]),
            r#","max_tokens":5,"top_k":1"#
        );
        assert_eq!(
            sent(&[rename.clone(), drop], &[("max_tokens", 5), ("top_k", 1)]),
            r#","max_completion_tokens":5"#
        );
        let drop_renamed = Rewrite::DropParameter("max_completion_tokens".into());
        assert_eq!(sent(&[rename, drop_renamed], &[("max_tokens", 5)]), "");
    }
}
