-- One row of usage per session from its totals, so that sums over models reach back.
INSERT OR IGNORE INTO session_model_usage (
    session_id, model, billing_provider, billing_base_url, billing_mode, api_call_count, input_tokens, output_tokens,
    cache_read_tokens, cache_write_tokens, reasoning_tokens, estimated_cost_usd, actual_cost_usd, cost_status,
    cost_source, first_seen, last_seen)
SELECT id, coalesce(model, 'unknown'), coalesce(billing_provider, ''), coalesce(billing_base_url, ''),
    coalesce(billing_mode, ''), coalesce(api_call_count, 0), coalesce(input_tokens, 0), coalesce(output_tokens, 0),
    coalesce(cache_read_tokens, 0), coalesce(cache_write_tokens, 0), coalesce(reasoning_tokens, 0),
    coalesce(estimated_cost_usd, 0), coalesce(actual_cost_usd, 0), cost_status, cost_source, started_at,
    coalesce(ended_at, started_at)
FROM sessions
WHERE coalesce(input_tokens, 0) + coalesce(output_tokens, 0) + coalesce(cache_read_tokens, 0)
    + coalesce(cache_write_tokens, 0) + coalesce(reasoning_tokens, 0) > 0;
