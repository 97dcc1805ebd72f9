use super::*;

fn ask(request: &ProviderRequest, variables: &[(&str, &str)]) -> Result<Endpoint, ResolveError> {
    resolve(request, &|name| {
        variables
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| (*value).to_owned())
    })
}

fn named(provider: &str, model: &str) -> ProviderRequest {
    ProviderRequest {
        provider: Some(provider.into()),
        model: Some(model.into()),
        ..ProviderRequest::default()
    }
}

fn summary(endpoint: &Endpoint) -> String {
    let key = endpoint.api_key.as_ref().map_or("-", |key| key.expose_secret());
    let identity = &endpoint.identity;
    format!(
        "{} {} {} {key}",
        identity.provider,
        identity.base_url,
        identity.api_mode.as_str()
    )
}

#[test]
fn a_key_and_an_address_in_the_environment_are_enough() {
    let request = ProviderRequest {
        model: Some("m".into()),
        ..ProviderRequest::default()
    };
    let found = ask(
        &request,
        &[
            ("OPENAI_API_KEY", "k"),
            ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1/"),
        ],
    )
    .unwrap();
    assert_eq!(summary(&found), "custom http://127.0.0.1:9/v1 chat_completions k");
}

#[test]
fn the_first_provider_with_a_key_is_taken_when_none_is_named() {
    let request = ProviderRequest {
        model: Some("m".into()),
        ..ProviderRequest::default()
    };
    let found = |variables: &[(&str, &str)]| summary(&ask(&request, variables).unwrap());
    assert_eq!(
        found(&[("OPENROUTER_API_KEY", "k")]),
        "openrouter https://openrouter.ai/api/v1 chat_completions k"
    );
    assert_eq!(
        found(&[("OPENAI_API_KEY", "k")]),
        "openai https://api.openai.com/v1 codex_responses k"
    );
    assert_eq!(
        found(&[("ANTHROPIC_API_KEY", "k")]),
        "anthropic https://api.anthropic.com anthropic_messages k"
    );
    assert_eq!(
        found(&[("GOOGLE_API_KEY", "k")]),
        "gemini https://generativelanguage.googleapis.com/v1beta gemini k"
    );
    // A token of another tool is no wish to be billed there.
    assert_eq!(
        ask(&request, &[("GITHUB_TOKEN", "k")]).unwrap_err(),
        ResolveError::NoProvider
    );
}

#[test]
fn a_moved_address_is_spoken_to_in_the_common_protocol() {
    let found = ask(
        &named("openai", "gpt-4o"),
        &[
            ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"),
            ("OPENAI_API_KEY", "k"),
        ],
    );
    assert_eq!(
        summary(&found.unwrap()),
        "openai http://127.0.0.1:9/v1 chat_completions k"
    );
    let found = ask(
        &named("deepseek", "x"),
        &[
            ("DEEPSEEK_BASE_URL", "http://127.0.0.1:9/v1"),
            ("DEEPSEEK_API_KEY", "k"),
        ],
    );
    assert_eq!(
        summary(&found.unwrap()),
        "deepseek http://127.0.0.1:9/v1 chat_completions k"
    );
}

#[test]
fn the_protocol_is_told_by_the_address() {
    for (url, mode) in [
        ("https://api.openai.com/v1", ApiMode::CodexResponses),
        ("https://api.x.ai/v1", ApiMode::CodexResponses),
        ("https://proxy.example/anthropic", ApiMode::AnthropicMessages),
        ("https://api.kimi.com/coding", ApiMode::AnthropicMessages),
        (
            "https://generativelanguage.googleapis.com/v1beta",
            ApiMode::Gemini,
        ),
        (
            "https://generativelanguage.googleapis.com/v1beta/openai",
            ApiMode::ChatCompletions,
        ),
        ("https://example.org/v1", ApiMode::ChatCompletions),
    ] {
        let request = ProviderRequest {
            base_url: Some(url.into()),
            ..named("custom", "m")
        };
        assert_eq!(ask(&request, &[]).unwrap().identity.api_mode, mode, "{url}");
        let request = ProviderRequest {
            api_mode: Some(ApiMode::ChatCompletions),
            ..request
        };
        assert_eq!(
            ask(&request, &[]).unwrap().identity.api_mode,
            ApiMode::ChatCompletions,
            "{url}"
        );
    }
}

#[test]
fn a_missing_key_is_named() {
    let error = ask(&named("claude", "m"), &[]).unwrap_err().to_string();
    assert!(
        error.contains("ANTHROPIC_API_KEY") && error.contains("anthropic"),
        "{error}"
    );
    let request = ProviderRequest {
        key_env: Some("MY_KEY".into()),
        ..named("anthropic", "m")
    };
    assert!(ask(&request, &[]).unwrap_err().to_string().contains("MY_KEY"));
    assert!(
        ask(&named("codex", "m"), &[])
            .unwrap_err()
            .to_string()
            .contains("auth add")
    );
}

#[test]
fn a_server_of_ones_own_needs_no_key() {
    let request = ProviderRequest {
        base_url: Some("http://localhost:11434/v1".into()),
        ..named("custom", "m")
    };
    assert_eq!(
        summary(&ask(&request, &[]).unwrap()),
        "custom http://localhost:11434/v1 chat_completions -"
    );
    let request = ProviderRequest {
        api_key: Some("no-key-required".to_owned().into()),
        ..request
    };
    assert!(ask(&request, &[]).unwrap().api_key.is_none());
    assert_eq!(
        summary(&ask(&named("ollama", "m"), &[]).unwrap()),
        "ollama http://127.0.0.1:11434/v1 chat_completions -"
    );
}

#[test]
fn what_is_missing_or_wrong_is_said() {
    let nothing = ProviderRequest::default();
    assert_eq!(ask(&nothing, &[]).unwrap_err(), ResolveError::NoProvider);
    let error = |request: &ProviderRequest| ask(request, &[("OPENAI_API_KEY", "k")]).unwrap_err().to_string();
    assert!(error(&nothing).contains("model.default"));
    assert!(error(&named("nonsense", "m")).contains("nonsense"));
    assert!(error(&named("azure", "m")).contains("AZURE_FOUNDRY_BASE_URL"));
    let request = ProviderRequest {
        base_url: Some("localhost:8000".into()),
        ..named("custom", "m")
    };
    assert!(error(&request).contains("http://"));
}

#[test]
fn the_path_of_a_request_is_taken_off_the_address() {
    let request = ProviderRequest {
        base_url: Some("http://h.local/v1/chat/completions/".into()),
        ..named("custom", "m")
    };
    assert_eq!(ask(&request, &[]).unwrap().identity.base_url, "http://h.local/v1");
}

#[test]
fn keys_of_the_coding_plan_go_to_their_own_address() {
    let found = ask(&named("kimi", "k2"), &[("KIMI_API_KEY", "sk-kimi-1")]).unwrap();
    assert_eq!(
        summary(&found),
        "kimi-coding https://api.kimi.com/coding anthropic_messages sk-kimi-1"
    );
}

#[test]
fn a_near_server_is_given_more_time() {
    let near = ProviderRequest {
        base_url: Some("http://localhost:1/v1".into()),
        ..named("custom", "m")
    };
    let far = ProviderRequest {
        base_url: Some("https://example.org/v1".into()),
        ..named("custom", "m")
    };
    assert_eq!(ask(&near, &[]).unwrap().stale_timeout, LOCAL_STALE);
    assert_eq!(ask(&far, &[]).unwrap().stale_timeout, STALE);
    let two = Some(Duration::from_secs(2));
    let near = ProviderRequest {
        local_stale_timeout: two,
        ..near
    };
    assert_eq!(ask(&near, &[]).unwrap().stale_timeout, Duration::from_secs(2));
}

#[test]
fn a_key_of_the_pool_comes_before_the_environments_and_brings_its_address() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("auth.json");
    let pool = r#"{"credential_pool":{"deepseek":[{"id":"k1","priority":0,"access_token":"sk-1","base_url":"http://127.0.0.1:9/v1"}]}}"#;
    std::fs::write(&file, pool).unwrap();
    let request = ProviderRequest {
        auth_file: Some(file),
        ..named("deepseek", "m")
    };
    let found = ask(&request, &[("DEEPSEEK_API_KEY", "sk-env")]).unwrap();
    assert_eq!(
        summary(&found),
        "deepseek http://127.0.0.1:9/v1 chat_completions sk-1"
    );
    assert_eq!(found.pool_entry.as_deref(), Some("k1"));
    let only_pool = ProviderRequest {
        provider: None,
        ..request.clone()
    };
    assert_eq!(ask(&only_pool, &[]).unwrap().identity.provider, "deepseek");
    let configured = ProviderRequest {
        api_key: Some("sk-own".to_owned().into()),
        ..request
    };
    let found = ask(&configured, &[]).unwrap();
    assert_eq!(
        summary(&found),
        "deepseek https://api.deepseek.com/v1 chat_completions sk-own"
    );
    assert!(found.pool.is_none());
}
