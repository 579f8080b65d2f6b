-- Only whoever stored a profile, and admins, may replace it.
ALTER TABLE profiles ADD COLUMN user TEXT NOT NULL DEFAULT '';
