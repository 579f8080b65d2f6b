-- Times are microseconds since 1970 (UTC), amounts say their unit. BIGINT everywhere: SOCI reads INTEGER as 32 bits.
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY,
  submitted_us BIGINT NOT NULL,
  state_since_us BIGINT NOT NULL,
  first_start_us BIGINT,
  last_start_us BIGINT,
  finished_us BIGINT,
  attempt BIGINT NOT NULL,
  run_us BIGINT NOT NULL,
  attained_gpu_us BIGINT NOT NULL,
  preemptions BIGINT NOT NULL,
  migrations BIGINT NOT NULL,
  resizes BIGINT NOT NULL,
  failures BIGINT NOT NULL,
  priority BIGINT NOT NULL,
  held BIGINT NOT NULL,
  cancel_requested BIGINT NOT NULL,
  exit_code BIGINT,
  signal BIGINT,
  annotation_micro BIGINT NOT NULL,
  user_name TEXT NOT NULL,
  name TEXT NOT NULL,
  spec_json TEXT NOT NULL,
  state TEXT NOT NULL,
  server TEXT NOT NULL,
  gpus TEXT NOT NULL,
  failure_kind TEXT NOT NULL,
  failure_message TEXT NOT NULL,
  progress_json TEXT NOT NULL,
  extra_json TEXT NOT NULL
);
CREATE INDEX jobs_unfinished ON jobs(id) WHERE finished_us IS NULL;
CREATE INDEX jobs_finished ON jobs(finished_us) WHERE finished_us IS NOT NULL;
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  at_us BIGINT NOT NULL,
  job_id BIGINT,
  kind TEXT NOT NULL,
  server TEXT NOT NULL,
  actor_type TEXT NOT NULL,
  actor_name TEXT NOT NULL,
  from_state TEXT NOT NULL,
  to_state TEXT NOT NULL,
  text TEXT NOT NULL,
  data_json TEXT NOT NULL
);
CREATE INDEX events_of_job ON events(job_id, seq) WHERE job_id IS NOT NULL;
CREATE TABLE policies (
  since_us BIGINT NOT NULL,
  name TEXT NOT NULL,
  parameters_json TEXT NOT NULL,
  by_whom TEXT NOT NULL
);
CREATE TABLE idempotency_keys (
  key TEXT PRIMARY KEY,
  body_hash TEXT NOT NULL,
  job_id BIGINT NOT NULL,
  at_us BIGINT NOT NULL
);
CREATE TABLE servers (
  name TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL,
  description_json TEXT NOT NULL,
  last_contact_us BIGINT NOT NULL
);
CREATE TABLE settings (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
);
