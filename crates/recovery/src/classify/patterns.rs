//! Which words mean what: pattern · kind · provider · real sample.
//!
//! A pattern is lower case; `…` stands for anything between its parts. Within
//! a kind the first that fits is the one that is told; which kinds are asked at
//! all, and in which order, depends on the status and stands in `kind`. The
//! tests send every sample through the whole classifier.

use talaria_types::ErrorKind;
use talaria_types::ErrorKind::{
    Auth, AuthPermanent, Billing, ContentPolicyBlocked, ContextOverflow, FormatError, ImageRejected,
    ImageTooLarge, InvalidEncryptedContent, LlamaCppGrammarPattern, LongContextTier, ModelNotFound,
    MultimodalToolContentUnsupported, OauthLongContextBetaForbidden, OutputCap, Overloaded, PayloadTooLarge,
    ProviderPolicyBlocked, RateLimit, ServerError, SslCertVerification, StreamingUnsupported, Surrogates,
    ThinkingSignature, Timeout, UpstreamRateLimit,
};

use crate::Symptom;
use crate::Symptom::{HungUp, LongOverload, PrefillRefused, QuotaSpent, ReasoningNotEchoed};

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    /// What it means.
    pub(crate) kind: ErrorKind,
    /// What it means beyond the kind.
    pub(crate) symptom: Option<Symptom>,
    /// The status the sample came with; 0 for none.
    pub(crate) status: u16,
    /// Who says so; empty for many.
    pub(crate) provider: &'static str,
    /// What is looked for.
    pub(crate) text: &'static str,
    /// A real message.
    pub(crate) sample: &'static str,
}

impl Pattern {
    /// Whether the lower-cased text holds every part, in order.
    pub(crate) fn fits(&self, lower: &str) -> bool {
        let mut rest = lower;
        self.text.split('…').all(|part| match rest.find(part) {
            Some(at) => {
                rest = rest.get(at + part.len()..).unwrap_or_default();
                true
            }
            None => false,
        })
    }
}

/// The first pattern of a kind that fits.
pub(crate) fn find(kind: ErrorKind, lower: &str) -> Option<&'static Pattern> {
    PATTERNS
        .iter()
        .find(|pattern| pattern.kind == kind && pattern.fits(lower))
}

const fn row(
    kind: ErrorKind,
    status: u16,
    provider: &'static str,
    text: &'static str,
    sample: &'static str,
) -> Pattern {
    Pattern {
        kind,
        symptom: None,
        status,
        provider,
        text,
        sample,
    }
}

impl Pattern {
    const fn with(mut self, symptom: Symptom) -> Self {
        self.symptom = Some(symptom);
        self
    }
}

/// The table.
#[rustfmt::skip] // one row a line reads as the table it is
pub(crate) static PATTERNS: &[Pattern] = &[
    // A policy refused the content: no waiting and no other key helps.
    row(ContentPolicyBlocked, 400, "openai", "flagged for possible cybersecurity risk", "This request was flagged for possible cybersecurity risk."),
    row(ContentPolicyBlocked, 400, "openai", "trusted access for cyber", "Apply for Trusted Access for Cyber to use this model for that."),
    row(ContentPolicyBlocked, 400, "openai", "violates our usage policies", "Your prompt violates our usage policies."),
    row(ContentPolicyBlocked, 400, "openai", "violates openai's usage policies", "The request violates OpenAI's usage policies."),
    row(ContentPolicyBlocked, 400, "openai", "your request was flagged by", "Your request was flagged by our moderation system."),
    row(ContentPolicyBlocked, 400, "openai", "prompt was flagged by our safety", "Invalid prompt: your prompt was flagged by our safety system."),
    row(ContentPolicyBlocked, 400, "openai", "responses cannot be generated due to safety", "Responses cannot be generated due to safety concerns."),
    row(ContentPolicyBlocked, 400, "azure", "content management policy", "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."),
    row(ContentPolicyBlocked, 400, "azure", "responsibleaipolicyviolation", "ResponsibleAIPolicyViolation"),
    row(ContentPolicyBlocked, 200, "", "content_filter", "The provider ended the stream: content_filter"),
    row(ContentPolicyBlocked, 200, "minimax", "new_sensitive", "input new_sensitive (1026)"),
    row(ContentPolicyBlocked, 400, "dashscope", "may contain inappropriate content", "Input data may contain inappropriate content."),
    row(ContentPolicyBlocked, 400, "zhipu", "不安全或敏感内容", "系统检测到输入或生成内容可能包含不安全或敏感内容，请您避免输入易产生敏感内容的提示语。"),
    row(ContentPolicyBlocked, 403, "openrouter", "requires moderation…flagged", "openai/x requires moderation on OpenInference. Your input was flagged for \"violence\"."),
    row(ContentPolicyBlocked, 200, "gemini", "prohibited_content", "The prompt was blocked: PROHIBITED_CONTENT"),
    // Thinking that is sent back.
    row(ThinkingSignature, 400, "anthropic", "signature` in `thinking", "messages.1.content.7: Invalid `signature` in `thinking` block"),
    row(ThinkingSignature, 400, "anthropic", "thinking…cannot be modified", "messages.3.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."),
    row(ThinkingSignature, 400, "anthropic", "thinking…must remain as they were", "The thinking blocks must remain as they were in the original response."),
    row(ThinkingSignature, 400, "anthropic", "thinking.signature", "messages.1.content.0.thinking.signature: Field required"),
    row(ThinkingSignature, 400, "gemini", "thought signature is not valid", "Unable to submit request because Thought signature is not valid."),
    row(InvalidEncryptedContent, 400, "openai", "invalid_encrypted_content", "invalid_encrypted_content"),
    row(InvalidEncryptedContent, 400, "openai", "encrypted content…could not be", "The encrypted content for item cmp_x could not be verified. Reason: Encrypted content could not be decrypted or parsed."),
    row(FormatError, 400, "deepseek", "reasoning_content` in the thinking mode must be passed back", "The `reasoning_content` in the thinking mode must be passed back to the API.").with(ReasoningNotEchoed),
    row(FormatError, 400, "kimi", "missing `reasoning_content` field", "Missing `reasoning_content` field in the assistant message at message index 2. Please pass it back.").with(ReasoningNotEchoed),
    row(FormatError, 400, "kimi", "thinking is enabled but reasoning_content is missing", "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2").with(ReasoningNotEchoed),
    row(FormatError, 400, "mimo", "must include reasoning_content", "messages with tool_calls must include reasoning_content").with(ReasoningNotEchoed),
    row(FormatError, 400, "anthropic", "does not support assistant message prefill", "This model does not support assistant message prefill. The conversation must end with a user message.").with(PrefillRefused),
    row(FormatError, 400, "anthropic", "assistant` message in the final position", "Your API request included an `assistant` message in the final position, which would pre-fill the `assistant` response. When using tools, pre-filling the `assistant` response is not supported.").with(PrefillRefused),
    row(FormatError, 400, "vllm", "pre-filling the assistant response", "pre-filling the assistant response is not supported when thinking is on").with(PrefillRefused),
    row(FormatError, 400, "gemini", "missing a thought_signature", "Function call is missing a thought_signature in functionCall parts. This is required. function call `default_api:x` , position 2."),
    row(FormatError, 400, "vertex", "missing a `thought_signature`", "Unable to submit request because function call `x` in the 2. content block is missing a `thought_signature`."),
    // Tiers, betas, grammars, streams.
    row(LongContextTier, 429, "anthropic", "extra usage…long context", "Extra usage is required for long context requests."),
    row(OauthLongContextBetaForbidden, 400, "anthropic", "long context beta…not yet available", "The long context beta is not yet available for this subscription."),
    row(LlamaCppGrammarPattern, 400, "llama.cpp", "error parsing grammar", "error parsing grammar: unexpected token at ^[0-9]{4}"),
    row(LlamaCppGrammarPattern, 400, "llama.cpp", "json-schema-to-grammar", "json-schema-to-grammar: pattern must start with '^' and end with '$'"),
    row(LlamaCppGrammarPattern, 400, "llama.cpp", "unable to generate parser…template", "Unable to generate parser for this template. Automatic parser generation failed"),
    row(LlamaCppGrammarPattern, 400, "llama.cpp", "failed to parse grammar", "Failed to parse grammar"),
    row(StreamingUnsupported, 400, "", "stream is not supported", "stream is not supported by this model"),
    row(StreamingUnsupported, 400, "", "stream not supported", "stream not supported"),
    row(StreamingUnsupported, 400, "", "streaming is not supported", "Streaming is not supported for this deployment"),
    row(StreamingUnsupported, 400, "", "streaming not supported", "streaming not supported"),
    row(StreamingUnsupported, 400, "", "does not support streaming", "This model does not support streaming."),
    row(StreamingUnsupported, 400, "openai", "'stream' is not supported", "Unsupported parameter: 'stream' is not supported with this model."),
    row(StreamingUnsupported, 400, "openai", "'stream' does not support true", "Unsupported value: 'stream' does not support true with this model. Only the default (false) value is supported."),
    row(StreamingUnsupported, 400, "openai", "must be verified to stream", "Your organization must be verified to stream this model."),
    // Images and content of tool results.
    row(MultimodalToolContentUnsupported, 400, "mimo", "text is not set", "text is not set"),
    row(MultimodalToolContentUnsupported, 400, "", "tool message content must be a string", "tool message content must be a string"),
    row(MultimodalToolContentUnsupported, 400, "", "tool_call.content must be string", "tool_call.content must be string"),
    row(MultimodalToolContentUnsupported, 400, "", "expected string, got list", "messages.3.content: expected string, got list"),
    row(MultimodalToolContentUnsupported, 400, "", "expected string, got array", "messages[3].content: expected string, got array"),
    row(MultimodalToolContentUnsupported, 400, "lm studio", "invalid 'messages' in payload", "Invalid 'messages' in payload"),
    row(ImageRejected, 400, "", "only 'text' content type is supported", "Only 'text' content type is supported."),
    row(ImageRejected, 400, "", "only text content type is supported", "only text content type is supported"),
    row(ImageRejected, 400, "", "image_url is not supported", "image_url is not supported"),
    row(ImageRejected, 400, "", "image content is not supported", "image content is not supported"),
    row(ImageRejected, 400, "", "multimodal is not supported", "multimodal is not supported"),
    row(ImageRejected, 400, "", "multimodal content is not supported", "multimodal content is not supported by this model"),
    row(ImageRejected, 400, "", "multimodal input is not supported", "multimodal input is not supported"),
    row(ImageRejected, 400, "", "vision is not supported", "vision is not supported"),
    row(ImageRejected, 400, "", "vision input is not supported", "Vision input is not supported by this model"),
    row(ImageRejected, 400, "", "does not support images", "this model does not support images"),
    row(ImageRejected, 400, "", "does not support image input", "This model does not support image input"),
    row(ImageRejected, 400, "", "does not support multimodal", "model does not support multimodal content"),
    row(ImageRejected, 400, "", "does not support vision", "The model does not support vision"),
    row(ImageRejected, 400, "", "model does not support image", "model does not support image content"),
    row(ImageRejected, 500, "llama.cpp", "image input is not supported", "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    row(ImageRejected, 404, "openrouter", "no endpoints found that support image input", "No endpoints found that support image input"),
    row(ImageRejected, 400, "deepseek", "image_url'. expected", "unknown type 'image_url'. expected 'text'"),
    row(ImageRejected, 400, "deepseek", "unknown variant image_url, expected text", "Failed to deserialize the JSON body into the target type: messages[137]: unknown variant image_url, expected text at line 1 column 460917"),
    row(ImageRejected, 400, "deepseek", "unknown variant `image_url`, expected `text`", "messages[1]: unknown variant `image_url`, expected `text` at line 1 column 4609"),
    row(ImageRejected, 400, "xai", "single `text` element per message", "The model expects a single `text` element per message."),
    row(ImageTooLarge, 400, "anthropic", "image exceeds", "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"),
    row(ImageTooLarge, 400, "", "image too large", "Image too large"),
    row(ImageTooLarge, 400, "", "image_too_large", "image_too_large"),
    row(ImageTooLarge, 400, "", "image size exceeds", "Image size exceeds the limit of 10485760 bytes"),
    row(ImageTooLarge, 400, "anthropic", "image dimensions exceed", "At least one of the image dimensions exceed max allowed size: 8000 pixels"),
    row(ImageTooLarge, 400, "anthropic", "dimensions exceed max allowed size", "dimensions exceed max allowed size for many-image requests: 2000 pixels"),
    row(ImageTooLarge, 400, "anthropic", "max allowed size: 8000", "max allowed size: 8000 pixels"),
    row(PayloadTooLarge, 413, "nginx", "request entity too large", "Request Entity Too Large"),
    row(PayloadTooLarge, 413, "", "payload too large", "Payload Too Large"),
    row(PayloadTooLarge, 0, "", "error code: 413", "Error code: 413"),
    row(PayloadTooLarge, 413, "anthropic", "request_too_large", "request_too_large"),
    row(PayloadTooLarge, 413, "anthropic", "request exceeds the maximum size", "Request exceeds the maximum size"),
    row(PayloadTooLarge, 400, "moonshot", "total message size…exceeds limit", "total message size 10176584 exceeds limit 2097152"),
    row(PayloadTooLarge, 400, "nvidia", "make sure your payload is below", "Please make sure your payload is below 26214400 bytes"),
    row(PayloadTooLarge, 400, "dashscope", "getmaxstringlength", "String value length (28000001) exceeds the maximum allowed (28000000, from `StreamReadConstraints.getMaxStringLength()`)"),
    row(PayloadTooLarge, 429, "openai", "request too large for…tokens per min", "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced in order to run successfully."),
    // More output than there is room for. The numbers are read by `limits`.
    row(OutputCap, 400, "openai", "max_tokens is too large", "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000."),
    row(OutputCap, 400, "", "max_tokens cannot exceed", "max_tokens cannot exceed the configured model output limit of 16384"),
    row(OutputCap, 400, "dashscope", "range of max_tokens should be", "InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 65536]"),
    row(OutputCap, 400, "sensenova", "maxtokens invalid, should be in", "field MaxTokens invalid, should be in [1, 65536]"),
    row(OutputCap, 400, "groq", "max_completion_tokens` must be less than or equal", "`max_completion_tokens` must be less than or equal to `16384`, the maximum value for `max_completion_tokens` is less than the `context_window` for this model"),
    row(OutputCap, 400, "bedrock", "maximum tokens you requested exceeds the model limit", "The maximum tokens you requested exceeds the model limit of 32768. Try again with a maximum tokens value that is lower than 32768."),
    row(OutputCap, 400, "anthropic", "maximum allowed number of output tokens", "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-x"),
    row(OutputCap, 400, "vertex", "maxoutputtokens value of…supported range", "Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 8193 (exclusive). Update the value and try again."),
    row(OutputCap, 400, "", "max_tokens…available_tokens", "max_tokens 65536 is too high, available_tokens: 20000"),
    row(OutputCap, 400, "", "max_tokens…available tokens", "max_tokens does not fit: available tokens: 20000"),
    row(OutputCap, 402, "openrouter", "requires more credits, or fewer max_tokens", "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 30104. To increase, visit your settings."),
    // Money.
    row(Billing, 402, "openrouter", "insufficient credits", "Insufficient credits. Add more using your account page."),
    row(Billing, 429, "openai", "insufficient_quota", "insufficient_quota"),
    row(Billing, 402, "deepseek", "insufficient balance", "Insufficient Balance"),
    row(Billing, 400, "anthropic", "credit balance", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."),
    row(Billing, 402, "", "credits have been exhausted", "Your credits have been exhausted"),
    row(Billing, 402, "", "credits exhausted", "Credits exhausted"),
    row(Billing, 402, "", "no usable credits", "no usable credits"),
    row(Billing, 402, "", "top up your credits", "Please top up your credits."),
    row(Billing, 402, "", "payment required", "Payment Required"),
    row(Billing, 429, "openai", "billing hard limit", "Billing hard limit has been reached"),
    row(Billing, 429, "openai", "exceeded your current quota", "You exceeded your current quota, please check your plan and billing details."),
    row(Billing, 403, "moonshot", "exceeded current quota", "Your account x is not active, organization x exceeded current quota, please check your plan and billing details"),
    row(Billing, 429, "moonshot", "suspended due to insufficient", "Your account x is suspended due to insufficient balance, please recharge"),
    row(Billing, 403, "", "account is deactivated", "Your account is deactivated"),
    row(Billing, 403, "", "plan does not include", "Your plan does not include this model"),
    row(Billing, 400, "anthropic", "out of extra usage", "You're out of extra usage."),
    row(Billing, 402, "", "out of funds", "Account is out of funds"),
    row(Billing, 402, "", "run out of funds", "You have run out of funds"),
    row(Billing, 402, "", "balance_depleted", "balance_depleted"),
    row(Billing, 403, "", "model_not_supported_on_free_tier", "model_not_supported_on_free_tier"),
    row(Billing, 404, "", "not available on the free tier", "This model is not available on the free tier"),
    row(Billing, 403, "openrouter", "key limit exceeded", "Key limit exceeded. Manage it in your settings."),
    row(Billing, 403, "xai", "spending limit", "Your team has reached its spending limit"),
    row(Billing, 403, "xai", "blocked:spending-limit", "personal-team-blocked:spending-limit"),
    row(Billing, 402, "", "spend limit exceeded", "API key USD spend limit exceeded. Your account may still have USD balance, but this API key has reached its limit."),
    row(Billing, 429, "litellm", "terminal_quota_exhausted", "terminal_quota_exhausted"),
    row(Billing, 402, "openrouter", "prompt tokens limit exceeded", "Prompt tokens limit exceeded: 230799 > 91442"),
    row(Billing, 400, "aliyun", "account is in good standing", "Access denied, please make sure your account is in good standing."),
    row(Billing, 429, "zhipu", "余额不足", "余额不足或无可用资源包,请充值。"),
    row(Billing, 403, "", "额度不足", "额度不足"),
    row(Billing, 403, "", "额度已用尽", "该令牌额度已用尽"),
    row(Billing, 429, "", "欠费", "账户已欠费"),
    row(Billing, 429, "", "请充值", "请充值"),
    row(Billing, 429, "zhipu", "no resource package", "Insufficient balance or no resource package. Please recharge."),
    // Quotas that come back, but not soon.
    row(RateLimit, 429, "gemini", "quota exceeded…per day", "Quota exceeded for quota metric 'X Requests' and limit 'X Requests per day per user per tier' of service 'x'").with(QuotaSpent),
    row(RateLimit, 429, "gemini", "requestsperday", "XRequestsPerDay").with(QuotaSpent),
    row(RateLimit, 429, "openrouter", "free-models-per-day", "Rate limit exceeded: free-models-per-day. Add credits to unlock 1000 free model requests per day").with(QuotaSpent),
    row(RateLimit, 429, "", "daily quota", "You have used up your daily quota.").with(QuotaSpent),
    row(RateLimit, 429, "", "daily limit", "Daily limit reached.").with(QuotaSpent),
    row(RateLimit, 429, "kimi", "monthly usage limit", "You've reached kimi monthly usage limit for this billing cycle. Your quota will be refreshed in the next cycle.").with(QuotaSpent),
    row(RateLimit, 429, "ollama cloud", "session usage limit", "you (name) have reached your session usage limit, upgrade for higher limits").with(QuotaSpent),
    row(RateLimit, 429, "codex", "usage_limit_reached", "usage_limit_reached").with(QuotaSpent),
    row(RateLimit, 429, "codex", "usage limit", "You've hit your usage limit. Try again in ~179 min.").with(QuotaSpent),
    row(RateLimit, 429, "zhipu", "使用上限", "已达到 5 小时的使用上限").with(QuotaSpent),
    // Too many requests or tokens; waiting helps.
    row(RateLimit, 429, "", "rate limit", "rate limit exceeded"),
    row(RateLimit, 429, "anthropic", "rate_limit", "rate_limit_error"),
    row(RateLimit, 429, "", "rate-limited", "This key is rate-limited"),
    row(RateLimit, 429, "", "too many requests", "Too Many Requests"),
    row(RateLimit, 400, "bedrock", "too many tokens, please wait", "Too many tokens, please wait before trying again."),
    row(RateLimit, 429, "bedrock", "throttlingexception", "ThrottlingException"),
    row(RateLimit, 429, "bedrock", "servicequotaexceededexception", "ServiceQuotaExceededException"),
    row(RateLimit, 429, "", "throttled", "Request was throttled"),
    row(RateLimit, 429, "", "requests per minute", "Limit of 20 requests per minute"),
    row(RateLimit, 429, "openai", "tokens per min", "Rate limit reached for x on tokens per min (TPM): Limit 30000, Used 20000, Requested 15000. Please try again in 6s."),
    row(RateLimit, 429, "", "requests per day", "Limit of 200 requests per day"),
    row(RateLimit, 429, "gemini", "resource_exhausted", "RESOURCE_EXHAUSTED"),
    row(RateLimit, 429, "gemini", "resource exhausted", "Resource exhausted. Please try again later."),
    row(RateLimit, 429, "dashscope", "rate increased too quickly", "Request rate increased too quickly. To ensure system stability, please adjust your client logic."),
    row(RateLimit, 429, "zhipu", "too many concurrent requests", "Too many concurrent requests"),
    row(RateLimit, 429, "moonshot", "reached max request", "Your account x request reached max request: 3, please try again after 1 seconds"),
    row(RateLimit, 429, "", "please retry after", "Please retry after 20 seconds."),
    row(RateLimit, 429, "", "quota exceeded", "quota exceeded"),
    row(RateLimit, 429, "cerebras", "queue_exceeded", "queue_exceeded"),
    row(RateLimit, 429, "", "limited (reset after", "All accounts are limited (reset after 2m 13s)"),
    row(RateLimit, 429, "zhipu", "请求过于频繁", "请求过于频繁，请稍后再试"),
    row(RateLimit, 429, "zhipu", "速率限制", "您的账户已达到速率限制，请您控制请求频率"),
    row(RateLimit, 429, "zhipu", "并发", "您当前使用该 API 的并发数过高，请降低并发"),
    row(UpstreamRateLimit, 429, "openrouter", "rate-limited upstream", "x/y:free is temporarily rate-limited upstream. Please retry shortly, or add your own key"),
    // Overloads.
    row(Overloaded, 529, "z.ai", "访问量过大", "该模型当前访问量过大，请您稍后再试").with(LongOverload),
    row(Overloaded, 529, "anthropic", "overloaded", "Overloaded"),
    row(Overloaded, 429, "moonshot", "engine_overloaded", "engine_overloaded_error"),
    row(Overloaded, 503, "gemini", "model is overloaded", "The model is overloaded. Please try again later."),
    row(Overloaded, 200, "openai", "server_is_overloaded", "server_is_overloaded"),
    row(Overloaded, 503, "gemini", "experiencing high demand", "This model is currently experiencing high demand."),
    row(Overloaded, 503, "", "at capacity", "The model is at capacity"),
    row(Overloaded, 503, "", "负载过高", "当前服务负载过高"),
    // Prompts that do not fit. The numbers are read by `limits`.
    row(ContextOverflow, 400, "openai", "context length", "This model's maximum context length is 40000 tokens. However, your messages resulted in 61000 tokens."),
    row(ContextOverflow, 400, "openai", "context_length_exceeded", "context_length_exceeded"),
    row(ContextOverflow, 400, "openai", "context window", "Your input exceeds the context window of this model. Please adjust your input and try again."),
    row(ContextOverflow, 400, "groq", "reduce the length", "Please reduce the length of the messages or completion."),
    row(ContextOverflow, 400, "anthropic", "prompt is too long", "prompt is too long: 209303 tokens > 200000 maximum"),
    row(ContextOverflow, 400, "anthropic", "exceed context limit", "input length and `max_tokens` exceed context limit: 195261 + 12288 > 204650, decrease input length or `max_tokens` and try again"),
    row(ContextOverflow, 400, "bedrock", "input is too long", "Input is too long for requested model."),
    row(ContextOverflow, 400, "bedrock", "prompt tokens…exceed model maximum", "prompt tokens (400007) exceed model maximum (278528) for openai.gpt-x"),
    row(ContextOverflow, 400, "gemini", "exceeds the maximum number of tokens", "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."),
    row(ContextOverflow, 400, "vertex", "input token count…supports up to", "Unable to submit request because the input token count is 32825 but model only supports up to 32768."),
    row(ContextOverflow, 400, "gemini", "exceeds the maximum number of input tokens", "The prompt exceeds the maximum number of input tokens"),
    row(ContextOverflow, 400, "azure", "input tokens exceed", "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens."),
    row(ContextOverflow, 400, "openrouter", "exceeds the maximum allowed input length", "Input length 131393 exceeds the maximum allowed input length of 131040 tokens."),
    row(ContextOverflow, 400, "llama.cpp", "context size", "request (33056 tokens) exceeds the available context size (32768 tokens), try increasing it"),
    row(ContextOverflow, 400, "llama.cpp", "slot context", "the request exceeds the slot context"),
    row(ContextOverflow, 400, "llama.cpp", "n_ctx_slot", "n_prompt_tokens >= n_ctx_slot"),
    row(ContextOverflow, 400, "ollama", "prompt too long", "prompt too long; exceeded max context length by 100918 tokens"),
    row(ContextOverflow, 400, "lm studio", "when context the overflows", "Trying to keep the first 10136 tokens when context the overflows."),
    row(ContextOverflow, 422, "tgi", "`inputs` tokens + `max_new_tokens` must be", "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3474 `inputs` tokens and 60 `max_new_tokens`"),
    row(ContextOverflow, 400, "vllm", "max_tokens must be at least 1, got -", "max_tokens must be at least 1, got -186."),
    row(ContextOverflow, 400, "vllm", "max_model_len", "the prompt is longer than max_model_len"),
    row(ContextOverflow, 400, "", "maximum model length", "The decoder prompt is longer than the maximum model length of 4096."),
    row(ContextOverflow, 400, "", "maximum context", "maximum context exceeded"),
    row(ContextOverflow, 400, "dashscope", "range of input length should be", "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]"),
    row(ContextOverflow, 400, "moonshot", "token limit", "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)"),
    row(ContextOverflow, 400, "moonshot", "model max length exceeded", "model max length exceeded, max length:8192"),
    row(ContextOverflow, 400, "zhipu", "prompt exceeds max length", "Prompt exceeds max length"),
    row(ContextOverflow, 400, "zhipu", "prompt 超长", "Prompt 超长"),
    row(ContextOverflow, 400, "zhipu", "tokens in request more than max tokens allowed", "tokens in request more than max tokens allowed"),
    row(ContextOverflow, 400, "", "超过最大长度", "输入超过最大长度"),
    row(ContextOverflow, 400, "", "上下文长度", "超出模型的上下文长度"),
    row(ContextOverflow, 400, "xai", "maximum prompt length", "This model's maximum prompt length is 131072 but the request contains 136973 tokens."),
    row(ContextOverflow, 400, "copilot", "prompt token count of…exceeds the limit", "prompt token count of 93854 exceeds the limit of 90000"),
    row(ContextOverflow, 400, "", "too many tokens", "too many tokens in the prompt"),
    row(ContextOverflow, 400, "", "max input token", "max input tokens exceeded"),
    row(ContextOverflow, 400, "", "truncating input", "the server is truncating input"),
    row(ContextOverflow, 400, "perplexity", "total length of all messages is too long", "The total length of all messages is too long."),
    row(ContextOverflow, 400, "cohere", "total tokens exceeds", "total tokens exceeds the model's max of 4096"),
    row(ContextOverflow, 400, "exllama", "pages (only…available)", "context/cache: Job requires 1027 pages (only 1024 available) and cannot be enqueued."),
    // Models and accounts.
    row(ModelNotFound, 400, "openrouter", "is not a valid model", "x/y is not a valid model ID"),
    row(ModelNotFound, 400, "", "invalid model", "Invalid model: x"),
    row(ModelNotFound, 404, "", "model not found", "Model not found"),
    row(ModelNotFound, 404, "openai", "model_not_found", "model_not_found"),
    row(ModelNotFound, 404, "openai", "model…does not exist", "The model `x` does not exist or you do not have access to it."),
    row(ModelNotFound, 404, "gemini", "is not found for api version", "models/x is not found for API version v1beta, or is not supported for generateContent."),
    row(ModelNotFound, 404, "anthropic", "model: claude", "model: claude-x"),
    row(ModelNotFound, 404, "ollama", "not found, try pulling", "model \"x\" not found, try pulling it first"),
    row(ModelNotFound, 403, "openai", "does not have access to model", "Project `proj_x` does not have access to model `x`"),
    row(ModelNotFound, 404, "", "no such model", "no such model: x"),
    row(ModelNotFound, 400, "", "unknown model", "Unknown Model, please check the model code."),
    row(ModelNotFound, 400, "", "unsupported model", "Unsupported model: x"),
    row(ModelNotFound, 404, "openrouter", "no endpoints found that support tool use", "No endpoints found that support tool use."),
    row(ModelNotFound, 400, "zhipu", "模型不存在", "模型不存在，请检查模型代码。"),
    row(ProviderPolicyBlocked, 404, "openrouter", "no endpoints available matching your guardrail", "No endpoints available matching your guardrail restrictions and data policy."),
    row(ProviderPolicyBlocked, 404, "openrouter", "no endpoints available matching your data policy", "No endpoints available matching your data policy"),
    row(ProviderPolicyBlocked, 404, "openrouter", "no endpoints found matching your data policy", "No endpoints found matching your data policy (Free model publication)."),
    row(ProviderPolicyBlocked, 403, "openai", "unsupported_country_region_territory", "unsupported_country_region_territory"),
    // Keys.
    row(AuthPermanent, 401, "", "token revoked", "token revoked"),
    row(AuthPermanent, 401, "codex", "token has been revoked", "Your refresh token has been revoked"),
    row(AuthPermanent, 400, "", "invalid_grant", "invalid_grant"),
    row(AuthPermanent, 403, "xai", "active grok subscription", "You do not have an active Grok subscription."),
    row(AuthPermanent, 403, "anthropic", "organization has been disabled", "This organization has been disabled."),
    row(AuthPermanent, 401, "openai", "account has been deactivated", "Your account has been deactivated."),
    row(Auth, 401, "", "invalid api key", "Invalid API key"),
    row(Auth, 401, "", "invalid_api_key", "invalid_api_key"),
    row(Auth, 401, "openai", "incorrect api key", "Incorrect API key provided: sk-x."),
    row(Auth, 400, "gemini", "api key not valid", "API key not valid. Please pass a valid API key."),
    row(Auth, 401, "anthropic", "authentication_error", "authentication_error"),
    row(Auth, 401, "", "authentication failed", "Authentication failed"),
    row(Auth, 401, "", "401 unauthorized", "401 Unauthorized"),
    row(Auth, 401, "", "invalid access token", "Invalid access token"),
    row(Auth, 401, "", "invalid bearer token", "Invalid bearer token"),
    row(Auth, 401, "", "token expired", "token expired"),
    row(Auth, 401, "codex", "token has expired", "Your authentication token has expired. Please try signing in again."),
    row(Auth, 403, "", "access denied", "Access denied"),
    // Servers at fault that say so with another status.
    row(ServerError, 400, "", "returned an empty response", "Provider returned an empty response. This may happen when max_tokens is too low."),
    row(ServerError, 500, "docker", "model runner has unexpectedly stopped", "model runner has unexpectedly stopped, this may be due to resource limitations"),
    // Requests a server calls wrong with a status that says it is at fault itself.
    row(FormatError, 500, "llama.cpp", "roles must alternate", "Jinja Exception: After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results."),
    row(FormatError, 500, "llama.cpp", "jinja exception", "Jinja Exception: No user query found in messages."),
    row(FormatError, 500, "", "validation error", "1 validation error for Request: messages: field required"),
    row(FormatError, 400, "anthropic", "ids were found without `tool_result` blocks", "messages.22: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_x. Each `tool_use` block must have a corresponding `tool_result` block in the next message."),
    row(FormatError, 400, "anthropic", "unexpected `tool_use_id` found", "messages.4.content.1: unexpected `tool_use_id` found in `tool_result` blocks: x. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."),
    row(FormatError, 400, "openai", "no tool call found for function call output", "No tool call found for function call output with call_id call_x."),
    row(FormatError, 400, "openai", "no tool output found for function call", "No tool output found for function call call_x."),
    row(FormatError, 400, "gemini", "number of function response parts", "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."),
    row(FormatError, 400, "minimax", "invalid function arguments json", "invalid params, invalid function arguments json string, tool_call_id: call_x (2013)"),
    row(FormatError, 400, "litellm", "failed to parse tool call arguments", "Failed to parse tool call arguments for tool 'patch' (Anthropic tool invoke). Error: Unterminated string"),
    row(FormatError, 400, "mistral", "unexpected role", "Unexpected role 'user' after role 'tool'"),
    row(FormatError, 400, "deepseek", "content or tool_calls must be set", "Invalid assistant message: content or tool_calls must be set"),
    row(FormatError, 400, "mistral", "must contain either 'content' or 'tool_calls'", "Assistant message must contain either 'content' or 'tool_calls'!"),
    // The line.
    row(Surrogates, 400, "", "surrogates not allowed", "'utf-8' codec can't encode character '\\ud83d' in position 12: surrogates not allowed"),
    row(Surrogates, 400, "", "lone surrogate", "invalid unicode: lone surrogate in string"),
    row(Surrogates, 400, "", "unexpected end of hex escape", "unexpected end of hex escape at line 1 column 4812"),
    row(Surrogates, 400, "anthropic", "no low surrogate in string", "The request body is not valid JSON: no low surrogate in string: line 1 column 4812 (char 4811)"),
    row(SslCertVerification, 0, "", "certificate verify failed", "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate in certificate chain"),
    row(SslCertVerification, 0, "", "certificate_verify_failed", "CERTIFICATE_VERIFY_FAILED"),
    row(SslCertVerification, 0, "", "local issuer certificate", "unable to get local issuer certificate"),
    row(SslCertVerification, 0, "", "self-signed certificate", "self-signed certificate in certificate chain"),
    row(SslCertVerification, 0, "", "self signed certificate", "self signed certificate"),
    row(SslCertVerification, 0, "", "certificate has expired", "certificate has expired"),
    row(SslCertVerification, 0, "rustls", "invalid peer certificate", "invalid peer certificate: UnknownIssuer"),
    row(SslCertVerification, 0, "", "hostname mismatch", "Hostname mismatch, certificate is not valid for 'x'"),
    row(Timeout, 0, "", "bad record mac", "[SSL: BAD_RECORD_MAC] bad record mac"),
    row(Timeout, 0, "", "bad_record_mac", "BAD_RECORD_MAC"),
    row(Timeout, 0, "", "tls alert", "received fatal TLS alert: InternalError"),
    row(Timeout, 0, "", "ssl alert", "ssl alert number 80"),
    row(Timeout, 0, "", "ssl handshake failure", "SSL handshake failure"),
    row(Timeout, 0, "", "tlsv1 alert", "tlsv1 alert internal error"),
    row(Timeout, 0, "", "[ssl:", "[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred in violation of protocol"),
    row(Timeout, 0, "", "timed out", "operation timed out"),
    row(Timeout, 0, "", "deadline exceeded", "context deadline exceeded"),
    row(Timeout, 0, "", "server disconnected", "Server disconnected without sending a response.").with(HungUp),
    row(Timeout, 0, "", "peer closed connection", "peer closed connection without sending complete message body").with(HungUp),
    row(Timeout, 0, "", "connection reset by peer", "Connection reset by peer (os error 104)").with(HungUp),
    row(Timeout, 0, "", "connection was closed", "connection was closed before the message was complete").with(HungUp),
    row(Timeout, 0, "", "network connection lost", "network connection lost").with(HungUp),
    row(Timeout, 0, "", "unexpected eof", "unexpected EOF during chunk size line").with(HungUp),
    row(Timeout, 0, "", "incomplete chunked read", "incomplete chunked read").with(HungUp),
    row(Timeout, 0, "", "upstream connect error", "upstream connect error or disconnect/reset before headers"),
];

/// Codes and types that mean one thing wherever they come from.
pub(crate) static CODES: &[(&str, ErrorKind, Option<Symptom>)] = &[
    ("content_filter", ContentPolicyBlocked, None),
    ("content_policy_violation", ContentPolicyBlocked, None),
    ("data_inspection_failed", ContentPolicyBlocked, None),
    ("datainspectionfailed", ContentPolicyBlocked, None),
    ("responsibleaipolicyviolation", ContentPolicyBlocked, None),
    ("1301", ContentPolicyBlocked, None),
    ("1026", ContentPolicyBlocked, None),
    ("1027", ContentPolicyBlocked, None),
    ("invalid_encrypted_content", InvalidEncryptedContent, None),
    ("context_length_exceeded", ContextOverflow, None),
    ("max_tokens_exceeded", ContextOverflow, None),
    ("exceed_context_size_error", ContextOverflow, None),
    ("1261", ContextOverflow, None),
    ("request_too_large", PayloadTooLarge, None),
    ("image_too_large", ImageTooLarge, None),
    ("insufficient_quota", Billing, None),
    ("billing_not_active", Billing, None),
    ("billing_error", Billing, None),
    ("payment_required", Billing, None),
    ("exceeded_current_quota_error", Billing, None),
    ("terminal_quota_exhausted", Billing, None),
    ("arrearage", Billing, None),
    ("1113", Billing, None),
    ("1008", Billing, None),
    ("usage_limit_reached", RateLimit, Some(QuotaSpent)),
    ("model_not_found", ModelNotFound, None),
    ("model_not_available", ModelNotFound, None),
    ("invalid_model", ModelNotFound, None),
    (
        "unsupported_country_region_territory",
        ProviderPolicyBlocked,
        None,
    ),
    ("overloaded_error", Overloaded, None),
    ("engine_overloaded_error", Overloaded, None),
    ("server_is_overloaded", Overloaded, None),
    ("slow_down", Overloaded, None),
    ("unavailable", Overloaded, None),
    ("1305", Overloaded, Some(LongOverload)),
    ("rate_limit_exceeded", RateLimit, None),
    ("rate_limit_error", RateLimit, None),
    ("rate_limit_reached_error", RateLimit, None),
    ("resource_exhausted", RateLimit, None),
    ("throttled", RateLimit, None),
    ("throttlingexception", RateLimit, None),
    ("queue_exceeded", RateLimit, None),
    ("1302", RateLimit, None),
    ("1002", RateLimit, None),
    ("invalid_api_key", Auth, None),
    ("authentication_error", Auth, None),
    ("unauthenticated", Auth, None),
    ("unauthorized", Auth, None),
    ("permission_error", Auth, None),
    ("permission_denied", Auth, None),
    ("api_error", ServerError, None),
    ("internal_server_error", ServerError, None),
    ("server_error", ServerError, None),
    ("internal", ServerError, None),
    ("deadline_exceeded", Timeout, None),
    ("timeout_error", Timeout, None),
];

/// What one of these codes means.
pub(crate) fn code(codes: &[String]) -> Option<(ErrorKind, Option<Symptom>)> {
    let known = |word: &str| {
        CODES
            .iter()
            .find(|(code, ..)| code.eq_ignore_ascii_case(word))
            .map(|(_, kind, symptom)| (*kind, *symptom))
    };
    // The innermost code is the most exact one.
    codes.iter().rev().find_map(|word| known(word))
}
