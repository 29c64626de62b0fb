-- What a delivery that goes well pays for: every change of its status writes a new entry into each index that holds it.
-- So the look-ups of operators leave out what is on its way (that is in push_log_sending, as small as the work itself),
-- and what another index finds anyway.

-- +goose Up
ALTER TABLE push_log DROP CONSTRAINT push_log_delivery;
ALTER TABLE push_log ADD CONSTRAINT push_log_delivery UNIQUE (dedup_id, action, biz_type, rule_version, round);

DROP INDEX push_log_biz_id;
CREATE INDEX push_log_biz_id ON push_log (biz_id) WHERE status <> 'sending' AND biz_id <> dedup_id;
DROP INDEX push_log_user_id;
CREATE INDEX push_log_user_id ON push_log (user_id) WHERE status <> 'sending' AND user_id IS NOT NULL;
DROP INDEX push_log_recipient_hash;
CREATE INDEX push_log_recipient_hash ON push_log (recipient_hash) WHERE status <> 'sending' AND recipient_hash IS NOT NULL;

-- Receipts name a reference for SMS alone.
DROP INDEX push_log_reference;
CREATE INDEX push_log_reference ON push_log (reference) WHERE action = 'sms';

-- Without published_at, noting a publication is a HOT update; what was published lately is passed over.
DROP INDEX push_log_queued;
CREATE INDEX push_log_queued ON push_log (updated_at) WHERE status = 'queued';

-- What is due of one channel, however much is due of another.
CREATE INDEX push_log_due_of ON push_log (action, next_attempt_at) WHERE status IN ('failed', 'deferred');

-- What is pruned must not be missed when an hour is counted again.
ALTER TABLE push_hourly_state ADD COLUMN pruned_to timestamptz NOT NULL DEFAULT '-infinity';
COMMENT ON COLUMN push_hourly_state.pruned_to IS 'Rows of hours before this may be pruned: what is counted of these stays.';

-- +goose Down
ALTER TABLE push_hourly_state DROP COLUMN pruned_to;
DROP INDEX push_log_due_of;
DROP INDEX push_log_queued;
CREATE INDEX push_log_queued ON push_log ((coalesce(published_at, updated_at))) WHERE status = 'queued';
DROP INDEX push_log_reference;
CREATE INDEX push_log_reference ON push_log (reference) WHERE action <> 'notify';
DROP INDEX push_log_recipient_hash;
CREATE INDEX push_log_recipient_hash ON push_log (recipient_hash) WHERE recipient_hash IS NOT NULL;
DROP INDEX push_log_user_id;
CREATE INDEX push_log_user_id ON push_log (user_id) WHERE user_id IS NOT NULL;
DROP INDEX push_log_biz_id;
CREATE INDEX push_log_biz_id ON push_log (biz_id);
ALTER TABLE push_log DROP CONSTRAINT push_log_delivery;
ALTER TABLE push_log ADD CONSTRAINT push_log_delivery UNIQUE (biz_type, rule_version, dedup_id, action, round);
