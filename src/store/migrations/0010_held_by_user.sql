-- `held` says from now on that its user holds the job, not that it is in the state "held": a job that only waits to be
-- started again is in that state too.
UPDATE jobs SET held = 0 WHERE attempt > 0;
