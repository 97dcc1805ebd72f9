//! How servers of Chat Completions differ, as a table.
//!
//! The protocol has no owner any more: dozens of servers speak it, each with its
//! own idea of a few members. What differs is data here; the encoder has no
//! branch by vendor. A new server is a new row.

use talaria_types::ModelIdentity;

use crate::address;

/// What is sent back of an assistant's thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echo {
    /// Nothing: strict servers refuse the members.
    Nothing,
    /// `reasoning_content` with every assistant message, a space where none is
    /// stored: these refuse a history without it, and an empty text as well.
    Padded,
    /// `reasoning_details`, as they came.
    Details,
}

/// Which models get cache marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marks {
    /// None.
    Never,
    /// Those whose id contains one of these words.
    For(&'static [&'static str]),
}

/// One kind of server.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// Its name, for people.
    pub(crate) name: &'static str,
    /// Provider ids that speak it.
    providers: &'static [&'static str],
    /// Ends of host names that speak it.
    hosts: &'static [&'static str],
    /// Words in a model's id that tell it on any other host.
    models: &'static [&'static str],
    /// What goes back of the thinking.
    pub(crate) echo: Echo,
    /// The parameter that bounds the answer.
    pub(crate) output_parameter: &'static str,
    /// It understands `stream_options`, without which it tells no usage.
    pub(crate) stream_options: bool,
    /// It goes on from an assistant message in the last place.
    pub(crate) takes_prefill: bool,
    /// A tool's result may hold images.
    pub(crate) tool_images: bool,
    /// Where cache marks are of use.
    pub(crate) marks: Marks,
    /// It understands `reasoning_effort` for every model.
    pub(crate) takes_effort: bool,
    /// The key goes bare into this header instead of `Authorization`.
    pub(crate) key_header: Option<&'static str>,
}

/// What every row starts from: the part of the protocol that all servers share.
const GENERIC: Dialect = Dialect {
    name: "generic",
    providers: &[],
    hosts: &[],
    models: &[],
    echo: Echo::Nothing,
    output_parameter: "max_tokens",
    stream_options: true,
    takes_prefill: false,
    tool_images: false,
    marks: Marks::Never,
    takes_effort: false,
    key_header: None,
};

/// The servers, in the order they are tried; a host wins over a model's name.
const DIALECTS: &[Dialect] = &[
    Dialect {
        name: "OpenAI",
        providers: &["openai", "openai-api"],
        hosts: &["api.openai.com"],
        output_parameter: "max_completion_tokens",
        ..GENERIC
    },
    Dialect {
        name: "Azure",
        providers: &["azure-foundry"],
        hosts: &[
            "openai.azure.com",
            "services.ai.azure.com",
            "cognitiveservices.azure.com",
        ],
        output_parameter: "max_completion_tokens",
        key_header: Some("api-key"),
        ..GENERIC
    },
    Dialect {
        name: "OpenRouter",
        providers: &["openrouter"],
        hosts: &["openrouter.ai"],
        takes_effort: true,
        echo: Echo::Details,
        tool_images: true,
        marks: Marks::For(&["claude", "anthropic/", "kimi"]),
        ..GENERIC
    },
    Dialect {
        name: "Nous",
        providers: &["nous"],
        hosts: &["inference-api.nousresearch.com"],
        echo: Echo::Details,
        marks: Marks::For(&["claude", "qwen"]),
        ..GENERIC
    },
    Dialect {
        name: "OpenCode",
        providers: &["opencode-zen", "opencode-go"],
        hosts: &["opencode.ai"],
        marks: Marks::For(&["qwen"]),
        ..GENERIC
    },
    Dialect {
        name: "DeepSeek",
        providers: &["deepseek"],
        hosts: &["api.deepseek.com"],
        models: &["deepseek"],
        echo: Echo::Padded,
        ..GENERIC
    },
    Dialect {
        name: "Kimi",
        providers: &["kimi-coding", "kimi-coding-cn"],
        hosts: &["api.kimi.com", "moonshot.ai", "moonshot.cn"],
        models: &["kimi", "moonshot"],
        echo: Echo::Padded,
        ..GENERIC
    },
    Dialect {
        name: "MiMo",
        providers: &["xiaomi"],
        hosts: &["xiaomimimo.com"],
        models: &["mimo"],
        echo: Echo::Padded,
        ..GENERIC
    },
    Dialect {
        name: "Qwen",
        providers: &["alibaba", "alibaba-coding-plan", "qwen-oauth"],
        hosts: &["aliyuncs.com", "portal.qwen.ai"],
        tool_images: true,
        marks: Marks::For(&["qwen"]),
        ..GENERIC
    },
    Dialect {
        name: "GLM",
        providers: &["zai"],
        hosts: &["api.z.ai", "bigmodel.cn"],
        ..GENERIC
    },
    Dialect {
        name: "MiniMax",
        providers: &["minimax", "minimax-cn"],
        hosts: &["api.minimax.io", "api.minimaxi.com"],
        echo: Echo::Details,
        ..GENERIC
    },
    // Usage comes by itself, and unknown members are refused.
    Dialect {
        name: "Mistral",
        providers: &["mistral"],
        hosts: &["api.mistral.ai"],
        stream_options: false,
        ..GENERIC
    },
    Dialect {
        name: "Groq",
        providers: &["groq"],
        hosts: &["api.groq.com"],
        output_parameter: "max_completion_tokens",
        ..GENERIC
    },
    Dialect {
        name: "xAI",
        providers: &["xai", "xai-oauth"],
        hosts: &["api.x.ai"],
        output_parameter: "max_completion_tokens",
        ..GENERIC
    },
    Dialect {
        name: "Ollama",
        providers: &["ollama", "ollama-cloud"],
        hosts: &["ollama.com"],
        takes_prefill: true,
        ..GENERIC
    },
    Dialect {
        name: "LM Studio",
        providers: &["lmstudio"],
        ..GENERIC
    },
    // With thinking on it refuses an assistant message in the last place.
    Dialect {
        name: "llama.cpp",
        providers: &["llamacpp"],
        ..GENERIC
    },
    Dialect {
        name: "vLLM",
        providers: &["vllm"],
        tool_images: true,
        ..GENERIC
    },
    Dialect {
        name: "SGLang",
        providers: &["sglang"],
        tool_images: true,
        ..GENERIC
    },
    Dialect {
        name: "Gemini",
        providers: &["gemini"],
        hosts: &["generativelanguage.googleapis.com"],
        ..GENERIC
    },
];

static FALLBACK: Dialect = GENERIC;

/// The dialect of a model at an address: by host, then by provider, then by the model's name.
pub(crate) fn of(identity: &ModelIdentity) -> &'static Dialect {
    let host = address::host(&identity.base_url);
    let by_host = |row: &&Dialect| row.hosts.iter().any(|known| address::is_within(&host, known));
    let by_provider = |row: &&Dialect| row.providers.contains(&identity.provider.as_str());
    let model = identity.model.to_ascii_lowercase();
    let by_model = |row: &&Dialect| row.models.iter().any(|word| model.contains(word));
    let find = |rule: &dyn Fn(&&Dialect) -> bool| DIALECTS.iter().find(|row| rule(row));
    let served = find(&by_host).or_else(|| find(&by_provider));
    match served {
        // An aggregator that takes details back knows best; elsewhere the model decides what it needs.
        Some(row) if row.echo != Echo::Nothing => row,
        Some(row) => find(&by_model).filter(|_| row.hosts.is_empty()).unwrap_or(row),
        None => find(&by_model).unwrap_or(&FALLBACK),
    }
}

impl Dialect {
    /// Cache marks are of use for this model.
    pub(crate) fn marks_for(&self, model: &str) -> bool {
        match self.marks {
            Marks::Never => false,
            Marks::For(words) => {
                let model = model.to_ascii_lowercase();
                words.iter().any(|word| model.contains(word))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use talaria_types::ApiMode;

    use super::*;

    fn dialect(provider: &str, base_url: &str, model: &str) -> &'static str {
        of(&ModelIdentity {
            provider: provider.to_owned(),
            model: model.to_owned(),
            base_url: base_url.to_owned(),
            api_mode: ApiMode::ChatCompletions,
        })
        .name
    }

    #[test]
    fn a_dialect_is_told_by_host_then_provider_then_model() {
        for (provider, url, model, name) in [
            ("custom", "https://api.deepseek.com/v1", "x", "DeepSeek"),
            (
                "custom",
                "http://127.0.0.1:1/v1",
                "deepseek-reasoner-x",
                "DeepSeek",
            ),
            (
                "openrouter",
                "https://openrouter.ai/api/v1",
                "deepseek/deepseek-r1",
                "OpenRouter",
            ),
            ("custom", "http://127.0.0.1:1/v1", "mock-model", "generic"),
            (
                "custom",
                "https://evil-api.openai.com.example.org/v1",
                "m",
                "generic",
            ),
            (
                "custom",
                "https://my.openai.azure.com/openai/v1",
                "gpt-5",
                "Azure",
            ),
            ("ollama", "http://localhost:11434/v1", "llama3", "Ollama"),
            ("vllm", "http://localhost:8000/v1", "deepseek-v3", "DeepSeek"),
        ] {
            assert_eq!(dialect(provider, url, model), name, "{provider} {url} {model}");
        }
    }

    #[test]
    fn cache_marks_are_set_only_where_they_are_of_use() {
        let openrouter = DIALECTS.iter().find(|row| row.name == "OpenRouter").unwrap();
        assert!(openrouter.marks_for("anthropic/claude-sonnet-4.5"));
        assert!(!openrouter.marks_for("openai/gpt-5"));
        assert!(!FALLBACK.marks_for("claude"));
    }
}
