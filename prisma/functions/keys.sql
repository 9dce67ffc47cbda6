-- The Signal keys of an account and the journal of its decrypted stanzas.

-- Stores what one group commit has: keys to delete, journal entries, keys to write, in parallel arrays. Returns 1, or 0
-- when the lease of p_owner and p_epoch is no longer valid and nothing was written (lease_held). Each row is found by its
-- primary key, and the plans are made once for each connection: a statement over `unnest` is planned for every message,
-- and while a new table has no statistics it reads all keys of the account.
CREATE OR REPLACE FUNCTION commit_keys(
  p_account text, p_owner text, p_epoch bigint, p_generation integer,
  p_deleted_categories text[], p_deleted_ids text[],
  p_hashes text[], p_orders bigint[], p_wa_ids text[], p_plaintexts text[], p_stanzas text[],
  p_categories text[], p_ids text[], p_values text[]
) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM lease_held(p_account, p_owner, p_epoch);
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  FOR i IN 1 .. cardinality(p_deleted_ids) LOOP
    DELETE FROM auth_key WHERE account_id = p_account AND generation = p_generation
      AND category = p_deleted_categories[i] AND key_id = p_deleted_ids[i];
  END LOOP;
  FOR i IN 1 .. cardinality(p_hashes) LOOP
    INSERT INTO journal (account_id, ciphertext_hash, stanza_order, wa_message_id, plaintext, stanza)
      VALUES (p_account, p_hashes[i], p_orders[i], p_wa_ids[i],
        decode(p_plaintexts[i], 'base64'), decode(p_stanzas[i], 'base64'))
      ON CONFLICT (account_id, ciphertext_hash) DO NOTHING;
  END LOOP;
  FOR i IN 1 .. cardinality(p_ids) LOOP
    INSERT INTO auth_key (account_id, generation, category, key_id, value)
      VALUES (p_account, p_generation, p_categories[i], p_ids[i], p_values[i])
      ON CONFLICT (account_id, generation, category, key_id) DO UPDATE SET value = excluded.value;
  END LOOP;
  RETURN 1;
END $$;
