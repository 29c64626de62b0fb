-- +goose Up

-- The pushers write the reference with the row. As a generated column it was computed anew by every change of the row,
-- since the table has a trigger before updates: a fifth of what PostgreSQL computed for a delivery. Null: an in-app
-- message, which has none, and what a pusher of the version before still writes, whose receipts are found by their message.
ALTER TABLE push_log ALTER COLUMN reference DROP EXPRESSION;
ALTER TABLE push_log ALTER COLUMN reference DROP NOT NULL;

-- +goose Down
DROP INDEX push_log_reference;
ALTER TABLE push_log DROP COLUMN reference;
ALTER TABLE push_log ADD COLUMN reference text NOT NULL
    GENERATED ALWAYS AS (push_reference(biz_type, rule_version, dedup_id, action, round)) STORED;
COMMENT ON COLUMN push_log.reference IS 'What every attempt gives the provider as OutId, SessionContext or client_msg_id: what a query or a receipt names.';
CREATE INDEX push_log_reference ON push_log (reference) WHERE action = 'sms';
