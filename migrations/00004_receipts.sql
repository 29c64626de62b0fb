-- +goose Up

-- +goose StatementBegin
-- The reference that providers carry for us (docs/contract.md, section 3), as push.Identity.Reference computes it: a
-- receipt that names it needs no other id. biz_type and action need no encoding: their characters are those of keys.
CREATE FUNCTION push_reference(biz_type text, rule_version text, dedup_id text, action text, round integer)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT left(encode(sha256(convert_to('push:dedup:' || biz_type
        || CASE WHEN rule_version IN ('', 'v1') THEN '' ELSE '@' || rule_version END
        || ':' || dedup_id || ':' || action || CASE WHEN round > 1 THEN '#' || round ELSE '' END, 'UTF8')), 'hex'), 32)
$$;
-- +goose StatementEnd

ALTER TABLE push_log ADD COLUMN reference text NOT NULL
    GENERATED ALWAYS AS (push_reference(biz_type, rule_version, dedup_id, action, round)) STORED;

COMMENT ON COLUMN push_log.reference IS 'What every attempt gives the provider as OutId, SessionContext or client_msg_id: what a query or a receipt names.';

-- What a receipt finds its delivery by. An in-app message has no receipt.
CREATE INDEX push_log_reference ON push_log (reference) WHERE action <> 'notify';
CREATE INDEX push_log_message ON push_log (provider_msg_id) WHERE provider_msg_id IS NOT NULL;
CREATE INDEX push_attempt_message ON push_attempt (provider_msg_id) WHERE provider_msg_id IS NOT NULL;

-- The providers' later words. Each is stored before it is matched, so that none is lost when matching fails.
CREATE TABLE push_receipt (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider        text        NOT NULL,
    status          text        NOT NULL,
    provider_msg_id text,
    reference       text,
    recipient       text,
    recipient_hash  bytea,
    code            text,
    message         text,
    reported_at     timestamptz,
    raw             text        NOT NULL,
    digest          bytea       NOT NULL,
    repeats         integer     NOT NULL DEFAULT 0,
    received_at     timestamptz NOT NULL DEFAULT now(),
    next_match_at   timestamptz,
    matched_at      timestamptz,
    delivery_id     bigint      REFERENCES push_log ON DELETE CASCADE,
    effect          text,

    CONSTRAINT push_receipt_once UNIQUE (digest),

    CONSTRAINT push_receipt_provider CHECK (provider IN ('aliyun', 'tencent', 'wechat')),
    CONSTRAINT push_receipt_status CHECK (status IN ('delivered', 'undelivered', 'unreadable')),
    CONSTRAINT push_receipt_effect CHECK (effect IN ('settled', 'late', 'other_message')),
    CONSTRAINT push_receipt_matched CHECK ((matched_at IS NOT NULL) = (delivery_id IS NOT NULL)
        AND (matched_at IS NOT NULL) = (effect IS NOT NULL)),
    CONSTRAINT push_receipt_parked CHECK ((next_match_at IS NOT NULL) = (matched_at IS NULL AND status <> 'unreadable')),
    CONSTRAINT push_receipt_repeats CHECK (repeats >= 0)
);

COMMENT ON TABLE push_receipt IS 'What providers said later of messages they took; kept with its delivery, or by age while it has none.';
COMMENT ON COLUMN push_receipt.status IS 'What it says of the message; unreadable: kept for people, matched with nothing.';
COMMENT ON COLUMN push_receipt.provider_msg_id IS 'BizId, SerialNo or MsgID; null where the provider named none.';
COMMENT ON COLUMN push_receipt.reference IS 'Our own reference, where the provider carries it: out_id, ext.';
COMMENT ON COLUMN push_receipt.recipient IS 'Masked before it is stored.';
COMMENT ON COLUMN push_receipt.recipient_hash IS 'As push_log.recipient_hash; null without privacy.hash_key.';
COMMENT ON COLUMN push_receipt.code IS 'The carrier''s or the provider''s code, as received.';
COMMENT ON COLUMN push_receipt.reported_at IS 'When the provider says it came to know; orders nothing.';
COMMENT ON COLUMN push_receipt.raw IS 'The receipt as received, its recipient masked before the first write: no phone or openid is ever here whole.';
COMMENT ON COLUMN push_receipt.digest IS 'SHA-256 over what it says: the same word twice is one row.';
COMMENT ON COLUMN push_receipt.repeats IS 'How often the same word came again.';
COMMENT ON COLUMN push_receipt.next_match_at IS 'Exactly while it has no delivery: looked for again then. It may be earlier than the answer that it is about, or nobody''s here.';
COMMENT ON COLUMN push_receipt.effect IS 'settled: it changed its delivery; late: that had its last word already; other_message: a failed one, of a message that is not the delivery''s last.';

CREATE INDEX push_receipt_parked ON push_receipt (next_match_at) WHERE next_match_at IS NOT NULL;
CREATE INDEX push_receipt_unmatched ON push_receipt (received_at) WHERE matched_at IS NULL;
CREATE INDEX push_receipt_delivery ON push_receipt (delivery_id) WHERE delivery_id IS NOT NULL;

-- +goose Down
DROP TABLE push_receipt;
DROP INDEX push_attempt_message;
DROP INDEX push_log_message;
ALTER TABLE push_log DROP COLUMN reference;
DROP FUNCTION push_reference(text, text, text, text, integer);
