-- The block in which a transaction was seen mined, by hash: a reorganisation can mine it again under the same number. Null in rows
-- from before this column, which are not looked at for that.
ALTER TABLE chain_transaction ADD COLUMN mined_block_hash text;
