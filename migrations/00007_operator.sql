-- +goose Up

-- What operators did, and why. Rows are only added; each change of a delivery is committed together with its line in
-- operator_action_delivery, so that an act that broke off halfway still says what it did.
CREATE TABLE operator_action (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    actor       text        NOT NULL CHECK (actor <> ''),
    role        text        NOT NULL,
    verb        text        NOT NULL,
    reason      text        NOT NULL CHECK (reason <> ''),
    filter      text        NOT NULL,
    counts      json        NOT NULL,
    matching    integer     NOT NULL DEFAULT 0,
    changed     integer     NOT NULL DEFAULT 0,
    begun_at    timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz
);

COMMENT ON TABLE operator_action IS 'Who did what to which deliveries, when and why.';
COMMENT ON COLUMN operator_action.role IS 'As what the actor was let in: cli, operator.';
COMMENT ON COLUMN operator_action.filter IS 'The deliveries that were meant, in words; nothing personal.';
COMMENT ON COLUMN operator_action.counts IS 'What the dry run had said.';
COMMENT ON COLUMN operator_action.changed IS 'Written at the end; until then count operator_action_delivery.';
COMMENT ON COLUMN operator_action.finished_at IS 'Null: it broke off, or is still at it.';

CREATE TABLE operator_action_delivery (
    action_id   bigint  NOT NULL REFERENCES operator_action ON DELETE CASCADE,
    delivery_id bigint  NOT NULL REFERENCES push_log ON DELETE CASCADE,
    was         text    NOT NULL,
    attempt     integer NOT NULL,
    PRIMARY KEY (action_id, delivery_id)
);

COMMENT ON TABLE operator_action_delivery IS 'The deliveries that an act changed; goes with its delivery when that is pruned.';
COMMENT ON COLUMN operator_action_delivery.was IS 'The status before.';
COMMENT ON COLUMN operator_action_delivery.attempt IS 'The attempt before.';

CREATE INDEX operator_action_delivery_delivery ON operator_action_delivery (delivery_id);

-- What went wrong, newest first: partial, so that the delivery that goes well pays nothing for them.
CREATE INDEX push_log_trouble ON push_log (status, id)
    WHERE status IN ('failed', 'deferred', 'queued', 'unknown', 'undelivered', 'dead', 'expired', 'skipped');
CREATE INDEX push_log_error_code ON push_log (error_code, id) WHERE error_code IS NOT NULL;

-- +goose StatementBegin
-- The first row id that was created at or after t, as if ids had been given in the order of created_at: they are, but
-- for what stood in line. Some twenty look-ups in the primary key, however long the log, where an index on created_at
-- would cost each write. Ask a little earlier than you mean.
CREATE FUNCTION push_log_id_at(t timestamptz) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    low    bigint;
    high   bigint;
    middle bigint;
    found  record;
BEGIN
    SELECT min(id), max(id) + 1 INTO low, high FROM push_log;
    WHILE low < high LOOP
        middle := low + (high - low) / 2;
        SELECT id, created_at INTO found FROM push_log WHERE id >= middle ORDER BY id LIMIT 1;
        IF found.created_at >= t THEN
            high := middle;
        ELSE
            low := found.id + 1;
        END IF;
    END LOOP;
    RETURN coalesce(low, 0);
END
$$;
-- +goose StatementEnd

-- Deliveries by the hour of their creation, as they stand: what charts and statistics over long ranges read. The
-- compensator counts an hour again when one of its rows has changed, so counting twice changes nothing.
CREATE TABLE push_hourly (
    hour       timestamptz NOT NULL,
    biz_type   text        NOT NULL,
    action     text        NOT NULL,
    provider   text        NOT NULL,
    status     text        NOT NULL,
    error_code text        NOT NULL,
    count      bigint      NOT NULL CHECK (count > 0),
    latency    bigint[]    NOT NULL,
    PRIMARY KEY (hour, biz_type, action, provider, status, error_code)
);

COMMENT ON TABLE push_hourly IS 'Deliveries by the hour of their creation, as they stood at push_hourly_state.counted_to.';
COMMENT ON COLUMN push_hourly.provider IS 'Empty: none was named.';
COMMENT ON COLUMN push_hourly.error_code IS 'Empty: no error.';
COMMENT ON COLUMN push_hourly.latency IS 'Of the sent: how many took less than 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300 s from the record to the acceptance, and how many longer; not cumulative.';

CREATE TABLE push_hourly_state (
    only_row     boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    counted_from timestamptz NOT NULL,
    counted_to   timestamptz NOT NULL
);

COMMENT ON TABLE push_hourly_state IS 'How far push_hourly goes; the compensator that counts holds the row.';
COMMENT ON COLUMN push_hourly_state.counted_from IS 'The first hour counted; an older log is counted bit by bit, newest first.';
COMMENT ON COLUMN push_hourly_state.counted_to IS 'All changes before this of rows created in hours gone by are in push_hourly; the hour of this moment is not.';

-- +goose Down
DROP TABLE push_hourly_state;
DROP TABLE push_hourly;
DROP FUNCTION push_log_id_at(timestamptz);
DROP INDEX push_log_error_code;
DROP INDEX push_log_trouble;
DROP TABLE operator_action_delivery;
DROP TABLE operator_action;
