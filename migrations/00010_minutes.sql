-- The running hour, minute by minute: what charts and statistics read of it instead of each of its rows.

-- +goose Up
CREATE TABLE push_minute (
    minute     timestamptz NOT NULL,
    biz_type   text        NOT NULL,
    action     text        NOT NULL,
    provider   text        NOT NULL,
    status     text        NOT NULL,
    error_code text        NOT NULL,
    count      bigint      NOT NULL CHECK (count > 0),
    latency    bigint[]    NOT NULL,
    PRIMARY KEY (minute, biz_type, action, provider, status, error_code)
);

COMMENT ON TABLE push_minute IS 'Deliveries by the minute of their creation, of the hour of push_hourly_state.counted_to, as they stood at minutes_at; otherwise as push_hourly.';

ALTER TABLE push_hourly_state
    ADD COLUMN minutes_to timestamptz NOT NULL DEFAULT '-infinity',
    ADD COLUMN minutes_at timestamptz NOT NULL DEFAULT '-infinity';

COMMENT ON COLUMN push_hourly_state.minutes_to IS 'The minutes of the hour of counted_to that lie before this are in push_minute; before that hour: none is.';
COMMENT ON COLUMN push_hourly_state.minutes_at IS 'All changes before this of rows created in those minutes are in push_minute.';

-- +goose Down
ALTER TABLE push_hourly_state DROP COLUMN minutes_at, DROP COLUMN minutes_to;
DROP TABLE push_minute;
