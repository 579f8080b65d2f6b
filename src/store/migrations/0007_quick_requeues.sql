-- How often in a row the job has asked, soon after its start, to be started again.
ALTER TABLE jobs ADD COLUMN quick_requeues BIGINT NOT NULL DEFAULT 0;
