-- Which process wrote a change, as the number that its connection names: by it a daemon tells the changes that it knows
-- from others that took their places after these were lost. Of a program of an earlier step there is none.
ALTER TABLE siteconf.change ADD writer bigint;
ALTER TABLE siteconf.change
    ALTER writer SET DEFAULT nullif(current_setting('siteconf.writer', true), '')::bigint;
