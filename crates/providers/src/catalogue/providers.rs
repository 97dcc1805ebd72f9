//! The providers this program knows by name, as a table.
//!
//! A provider is an id, the names it also goes by, where its API lives, which
//! variables hold its key and its address, and the protocol it speaks. A new one
//! is a new row.

use talaria_types::ApiMode;

/// One provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProviderRow {
    /// Its id, as stored and shown.
    pub id: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// Where its API lives; empty when the user must say.
    pub base_url: &'static str,
    /// Variables that may hold its key, first one first.
    pub keys: &'static [&'static str],
    /// The variable that moves its address.
    pub url_variable: &'static str,
    /// The protocol; none when it is told by the address or the model.
    pub api_mode: Option<ApiMode>,
    /// How one logs in.
    pub login: LoginMethod,
}

/// How one logs in to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginMethod {
    /// With a key.
    Key,
    /// With a key, if the server wants one at all.
    OptionalKey,
    /// With a login in the browser or on another device; its token stands in the credential store.
    OAuth,
    /// With a cloud's own chain of credentials.
    Cloud,
}

const ROW: ProviderRow = ProviderRow {
    id: "",
    aliases: &[],
    base_url: "",
    keys: &[],
    url_variable: "",
    api_mode: Some(ApiMode::ChatCompletions),
    login: LoginMethod::Key,
};

const ANTHROPIC: Option<ApiMode> = Some(ApiMode::AnthropicMessages);
const RESPONSES: Option<ApiMode> = Some(ApiMode::CodexResponses);

/// The table; its order is the one in which a key is looked for when nothing is configured.
pub const PROVIDERS: &[ProviderRow] = &[
    ProviderRow {
        id: "openrouter",
        aliases: &["or"],
        base_url: "https://openrouter.ai/api/v1",
        keys: &["OPENROUTER_API_KEY"],
        url_variable: "OPENROUTER_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "openai",
        aliases: &["openai-api"],
        base_url: "https://api.openai.com/v1",
        keys: &["OPENAI_API_KEY"],
        url_variable: "OPENAI_BASE_URL",
        api_mode: None,
        ..ROW
    },
    ProviderRow {
        id: "anthropic",
        aliases: &["claude"],
        base_url: "https://api.anthropic.com",
        keys: &["ANTHROPIC_API_KEY", "ANTHROPIC_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
        url_variable: "ANTHROPIC_BASE_URL",
        api_mode: ANTHROPIC,
        ..ROW
    },
    ProviderRow {
        id: "gemini",
        aliases: &["google"],
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        url_variable: "GEMINI_BASE_URL",
        api_mode: Some(ApiMode::Gemini),
        ..ROW
    },
    ProviderRow {
        id: "nous",
        base_url: "https://inference-api.nousresearch.com/v1",
        keys: &["NOUS_API_KEY"],
        url_variable: "NOUS_BASE_URL",
        login: LoginMethod::OAuth,
        ..ROW
    },
    ProviderRow {
        id: "openai-codex",
        aliases: &["codex"],
        base_url: "https://chatgpt.com/backend-api/codex",
        url_variable: "CODEX_BASE_URL",
        api_mode: RESPONSES,
        login: LoginMethod::OAuth,
        ..ROW
    },
    ProviderRow {
        id: "xai",
        aliases: &["grok"],
        base_url: "https://api.x.ai/v1",
        keys: &["XAI_API_KEY"],
        url_variable: "XAI_BASE_URL",
        api_mode: None,
        ..ROW
    },
    ProviderRow {
        id: "xai-oauth",
        base_url: "https://api.x.ai/v1",
        url_variable: "XAI_BASE_URL",
        api_mode: RESPONSES,
        login: LoginMethod::OAuth,
        ..ROW
    },
    ProviderRow {
        id: "qwen-oauth",
        base_url: "https://portal.qwen.ai/v1",
        url_variable: "QWEN_BASE_URL",
        login: LoginMethod::OAuth,
        ..ROW
    },
    ProviderRow {
        id: "copilot",
        aliases: &["github-copilot"],
        base_url: "https://api.githubcopilot.com",
        keys: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
        url_variable: "COPILOT_BASE_URL",
        login: LoginMethod::OAuth,
        ..ROW
    },
    ProviderRow {
        id: "zai",
        aliases: &["glm"],
        base_url: "https://api.z.ai/api/paas/v4",
        keys: &["GLM_API_KEY", "ZAI_API_KEY", "Z_AI_API_KEY"],
        url_variable: "GLM_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "kimi-coding",
        aliases: &["kimi", "moonshot"],
        base_url: "https://api.moonshot.ai/v1",
        keys: &["KIMI_API_KEY", "KIMI_CODING_API_KEY"],
        url_variable: "KIMI_BASE_URL",
        api_mode: None,
        ..ROW
    },
    ProviderRow {
        id: "kimi-coding-cn",
        base_url: "https://api.moonshot.cn/v1",
        keys: &["KIMI_CN_API_KEY"],
        url_variable: "KIMI_CN_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "minimax",
        base_url: "https://api.minimax.io/anthropic",
        keys: &["MINIMAX_API_KEY"],
        url_variable: "MINIMAX_BASE_URL",
        api_mode: None,
        ..ROW
    },
    ProviderRow {
        id: "minimax-cn",
        base_url: "https://api.minimaxi.com/anthropic",
        keys: &["MINIMAX_CN_API_KEY"],
        url_variable: "MINIMAX_CN_BASE_URL",
        api_mode: None,
        ..ROW
    },
    ProviderRow {
        id: "minimax-oauth",
        base_url: "https://api.minimax.io/anthropic",
        url_variable: "MINIMAX_BASE_URL",
        api_mode: ANTHROPIC,
        login: LoginMethod::OAuth,
        ..ROW
    },
    ProviderRow {
        id: "alibaba",
        aliases: &["dashscope"],
        base_url: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        keys: &["DASHSCOPE_API_KEY"],
        url_variable: "DASHSCOPE_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "alibaba-coding-plan",
        base_url: "https://coding-intl.dashscope.aliyuncs.com/v1",
        keys: &["ALIBABA_CODING_PLAN_API_KEY"],
        url_variable: "ALIBABA_CODING_PLAN_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "deepseek",
        base_url: "https://api.deepseek.com/v1",
        keys: &["DEEPSEEK_API_KEY"],
        url_variable: "DEEPSEEK_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "mistral",
        aliases: &["mistralai"],
        base_url: "https://api.mistral.ai/v1",
        keys: &["MISTRAL_API_KEY"],
        url_variable: "MISTRAL_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "groq",
        base_url: "https://api.groq.com/openai/v1",
        keys: &["GROQ_API_KEY"],
        url_variable: "GROQ_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "nvidia",
        aliases: &["nim"],
        base_url: "https://integrate.api.nvidia.com/v1",
        keys: &["NVIDIA_API_KEY"],
        url_variable: "NVIDIA_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "stepfun",
        base_url: "https://api.stepfun.ai/step_plan/v1",
        keys: &["STEPFUN_API_KEY"],
        url_variable: "STEPFUN_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "arcee",
        base_url: "https://api.arcee.ai/api/v1",
        keys: &["ARCEEAI_API_KEY"],
        url_variable: "ARCEE_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "gmi",
        base_url: "https://api.gmi-serving.com/v1",
        keys: &["GMI_API_KEY"],
        url_variable: "GMI_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "ai-gateway",
        aliases: &["vercel"],
        base_url: "https://ai-gateway.vercel.sh/v1",
        keys: &["AI_GATEWAY_API_KEY"],
        url_variable: "AI_GATEWAY_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "opencode-zen",
        base_url: "https://opencode.ai/zen/v1",
        keys: &["OPENCODE_ZEN_API_KEY"],
        url_variable: "OPENCODE_ZEN_BASE_URL",
        api_mode: None,
        ..ROW
    },
    ProviderRow {
        id: "opencode-go",
        base_url: "https://opencode.ai/zen/go/v1",
        keys: &["OPENCODE_GO_API_KEY"],
        url_variable: "OPENCODE_GO_BASE_URL",
        api_mode: None,
        ..ROW
    },
    ProviderRow {
        id: "kilocode",
        base_url: "https://api.kilo.ai/api/gateway",
        keys: &["KILOCODE_API_KEY"],
        url_variable: "KILOCODE_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "huggingface",
        aliases: &["hf"],
        base_url: "https://router.huggingface.co/v1",
        keys: &["HF_TOKEN"],
        url_variable: "HF_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "xiaomi",
        aliases: &["mimo"],
        base_url: "https://api.xiaomimimo.com/v1",
        keys: &["XIAOMI_API_KEY"],
        url_variable: "XIAOMI_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "tencent-tokenhub",
        base_url: "https://tokenhub.tencentmaas.com/v1",
        keys: &["TOKENHUB_API_KEY"],
        url_variable: "TOKENHUB_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "ollama-cloud",
        base_url: "https://ollama.com/v1",
        keys: &["OLLAMA_API_KEY"],
        url_variable: "OLLAMA_CLOUD_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "novita",
        base_url: "https://api.novita.ai/openai/v1",
        keys: &["NOVITA_API_KEY"],
        url_variable: "NOVITA_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "deepinfra",
        base_url: "https://api.deepinfra.com/v1/openai",
        keys: &["DEEPINFRA_API_KEY"],
        url_variable: "DEEPINFRA_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "fireworks",
        base_url: "https://api.fireworks.ai/inference/v1",
        keys: &["FIREWORKS_API_KEY"],
        url_variable: "FIREWORKS_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "upstage",
        aliases: &["solar"],
        base_url: "https://api.upstage.ai/v1",
        keys: &["UPSTAGE_API_KEY"],
        url_variable: "UPSTAGE_BASE_URL",
        ..ROW
    },
    ProviderRow {
        id: "bedrock",
        aliases: &["aws", "amazon-bedrock"],
        url_variable: "BEDROCK_BASE_URL",
        api_mode: None,
        login: LoginMethod::Cloud,
        ..ROW
    },
    ProviderRow {
        id: "vertex",
        aliases: &["google-vertex", "google-vertex-anthropic"],
        url_variable: "VERTEX_BASE_URL",
        api_mode: None,
        login: LoginMethod::Cloud,
        ..ROW
    },
    ProviderRow {
        id: "azure-foundry",
        aliases: &["azure"],
        keys: &["AZURE_FOUNDRY_API_KEY", "AZURE_OPENAI_API_KEY"],
        url_variable: "AZURE_FOUNDRY_BASE_URL",
        api_mode: None,
        ..ROW
    },
    ProviderRow {
        id: "lmstudio",
        aliases: &["lm-studio"],
        base_url: "http://127.0.0.1:1234/v1",
        keys: &["LM_API_KEY"],
        url_variable: "LM_BASE_URL",
        login: LoginMethod::OptionalKey,
        ..ROW
    },
    ProviderRow {
        id: "ollama",
        base_url: "http://127.0.0.1:11434/v1",
        keys: &["OLLAMA_API_KEY"],
        url_variable: "OLLAMA_BASE_URL",
        login: LoginMethod::OptionalKey,
        ..ROW
    },
    ProviderRow {
        id: "llamacpp",
        aliases: &["llama.cpp", "llama-cpp"],
        base_url: "http://127.0.0.1:8080/v1",
        keys: &["LLAMACPP_API_KEY"],
        url_variable: "LLAMACPP_BASE_URL",
        login: LoginMethod::OptionalKey,
        ..ROW
    },
    ProviderRow {
        id: "vllm",
        base_url: "http://127.0.0.1:8000/v1",
        keys: &["VLLM_API_KEY"],
        url_variable: "VLLM_BASE_URL",
        login: LoginMethod::OptionalKey,
        ..ROW
    },
    ProviderRow {
        id: "sglang",
        base_url: "http://127.0.0.1:30000/v1",
        keys: &["SGLANG_API_KEY"],
        url_variable: "SGLANG_BASE_URL",
        login: LoginMethod::OptionalKey,
        ..ROW
    },
    ProviderRow {
        id: "custom",
        aliases: &["local"],
        keys: &["OPENAI_API_KEY"],
        url_variable: "OPENAI_BASE_URL",
        api_mode: None,
        login: LoginMethod::OptionalKey,
        ..ROW
    },
];

/// The row of a provider by its id or one of its other names, in any case.
pub fn row(name: &str) -> Option<&'static ProviderRow> {
    let name = name.trim().to_ascii_lowercase();
    PROVIDERS
        .iter()
        .find(|row| row.id == name || row.aliases.contains(&name.as_str()))
}

/// The id a name stands for; a name of no known provider stands for itself.
pub fn canonical(name: &str) -> &str {
    row(name).map_or(name, |row| row.id)
}

/// The provider asks for what the vendor of a model asks for.
pub(crate) fn passes_prices_on(provider: &str) -> bool {
    matches!(canonical(provider), "openrouter" | "ai-gateway" | "kilocode")
}

/// The provider whose own models an aggregator lists under this prefix.
pub(crate) fn vendor(prefix: &str) -> &str {
    match prefix {
        "google" => "gemini",
        "x-ai" => "xai",
        "moonshotai" => "kimi-coding",
        "z-ai" => "zai",
        "qwen" => "alibaba",
        "mistralai" => "mistral",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_name_means_one_provider() {
        let mut seen = HashSet::new();
        for row in PROVIDERS {
            for name in std::iter::once(&row.id).chain(row.aliases) {
                assert!(seen.insert(*name), "{name} is there twice");
            }
        }
    }

    #[test]
    fn a_provider_is_found_by_any_of_its_names() {
        assert_eq!(canonical("Claude"), "anthropic");
        assert_eq!(canonical("local"), "custom");
        assert_eq!(canonical("something-else"), "something-else");
    }
}
