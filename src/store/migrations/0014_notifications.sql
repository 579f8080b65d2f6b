-- Where users want to be told of their jobs, and what was sent there. `next_us`: 0 once it is over.
CREATE TABLE channels(
  owner TEXT NOT NULL, name TEXT NOT NULL,
  settings_json TEXT NOT NULL,
  PRIMARY KEY(owner, name)
) WITHOUT ROWID;
CREATE TABLE deliveries(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  made_us BIGINT NOT NULL, next_us BIGINT NOT NULL, tried_us BIGINT NOT NULL,
  tries BIGINT NOT NULL, status BIGINT NOT NULL, job_id BIGINT,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL, channel TEXT NOT NULL, receiver TEXT NOT NULL, user_name TEXT NOT NULL,
  event TEXT NOT NULL, state TEXT NOT NULL, why TEXT NOT NULL, body TEXT NOT NULL
);
CREATE INDEX open_deliveries ON deliveries(next_us) WHERE next_us > 0;
