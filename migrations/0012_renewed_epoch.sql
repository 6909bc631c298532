-- Whoever renews the epoch reads what that did, and not only twelve characters.
create or replace function millrace.renew_epoch() returns text
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
declare
  renewed text;
begin
  update millrace.installation set epoch = substr(md5(random()::text || clock_timestamp()::text), 1, 12)
    returning epoch into renewed;
  raise notice 'the epoch is now %: messages that were sent before are of another database, and run nothing', renewed;
  return renewed;
end $$;
