-- +goose Up

-- What a provider said about an attempt in doubt that proves nothing: for people.
ALTER TABLE push_log ADD COLUMN hint text;

COMMENT ON COLUMN push_log.hint IS 'What the provider told of an attempt in doubt without proving it ours, such as a message to the same number; of the current attempt, decides nothing.';

-- +goose StatementBegin
-- As in 00002; the hint ends with its attempt.
CREATE OR REPLACE FUNCTION push_log_next_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
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
    NEW.hint := NULL;
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

-- +goose Down

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION push_log_next_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
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

ALTER TABLE push_log DROP COLUMN hint;
