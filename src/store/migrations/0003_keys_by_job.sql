-- Idempotency keys in the order of their jobs: written at the end, forgotten from the beginning, whatever the keys are.
-- They are looked up in memory, so that a second index would only be written.
CREATE TABLE keys_of_jobs (
  job_id INTEGER PRIMARY KEY,
  at_us BIGINT NOT NULL,
  key TEXT NOT NULL,
  body_hash TEXT NOT NULL
);
INSERT OR REPLACE INTO keys_of_jobs SELECT job_id, at_us, key, body_hash FROM idempotency_keys;
DROP TABLE idempotency_keys;
