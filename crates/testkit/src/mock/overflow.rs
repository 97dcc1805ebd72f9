//! Token limits that a scenario enforces, and how some thirty providers word the refusal.

use crate::mock::request::{ModelCall, TaskKind, all_text};
use serde::Deserialize;
use serde_json::{Value, json};

/// A limit on what a request may hold.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Limit {
    /// Tokens; above it the request is refused.
    limit: Option<u64>,
    /// `body` (default) counts the whole body, `content` the texts of its messages.
    count: String,
    /// Characters a token.
    divisor: Option<u64>,
    /// Added to the count.
    add: u64,
    /// Also counts the output tokens the request asks for.
    output: bool,
    /// Whose words the refusal uses.
    shape: Option<Value>,
    /// Only for these tasks.
    tasks: Vec<String>,
    /// Only for models that match.
    model: Option<String>,
    /// Only the first so many times.
    times: Option<usize>,
    /// Reported usage of accepted requests is this count.
    usage: bool,
}

/// What the limits say about a request.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// Status, body and note of a refusal.
    pub(crate) refusal: Option<(u16, Value, String)>,
    /// The prompt tokens to report.
    pub(crate) usage: Option<u64>,
}

/// Applies the limits in order. `used` counts how often each one refused.
pub(crate) fn enforce(
    limits: &[Limit],
    used: &mut std::collections::HashMap<usize, usize>,
    call: &ModelCall,
) -> Verdict {
    let mut verdict = Verdict::default();
    for (index, limit) in limits.iter().enumerate() {
        if !limit.concerns(call.task, &call.model) {
            continue;
        }
        let got = limit.counted(call);
        let out = if limit.output { asked_output(call) } else { 0 };
        if limit.usage {
            verdict.usage = Some(got);
        }
        let Some(most) = limit.limit.filter(|most| got + out > *most) else {
            continue;
        };
        let times = used.entry(index).or_default();
        if limit.times.is_some_and(|allowed| *times >= allowed) {
            continue;
        }
        *times += 1;
        let shape = match &limit.shape {
            Some(Value::String(shape)) => shape.clone(),
            Some(other) => other.to_string(),
            None => "openai".to_owned(),
        };
        let (status, body) = refusal(&shape, most, got, out);
        verdict.refusal = Some((status, body, format!("overflow {got}+{out}>{most}")));
        verdict.usage = None;
        break;
    }
    verdict
}

impl Limit {
    fn concerns(&self, task: TaskKind, model: &str) -> bool {
        let named = self.model.as_deref().map(crate::mock::scenario::pattern);
        let model_fits = named.is_none_or(|pattern| pattern.is_ok_and(|pattern| pattern.is_match(model)));
        (self.tasks.is_empty() || self.tasks.iter().any(|known| known == task.as_str())) && model_fits
    }

    fn counted(&self, call: &ModelCall) -> u64 {
        let chars = if self.count == "content" {
            call.body.as_ref().map_or(0, |body| {
                all_text(body).iter().map(|text| text.chars().count()).sum()
            })
        } else {
            String::from_utf8_lossy(&call.raw).chars().count()
        };
        (chars as u64).div_ceil(self.divisor.unwrap_or(4).max(1)) + self.add
    }
}

fn asked_output(call: &ModelCall) -> u64 {
    let Some(body) = &call.body else { return 0 };
    let named = ["max_completion_tokens", "max_tokens", "max_output_tokens"]
        .iter()
        .find_map(|key| body[*key].as_u64());
    named
        .or_else(|| body["generationConfig"]["maxOutputTokens"].as_u64())
        .unwrap_or(0)
}

fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Status and body of an overflow error in a provider's words; an empty string is no body.
fn refusal(shape: &str, limit: u64, got: u64, out: u64) -> (u16, Value) {
    openai_family(shape, limit, got, out)
        .or_else(|| clouds(shape, limit, got, out))
        .or_else(|| local_servers(shape, limit, got, out))
        .or_else(|| others(shape, limit, got))
        .unwrap_or_else(|| {
            let message = format!(
                "{}your messages resulted in {got} tokens. Please reduce the length of the messages.",
                maximum(limit)
            );
            (400, openai(&message))
        })
}

fn maximum(limit: u64) -> String {
    format!("This model's maximum context length is {limit} tokens. However, ")
}

const REDUCE: &str = "Please reduce the length of the messages or completion.";

fn openai(message: &str) -> Value {
    json!({"error": {"message": message, "type": "invalid_request_error", "param": "messages",
                     "code": "context_length_exceeded"}})
}

fn openai_with(message: &str, kind: &str, param: Option<&str>, code: Option<&str>) -> Value {
    json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
}

fn openai_family(shape: &str, limit: u64, got: u64, out: u64) -> Option<(u16, Value)> {
    let total = got + out;
    let parts =
        format!("you requested {total} tokens ({got} in the messages, {out} in the completion). {REDUCE}");
    let request_error = "invalid_request_error";
    let body = match shape {
        "openai_parts" => openai(&format!("{}{parts}", maximum(limit))),
        "responses" => openai_with(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            request_error,
            Some("input"),
            Some("context_length_exceeded"),
        ),
        "azure" => openai(&format!(
            "Input tokens exceed the configured limit of {limit} tokens. Your messages resulted in {got} tokens. \
             Please reduce the length of the messages."
        )),
        "deepseek" => openai_with(
            &format!("{}{parts}", maximum(limit)),
            request_error,
            None,
            Some("invalid_request_error"),
        ),
        "qwen" => openai_with(
            &format!(
                "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, {limit}]"
            ),
            "invalid_parameter_error",
            None,
            Some("invalid_parameter_error"),
        ),
        "minimax" => openai_with(
            "invalid params, context window exceeds limit (2013)",
            request_error,
            None,
            None,
        ),
        "groq" => openai(REDUCE),
        "commas" => openai_with(
            &format!(
                "Prompt has {} tokens, but the configured context size is {} tokens",
                with_commas(got),
                with_commas(limit)
            ),
            request_error,
            Some("messages"),
            None,
        ),
        _ => return None,
    };
    Some((400, body))
}

fn clouds(shape: &str, limit: u64, got: u64, out: u64) -> Option<(u16, Value)> {
    let total = got + out;
    let anthropic = |message: String| json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}, "request_id": "req_x"});
    let google =
        |message: String| json!({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}});
    let body = match shape {
        "anthropic" => anthropic(format!("prompt is too long: {got} tokens > {limit} maximum")),
        "anthropic_sum" => anthropic(format!(
            "input length and `max_tokens` exceed context limit: {got} + {out} > {limit}, decrease input length or \
             `max_tokens` and try again"
        )),
        "bedrock" => json!({"message": "Input is too long for requested model."}),
        "gemini" => google(format!(
            "The input token count ({got}) exceeds the maximum number of tokens allowed ({limit})."
        )),
        "vertex" => google(format!(
            "Unable to submit request because the input token count is {got} but model only supports up to {limit}."
        )),
        "openrouter" => json!({"error": {"message": format!(
            "This endpoint's maximum context length is {limit} tokens. However, you requested about {total} tokens \
             ({got} of text input, {out} in the output). Please reduce the length of either one."), "code": 400}}),
        "openrouter_raw" => {
            let raw = json!({"error": {"message": format!("{}your messages resulted in {got} tokens.", maximum(limit)),
                             "type": "Bad Request", "code": 400}});
            json!({"error": {"message": "Provider returned error", "code": 400,
                             "metadata": {"raw": raw.to_string(), "provider_name": "x"}}})
        }
        _ => return None,
    };
    Some((400, body))
}

fn local_servers(shape: &str, limit: u64, got: u64, out: u64) -> Option<(u16, Value)> {
    let total = got + out;
    let answer = match shape {
        "vllm" => (
            400,
            json!({"object": "error", "type": "BadRequestError", "param": null, "code": 400, "message": format!(
            "{}you requested {total} tokens ({got} in the messages, {out} in the completion). {REDUCE} None",
            maximum(limit))}),
        ),
        "vllm_atleast" => {
            let least = (limit + 1).saturating_sub(out);
            (
                400,
                json!({"error": {"type": "BadRequestError", "param": "input_tokens", "code": 400, "message": format!(
                "{}you requested {out} output tokens and your prompt contains at least {least} input tokens, for a \
                 total of at least {} tokens. (parameter=input_tokens, value={least})", maximum(limit), limit + 1)}}),
            )
        }
        "llamacpp" => (
            400,
            json!({"error": {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": got,
            "n_ctx": limit, "message": format!(
            "request ({got} tokens) exceeds the available context size ({limit} tokens), try increasing it")}}),
        ),
        "lmstudio" => (
            400,
            json!({"error": format!(
            "Trying to keep the first {got} tokens when context the overflows. However, the model is loaded with \
             context length of only {limit} tokens, which is not enough.")}),
        ),
        "sglang" => (
            400,
            json!({"object": "error", "type": "BadRequestError", "code": 400, "message": format!(
            "Requested token count exceeds the model's maximum context length of {limit} tokens. You requested a \
             total of {total} tokens: {got} tokens from the input messages and {out} tokens for the completion.")}),
        ),
        "tgi" => (
            422,
            json!({"error_type": "validation", "error": format!(
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= {limit}. Given: {got} `inputs` \
             tokens and {out} `max_new_tokens`")}),
        ),
        _ => return None,
    };
    Some(answer)
}

fn others(shape: &str, limit: u64, got: u64) -> Option<(u16, Value)> {
    let answer = match shape {
        "moonshot" => (
            400,
            json!({"error": {"type": "invalid_request_error", "message": format!(
            "Invalid request: Your request exceeded model token limit: {limit} (requested: {got})")}}),
        ),
        "zhipu" => (
            400,
            json!({"error": {"code": "1261", "message": "Prompt exceeds max length"}}),
        ),
        "mistral" => (
            400,
            json!({"object": "error", "type": "invalid_request_error", "code": null, "message": format!(
            "Prompt contains {got} tokens, too large for model with {limit} maximum context length")}),
        ),
        "xai" => (
            400,
            json!({"code": "Client specified an invalid argument", "error": format!(
            "This model's maximum prompt length is {limit} but the request contains {got} tokens.")}),
        ),
        "copilot" => (
            400,
            json!({"error": {"param": "", "code": "", "type": "", "message": format!(
            "prompt token count of {got} exceeds the limit of {limit}")}}),
        ),
        "empty" => (400, json!("")),
        "413" => (
            413,
            json!({"error": {"message": "Request Entity Too Large", "type": "request_too_large"}}),
        ),
        _ => return None,
    };
    Some(answer)
}
