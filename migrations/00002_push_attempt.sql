-- +goose Up

-- The attempts before the row's current one. The usual delivery has none: its only attempt is in push_log.
CREATE TABLE push_attempt (
    delivery_id     bigint      NOT NULL REFERENCES push_log ON DELETE CASCADE,
    attempt         integer     NOT NULL CHECK (attempt >= 1),
    provider        text,
    outcome         text        NOT NULL,
    provider_msg_id text,
    error_code      text,
    error_message   text,
    started_at      timestamptz NOT NULL,
    finished_at     timestamptz NOT NULL,
    owner           text        NOT NULL,
    worker          text,
    PRIMARY KEY (delivery_id, attempt)
);

COMMENT ON TABLE push_attempt IS 'Attempts before the current one of push_log, filed by the trigger push_log_next_attempt when the next begins.';
COMMENT ON COLUMN push_attempt.outcome IS 'As push_log.outcome; lost when the attempt''s owner never said what became of it.';
COMMENT ON COLUMN push_attempt.finished_at IS 'When the outcome was written; of a lost attempt, when it was taken over.';

-- +goose StatementBegin
-- Files the attempt that ends and clears the row for the next, for every statement that raises the number: a
-- statement cannot forget it, and none can make the number go back. An attempt that never began leaves no trace.
CREATE FUNCTION push_log_next_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.attempt < OLD.attempt THEN
        RAISE EXCEPTION 'attempt of delivery % goes back from % to %', OLD.id, OLD.attempt, NEW.attempt
            USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.intent_at IS NOT NULL THEN
        INSERT INTO push_attempt (delivery_id, attempt, provider, outcome, provider_msg_id, error_code, error_message,
            started_at, finished_at, owner, worker)
        VALUES (OLD.id, OLD.attempt, OLD.provider, coalesce(OLD.outcome, 'lost'), OLD.provider_msg_id,
            CASE WHEN OLD.outcome IS NOT NULL THEN OLD.error_code END,
            CASE WHEN OLD.outcome IS NOT NULL THEN OLD.error_message END,
            OLD.intent_at, coalesce(OLD.finished_at, now()), OLD.owner, OLD.worker);
    END IF;
    NEW.outcome := NULL;
    NEW.finished_at := NULL;
    NEW.provider_msg_id := NULL;
    NEW.published_at := NULL;
    NEW.ask_count := 0;
    NEW.next_ask_at := NULL;
    IF NEW.status <> 'sending' THEN
        NEW.owner := NULL;
        NEW.worker := NULL;
        NEW.intent_at := NULL;
        NEW.lease_until := NULL;
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER push_log_next_attempt BEFORE UPDATE OF attempt ON push_log
    FOR EACH ROW WHEN (NEW.attempt <> OLD.attempt) EXECUTE FUNCTION push_log_next_attempt();

-- All attempts of a delivery, the current one included; outcome of the current one is the row's status while no
-- outcome is written.
CREATE VIEW push_timeline AS
SELECT delivery_id, attempt, provider, outcome, provider_msg_id, error_code, error_message, started_at, finished_at,
    owner, worker, false AS current
FROM push_attempt
UNION ALL
SELECT id, attempt, provider, coalesce(outcome, status), provider_msg_id,
    CASE WHEN outcome IS NOT NULL OR settled_at IS NOT NULL OR status = 'unknown' THEN error_code END,
    CASE WHEN outcome IS NOT NULL OR settled_at IS NOT NULL OR status = 'unknown' THEN error_message END,
    intent_at, finished_at, owner, worker, true
FROM push_log;

COMMENT ON VIEW push_timeline IS 'Every attempt of every delivery; order by attempt.';

-- +goose Down
DROP VIEW push_timeline;
DROP TRIGGER push_log_next_attempt ON push_log;
DROP FUNCTION push_log_next_attempt();
DROP TABLE push_attempt;
