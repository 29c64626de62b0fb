-- +goose Up

-- The push log: one row a delivery. The row, not Redis, decides who may send (docs/protocol.md, section 3).
CREATE TABLE push_log (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    biz_type           text        NOT NULL,
    rule_version       text        NOT NULL,
    dedup_id           text        NOT NULL,
    action             text        NOT NULL,
    round              integer     NOT NULL DEFAULT 1,
    biz_id             text        NOT NULL,
    status             text        NOT NULL,
    attempt            integer     NOT NULL,
    retries_used       integer     NOT NULL DEFAULT 0,
    provider           text,
    provider_msg_id    text,
    error_code         text,
    error_message      text,
    user_id            text,
    recipient          text,
    recipient_hash     bytea,
    recipient_full     text,
    event              json        NOT NULL,
    event_id           text,
    trace_id           text,
    owner              text,
    worker             text,
    intent_at          timestamptz,
    lease_until        timestamptz,
    ambiguous_since    timestamptz,
    outcome            text,
    finished_at        timestamptz,
    next_attempt_at    timestamptz,
    published_at       timestamptz,
    expires_at         timestamptz,
    ask_count          integer     NOT NULL DEFAULT 0,
    next_ask_at        timestamptz,
    possible_duplicate boolean     NOT NULL DEFAULT false,
    letter_due         boolean     NOT NULL DEFAULT false,
    topic              text        NOT NULL,
    partition          integer     NOT NULL,
    offset_            bigint      NOT NULL,
    record_time        timestamptz NOT NULL,
    created_at         timestamptz NOT NULL DEFAULT now(),
    updated_at         timestamptz NOT NULL DEFAULT now(),
    settled_at         timestamptz,
    sent_at            timestamptz,

    CONSTRAINT push_log_delivery UNIQUE (biz_type, rule_version, dedup_id, action, round),

    CONSTRAINT push_log_status CHECK (status IN ('sending', 'queued', 'deferred', 'failed', 'unknown', 'sent',
        'delivered', 'undelivered', 'dead', 'expired', 'skipped')),
    CONSTRAINT push_log_counts CHECK (round >= 1 AND attempt >= 0 AND retries_used >= 0 AND ask_count >= 0),
    CONSTRAINT push_log_attempt_begun CHECK (attempt >= 1 OR status NOT IN ('sending', 'queued', 'failed', 'unknown')),
    CONSTRAINT push_log_sending_is_held CHECK (status <> 'sending' OR (owner IS NOT NULL AND intent_at IS NOT NULL)),
    CONSTRAINT push_log_lease_while_sending CHECK ((lease_until IS NOT NULL) = (status = 'sending')),
    CONSTRAINT push_log_waiting_has_time CHECK ((next_attempt_at IS NOT NULL) = (status IN ('failed', 'deferred'))),
    CONSTRAINT push_log_unknown_since CHECK (status <> 'unknown' OR coalesce(ambiguous_since, intent_at) IS NOT NULL),
    CONSTRAINT push_log_settled_has_time CHECK ((settled_at IS NOT NULL) =
        (status IN ('sent', 'delivered', 'undelivered', 'dead', 'expired', 'skipped'))),
    CONSTRAINT push_log_sent_has_time CHECK ((sent_at IS NOT NULL) = (status IN ('sent', 'delivered', 'undelivered'))),
    CONSTRAINT push_log_recipient_erased CHECK (recipient_full IS NULL
        OR status NOT IN ('sent', 'delivered', 'undelivered', 'expired', 'skipped')),
    CONSTRAINT push_log_letter_of_dead CHECK (NOT letter_due OR status = 'dead'),
    CONSTRAINT push_log_skipped_has_reason CHECK (status <> 'skipped' OR error_code IS NOT NULL)
) WITH (fillfactor = 80); -- room on the page for the next version of a row: a renewal is then a HOT update

COMMENT ON TABLE push_log IS 'One row a delivery; the truth about what was sent. Every change is one conditional statement.';
COMMENT ON COLUMN push_log.rule_version IS 'Version of the configured push; v1 when it names none. A new version starts dedup afresh.';
COMMENT ON COLUMN push_log.dedup_id IS 'What the rule takes as the business fact, in key form: a row and its Redis key show the same text.';
COMMENT ON COLUMN push_log.round IS 'The same fact after its window is news: the next round, a row of its own.';
COMMENT ON COLUMN push_log.biz_id IS 'The event''s own id, for people; dedup_id decides.';
COMMENT ON COLUMN push_log.attempt IS 'The fence: +1 at every re-queue or repeat, never reused; 0 before the first attempt of a delivery that waits, or that is never sent.';
COMMENT ON COLUMN push_log.retries_used IS 'Counts against retry.max_attempts; throttling, account stops and undone attempts use none, so it is not attempt.';
COMMENT ON COLUMN push_log.provider IS 'Named before the provider is called, so that a crash leaves a trace of whom to ask.';
COMMENT ON COLUMN push_log.provider_msg_id IS 'The provider''s id of the accepted message: what a receipt names.';
COMMENT ON COLUMN push_log.error_code IS 'The last attempt''s error, or the reason of skipped, expired and dead.';
COMMENT ON COLUMN push_log.recipient IS 'Masked: enough for an operator to recognise, not enough to use.';
COMMENT ON COLUMN push_log.recipient_hash IS 'Keyed hash of the whole recipient: operators search by phone without the log holding phones.';
COMMENT ON COLUMN push_log.recipient_full IS 'Whole, only while a send may still need it; erased when settled, but for dead, which an operator may reopen.';
COMMENT ON COLUMN push_log.event IS 'Text as received, without the recipient: what a retry sends. json, since jsonb would change numbers and refuse text.';
COMMENT ON COLUMN push_log.owner IS 'Token of the claim call that wrote the current attempt''s intent; stays after the end, so that proof of its own attempt counts.';
COMMENT ON COLUMN push_log.worker IS 'Host and process of the current attempt, for operators; decides nothing.';
COMMENT ON COLUMN push_log.intent_at IS 'When the current attempt was entitled to leave; null while it has not begun.';
COMMENT ON COLUMN push_log.lease_until IS 'Nobody else touches a sending row before this; not indexed, so that a renewal stays a HOT update.';
COMMENT ON COLUMN push_log.ambiguous_since IS 'Intent time of the first unresolved attempt; never moved by a repeat: the provider''s dedup window counts from here.';
COMMENT ON COLUMN push_log.outcome IS 'What became of the current attempt (accepted, not_sent, throttled, account, permanent, ambiguous, undone); null while it is out or was lost.';
COMMENT ON COLUMN push_log.finished_at IS 'When that outcome was written.';
COMMENT ON COLUMN push_log.next_attempt_at IS 'When a failed or deferred row is due, exactly while it waits.';
COMMENT ON COLUMN push_log.published_at IS 'When the queued attempt''s retry message was acknowledged; not published within the patience: published again. Null at every re-queue.';
COMMENT ON COLUMN push_log.expires_at IS 'The event''s expires_at: kept as a column, since due rows past it are never sent and are looked for.';
COMMENT ON COLUMN push_log.ask_count IS 'How often the provider was asked about this unknown send: the backoff of asking.';
COMMENT ON COLUMN push_log.next_ask_at IS 'Not asked again before this; null: never asked yet.';
COMMENT ON COLUMN push_log.possible_duplicate IS 'Sent again by policy (when_unknown: resend) although an earlier attempt may have been accepted.';
COMMENT ON COLUMN push_log.letter_due IS 'A dead letter is still to be written; cleared after the write, so a letter is written at least once.';
COMMENT ON COLUMN push_log.offset_ IS 'With topic and partition: where the record stood that made this row.';
COMMENT ON COLUMN push_log.record_time IS 'The record''s own timestamp: decides between duplicate and news, never the time of reading.';
COMMENT ON COLUMN push_log.updated_at IS 'When the status last changed; a lease renewal or a publication is no such change.';
COMMENT ON COLUMN push_log.settled_at IS 'The dedup window counts from here.';

-- Work that waits: partial, so that each index is as small as the work itself, however long the log.
CREATE INDEX push_log_due ON push_log (next_attempt_at) WHERE status IN ('failed', 'deferred');
CREATE INDEX push_log_queued ON push_log ((coalesce(published_at, updated_at))) WHERE status = 'queued';
CREATE INDEX push_log_sending ON push_log (intent_at) WHERE status = 'sending';
CREATE INDEX push_log_unknown ON push_log ((coalesce(ambiguous_since, intent_at))) WHERE status = 'unknown';
CREATE INDEX push_log_expiring ON push_log (expires_at)
    WHERE status IN ('failed', 'deferred', 'queued') AND expires_at IS NOT NULL;
CREATE INDEX push_log_letter ON push_log (id) WHERE letter_due;

-- What operators look for; newest first is the primary key read backwards.
CREATE INDEX push_log_biz_id ON push_log (biz_id);
CREATE INDEX push_log_user_id ON push_log (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX push_log_recipient_hash ON push_log (recipient_hash) WHERE recipient_hash IS NOT NULL;
CREATE INDEX push_log_created_at ON push_log USING brin (created_at);

-- +goose Down
DROP TABLE push_log;
