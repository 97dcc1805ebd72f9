//! Every value as `config show` prints it, secrets as `***`.

use std::collections::BTreeMap;

use crate::Config;
use crate::keys::KEYS;
use crate::records::{AUXILIARY, FALLBACK, Field, HOOK, PROVIDER};

/// What is set, by dotted key. The configuration is only read; slots borrow mutably.
pub(crate) fn values(config: &mut Config) -> BTreeMap<String, String> {
    let mut shown = BTreeMap::new();
    for key in KEYS {
        shown.extend(
            (key.slot)(config)
                .shown()
                .map(|value| (key.name.to_owned(), value)),
        );
    }
    for (id, provider) in &mut config.providers {
        let prefix = format!("providers.{id}");
        entry(PROVIDER, provider, &prefix, &mut shown);
        for (model, tokens) in &provider.model_context_lengths {
            shown.insert(
                format!("{prefix}.models.{model}.context_length"),
                tokens.to_string(),
            );
        }
    }
    for (index, fallback) in config.fallback_providers.iter_mut().enumerate() {
        entry(
            FALLBACK,
            fallback,
            &format!("fallback_providers.{index}"),
            &mut shown,
        );
    }
    for (provider, strategy) in &config.credential_pool_strategies {
        shown.insert(format!("credential_pool_strategies.{provider}"), strategy.clone());
    }
    for (task, auxiliary) in &mut config.auxiliary {
        entry(AUXILIARY, auxiliary, &format!("auxiliary.{task}"), &mut shown);
    }
    for (event, hooks) in &mut config.hooks {
        for (index, hook) in hooks.iter_mut().enumerate() {
            entry(HOOK, hook, &format!("hooks.{event}.{index}"), &mut shown);
        }
    }
    // An address may carry who logs in.
    for value in shown.values_mut().filter(|value| value.contains("://")) {
        *value = talaria_redact::redact_url(value).into_owned();
    }
    shown
}

fn entry<T>(fields: &[Field<T>], of: &mut T, prefix: &str, shown: &mut BTreeMap<String, String>) {
    for field in fields {
        let Some(value) = (field.slot)(of).shown().filter(|value| !value.is_empty()) else {
            continue;
        };
        let name = field.names.first().copied().unwrap_or_default();
        shown.insert(format!("{prefix}.{name}"), value);
    }
}
