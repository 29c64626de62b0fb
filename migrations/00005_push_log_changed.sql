-- The rows that changed lately, which the compensator compares with their dedup keys. A block range index: every write
-- pays for it, and next to nothing.

-- +goose Up
CREATE INDEX push_log_updated_at ON push_log USING brin (updated_at) WITH (pages_per_range = 16, autosummarize = on);

-- +goose Down
DROP INDEX push_log_updated_at;
