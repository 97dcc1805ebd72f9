-- Children that are neither a branch nor a continuation are runs of a subagent; say so on the row.
-- (Hermes also marks short untitled sessions without a parent as orphaned runs. Most of those are
-- a person's own short sessions, which would vanish from the list; that step is left out.)
UPDATE sessions SET model_config = json_set(
    CASE WHEN json_valid(model_config) THEN model_config ELSE '{}' END, '$._delegate_from', parent_session_id)
WHERE parent_session_id IS NOT NULL
  AND json_extract(CASE WHEN json_valid(model_config) THEN model_config ELSE '{}' END, '$._delegate_from') IS NULL
  AND json_extract(CASE WHEN json_valid(model_config) THEN model_config ELSE '{}' END, '$._branched_from') IS NULL
  AND NOT EXISTS (
      SELECT 1 FROM sessions parent WHERE parent.id = sessions.parent_session_id
      AND (parent.end_reason = 'compression'
           OR (parent.end_reason = 'branched' AND sessions.started_at >= parent.ended_at)));
