//! Sections whose entries have names of their own: providers, fallbacks, side tasks.

use crate::slot::{Rule, Slot};
use crate::{AuxiliaryConfig, FallbackConfig, HookConfig, ProviderConfig};

/// One field of an entry.
pub(crate) struct Field<T: 'static> {
    /// The name, then others it is read under.
    pub(crate) names: &'static [&'static str],
    /// Where its value stands.
    pub(crate) slot: fn(&mut T) -> Slot<'_>,
    /// What it may be.
    pub(crate) rule: Rule,
}

const fn field<T>(names: &'static [&'static str], slot: fn(&mut T) -> Slot<'_>) -> Field<T> {
    Field {
        names,
        slot,
        rule: Rule::Any,
    }
}

const fn whole<T>(names: &'static [&'static str], slot: fn(&mut T) -> Slot<'_>) -> Field<T> {
    Field {
        names,
        slot,
        rule: Rule::AtLeast(1),
    }
}

/// `providers.<id>`; `models.<m>.context_length` is read beside it.
pub(crate) static PROVIDER: &[Field<ProviderConfig>] = &[
    field(&["base_url", "url", "api"], |p| Slot::OptText(&mut p.base_url)),
    field(&["api_key"], |p| Slot::Secret(&mut p.api_key)),
    field(&["key_env", "api_key_env"], |p| Slot::OptText(&mut p.key_env)),
    field(&["api_mode", "transport"], |p| Slot::Mode(&mut p.api_mode)),
    field(&["default_model", "model"], |p| {
        Slot::OptText(&mut p.default_model)
    }),
    whole(&["context_length"], |p| Slot::OptU64(&mut p.context_length)),
    whole(&["request_timeout_seconds"], |p| {
        Slot::OptU64(&mut p.request_timeout_seconds)
    }),
    whole(&["stale_timeout_seconds"], |p| {
        Slot::OptU64(&mut p.stale_timeout_seconds)
    }),
];

/// One of `fallback_providers`.
pub(crate) static FALLBACK: &[Field<FallbackConfig>] = &[
    field(&["provider"], |f| Slot::Text(&mut f.provider)),
    field(&["model", "default"], |f| Slot::Text(&mut f.model)),
    field(&["base_url", "url"], |f| Slot::OptText(&mut f.base_url)),
    field(&["api_key"], |f| Slot::Secret(&mut f.api_key)),
    field(&["key_env", "api_key_env"], |f| Slot::OptText(&mut f.key_env)),
    field(&["api_mode", "transport"], |f| Slot::Mode(&mut f.api_mode)),
    whole(&["context_length"], |f| Slot::OptU64(&mut f.context_length)),
];

/// `auxiliary.<task>`.
pub(crate) static AUXILIARY: &[Field<AuxiliaryConfig>] = &[
    field(&["enabled"], |a| Slot::OptBool(&mut a.enabled)),
    field(&["provider"], |a| Slot::Text(&mut a.provider)),
    field(&["model"], |a| Slot::Text(&mut a.model)),
    field(&["base_url"], |a| Slot::OptText(&mut a.base_url)),
    field(&["api_key"], |a| Slot::Secret(&mut a.api_key)),
    whole(&["timeout"], |a| Slot::OptU64(&mut a.timeout)),
];

/// One of `hooks.<event>`.
pub(crate) static HOOK: &[Field<HookConfig>] = &[
    field(&["command"], |h| Slot::Text(&mut h.command)),
    field(&["matcher"], |h| Slot::OptText(&mut h.matcher)),
    whole(&["timeout"], |h| Slot::OptU64(&mut h.timeout)),
    field(&["on_failure"], |h| Slot::OptText(&mut h.on_failure)),
];
