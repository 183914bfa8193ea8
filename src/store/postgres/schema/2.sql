-- What a store says of itself to who opens it. That the column "schema" is missing says step 1.

ALTER TABLE siteconf.format
    -- The last step that was taken.
    ADD schema     int  NOT NULL DEFAULT 1,
    -- The step that a program must know to write. A step that what came before it would harm raises it.
    ADD writer_min int  NOT NULL DEFAULT 1,
    -- Only one that is ready is opened; what a copy has begun is for that copy alone.
    ADD state      text NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'copying')),
    -- Of one that is not: what is copied, so that no other copy goes on with it.
    ADD copy_of    text;
