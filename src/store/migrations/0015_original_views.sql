-- The tables of the original Schedulearn, for programs that read its database: read-only views with its columns. Jobs
-- that were deleted through its API are left out, as in its list.
CREATE VIEW schedulearn(configuration, value) AS
  SELECT 'algorithm', (SELECT name FROM policies ORDER BY rowid DESC LIMIT 1)
  UNION ALL SELECT key, value FROM settings WHERE key = 'last_server' AND value <> '';

CREATE VIEW job(id, name, type, container_name, container_image, command, created_at, started_at, completed_at,
                estimated_completion_time, required_gpus, no_of_migrations, trained_at, status, at_gpus, error) AS
  SELECT id, name,
    json_extract(spec_json, '$.framework'),
    CASE WHEN json_extract(spec_json, '$.image') IS NOT NULL THEN
      (SELECT 'schedulearn-' || job_id || '.' || attempt || '.' || incarnation || '.' || cluster || '-0' FROM placements
       WHERE job_id = jobs.id AND rank = 0 ORDER BY incarnation DESC LIMIT 1) END,
    json_extract(spec_json, '$.image'),
    json_extract(spec_json, '$.command'),
    strftime('%Y-%m-%d %H:%M:%S', submitted_us / 1000000, 'unixepoch') || printf('.%03d', submitted_us / 1000 % 1000),
    strftime('%Y-%m-%d %H:%M:%S', first_start_us / 1000000, 'unixepoch') || printf('.%03d', first_start_us / 1000 % 1000),
    strftime('%Y-%m-%d %H:%M:%S', finished_us / 1000000, 'unixepoch') || printf('.%03d', finished_us / 1000 % 1000),
    (SELECT strftime('%Y-%m-%d %H:%M:%S', p50_us / 1000000, 'unixepoch') || printf('.%03d', p50_us / 1000 % 1000) FROM estimates
     WHERE job_id = jobs.id AND target = 'finish' AND jobs.finished_us IS NULL ORDER BY shown_us DESC LIMIT 1),
    coalesce(json_extract(spec_json, '$.gpus.max'), 1),
    migrations, nullif(server, ''),
    CASE state WHEN 'pending' THEN 'Pending' WHEN 'held' THEN 'Pending' WHEN 'starting' THEN 'Running'
      WHEN 'running' THEN 'Running' WHEN 'succeeded' THEN 'Completed' WHEN 'failed' THEN 'Error'
      WHEN 'cancelled' THEN 'Error' WHEN 'migrating' THEN 'Migrating' WHEN 'resizing' THEN 'ScalingOut'
      ELSE 'Suspended' END,
    nullif(gpus, ''), nullif(failure_message, '')
  FROM jobs WHERE NOT EXISTS (SELECT 1 FROM settings WHERE key = 'hidden_job:' || jobs.id AND value <> '');

CREATE VIEW server(id, host_name) AS SELECT rowid, name FROM servers WHERE description_json <> '';

CREATE VIEW gpu(id, identifier, occupied, job_id, server_id) AS
  SELECT holders.server_id * 1000 + holders.gpu, holders.name || '-' || holders.gpu, holders.job_id IS NOT NULL,
    holders.job_id, holders.server_id
  FROM (
    SELECT servers.rowid AS server_id, servers.name AS name, json_extract(report.value, '$.index') AS gpu,
      (SELECT max(jobs.id) FROM jobs WHERE finished_us IS NULL AND jobs.server = servers.name
         AND jobs.state NOT IN ('pending', 'held')
         AND ',' || jobs.gpus || ',' LIKE '%,' || json_extract(report.value, '$.index') || ',%') AS job_id
    FROM servers, json_each(servers.description_json, '$.gpus') AS report
    WHERE servers.description_json <> '') AS holders;

CREATE TRIGGER hidden_job_removed AFTER DELETE ON jobs
  BEGIN DELETE FROM settings WHERE key = 'hidden_job:' || old.id; END;
