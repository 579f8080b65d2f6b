-- The past: how many jobs ended how, lists of them by user and by state, and which were removed by the retention rule.
CREATE TABLE finished_totals (
  state TEXT PRIMARY KEY,
  jobs BIGINT NOT NULL
);
INSERT INTO finished_totals SELECT state, count(*) FROM jobs WHERE finished_us IS NOT NULL GROUP BY state;
CREATE TRIGGER job_came_finished AFTER INSERT ON jobs WHEN new.finished_us IS NOT NULL
  BEGIN INSERT INTO finished_totals VALUES(new.state, 1) ON CONFLICT(state) DO UPDATE SET jobs = jobs + 1; END;
CREATE TRIGGER job_finished AFTER UPDATE OF finished_us ON jobs WHEN old.finished_us IS NULL AND new.finished_us IS NOT NULL
  BEGIN INSERT INTO finished_totals VALUES(new.state, 1) ON CONFLICT(state) DO UPDATE SET jobs = jobs + 1; END;
CREATE TRIGGER job_removed AFTER DELETE ON jobs WHEN old.finished_us IS NOT NULL
  BEGIN UPDATE finished_totals SET jobs = jobs - 1 WHERE state = old.state; END;
CREATE INDEX finished_jobs_of_user ON jobs(user_name) WHERE finished_us IS NOT NULL;
CREATE INDEX finished_jobs_by_name ON jobs(name, state, user_name) WHERE finished_us IS NOT NULL;
CREATE INDEX finished_jobs_in_state ON jobs(state) WHERE finished_us IS NOT NULL;
CREATE INDEX events_of_no_job ON events(at_us) WHERE job_id IS NULL;
-- Ids without a gap that were removed together. No range overlaps another.
CREATE TABLE removed_jobs (
  first_id INTEGER PRIMARY KEY,
  last_id BIGINT NOT NULL,
  at_us BIGINT NOT NULL,
  rule TEXT NOT NULL
);
