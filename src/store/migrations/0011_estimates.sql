-- Ranges in which jobs were expected to start or finish, as they were shown, and what became of them. `raw_`: before they
-- were widened or narrowed by how earlier ones held. `actual_us`: null until it has happened; 0: the job was cancelled.
CREATE TABLE estimates(
  job_id BIGINT NOT NULL, shown_us BIGINT NOT NULL,
  p10_us BIGINT NOT NULL, p50_us BIGINT NOT NULL, p90_us BIGINT NOT NULL,
  raw_p10_us BIGINT NOT NULL, raw_p50_us BIGINT NOT NULL, raw_p90_us BIGINT NOT NULL,
  actual_us BIGINT,
  target TEXT NOT NULL, policy TEXT NOT NULL, basis TEXT NOT NULL,
  PRIMARY KEY(job_id, target, shown_us)
) WITHOUT ROWID;
CREATE INDEX estimates_by_time ON estimates(shown_us);
