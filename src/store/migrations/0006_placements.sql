-- Which cluster this is, and where the incarnations of jobs run or ran. Those from before this step have the number 0.
INSERT INTO settings(key, value) VALUES('cluster_id', lower(hex(randomblob(8))));
CREATE TABLE placements (
  job_id BIGINT NOT NULL,
  incarnation BIGINT NOT NULL,
  server TEXT NOT NULL,
  rank BIGINT NOT NULL,
  attempt BIGINT NOT NULL,
  cluster TEXT NOT NULL,
  gpus TEXT NOT NULL,
  gpu_uuids TEXT NOT NULL,
  ended_us BIGINT,
  PRIMARY KEY(job_id, incarnation, server)
) WITHOUT ROWID;
INSERT INTO placements
  SELECT id, 0, server, 0, attempt, '', gpus, '',
         CASE WHEN state IN ('starting', 'running', 'stopping') THEN NULL ELSE state_since_us END
  FROM jobs WHERE attempt > 0 AND server <> '';
