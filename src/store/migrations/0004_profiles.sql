-- What a job has told of its training; profiles of families of trainings.
ALTER TABLE jobs ADD COLUMN telemetry_json TEXT NOT NULL DEFAULT '';
CREATE TABLE profiles (
  family TEXT PRIMARY KEY,
  profile_json TEXT NOT NULL,
  at_us BIGINT NOT NULL
);
