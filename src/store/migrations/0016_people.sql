-- Who may ask: users with a role, and their named tokens, of which only a hash is kept. What admins tell all of them.
CREATE TABLE users(
  made_us BIGINT NOT NULL,
  name TEXT NOT NULL PRIMARY KEY, role TEXT NOT NULL, by_whom TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE tokens(
  made_us BIGINT NOT NULL, expires_us BIGINT NOT NULL, used_us BIGINT NOT NULL,
  id TEXT NOT NULL PRIMARY KEY, hash TEXT NOT NULL, user_name TEXT NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL,
  by_whom TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE announcements(
  made_us BIGINT NOT NULL, until_us BIGINT NOT NULL,
  id TEXT NOT NULL PRIMARY KEY, text TEXT NOT NULL, by_whom TEXT NOT NULL
) WITHOUT ROWID;
