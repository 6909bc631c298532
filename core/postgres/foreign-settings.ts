import type pg from 'pg';

/**
 * Settings of a role, a database or a server that change how Postgres plans our statements, or whether it has written
 * a commit to disk when it says so, and the name under which it records what we do. They are the same for every connection of a login, and mostly there are none, so
 * they are looked up once for each connection instead of being sent with each transaction.
 */
const FIND_FOREIGN_SETTINGS = `
  select coalesce(string_agg(format('set local %I = %L; ', s.name, coalesce(w.value, s.boot_val)), ''), '')
         || case when current_setting('millrace.actor', true) <> '' then 'set local millrace.actor = ''''; ' else '' end
         as text
    from pg_settings s
    left join (values ('synchronous_commit', 'off', 'on')) as w(name, refused, value) on w.name = s.name
    where s.context = 'user' and s.setting <> s.boot_val
      and case when w.name is not null then s.setting = w.refused
               else s.category like 'Query Tuning / %' and s.name not in ('jit', 'effective_cache_size') end`;

const texts = new WeakMap<pg.PoolClient, string>();

/** Looks up the settings of a new connection; `find` runs a statement in a transaction with our other settings. */
export async function readForeignSettings(
  client: pg.PoolClient,
  find: (text: string) => Promise<{ rows: { text: string }[] }>,
): Promise<void> {
  if (texts.has(client)) return;
  const { rows } = await find(FIND_FOREIGN_SETTINGS);
  texts.set(client, rows[0]?.text ?? '');
}

/** Returns the statements that undo these settings for a transaction. */
export function undoForeignSettings(client: pg.PoolClient): string {
  return texts.get(client) ?? '';
}
