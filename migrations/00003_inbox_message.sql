-- +goose Up

-- The in-app messages themselves: what the app shows its user.
CREATE TABLE inbox_message (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    delivery_id bigint      NOT NULL UNIQUE,
    user_id     text        NOT NULL,
    title       text        NOT NULL,
    body        text        NOT NULL,
    data        json,
    created_at  timestamptz NOT NULL DEFAULT now(),
    read_at     timestamptz
);

COMMENT ON TABLE inbox_message IS 'In-app messages; each commits with its delivery''s result, so an attempt whose answer is lost may simply be repeated.';
COMMENT ON COLUMN inbox_message.delivery_id IS 'push_log.id; unique: one message a delivery. No foreign key: the log is pruned by age, the inbox is the user''s.';
COMMENT ON COLUMN inbox_message.read_at IS 'Set by the app when the user has read it.';

CREATE INDEX inbox_message_user ON inbox_message (user_id, id DESC);

-- +goose Down
DROP TABLE inbox_message;
