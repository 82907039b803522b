-- How much of the text its client was sent, as long as sent_hash is of that: an answer that is fetched later must begin with it.
ALTER TABLE job ADD COLUMN sent_characters integer; -- UTF-16 code units
