-- How a policy that only watches (a shadow) would have done instead of the one in force, as of `at_us`, for the jobs since
-- `since_us`. `mean_us`: the difference; in 8 of 10 futures it is between `low_us` and `high_us`.
CREATE TABLE regrets(
  at_us BIGINT NOT NULL PRIMARY KEY, since_us BIGINT NOT NULL,
  jobs BIGINT NOT NULL, draws BIGINT NOT NULL,
  in_force_us BIGINT NOT NULL, shadow_us BIGINT NOT NULL,
  mean_us BIGINT NOT NULL, low_us BIGINT NOT NULL, high_us BIGINT NOT NULL,
  in_force TEXT NOT NULL, shadow TEXT NOT NULL
);
