import type { Queryable } from '../postgres/queryable.ts';

const COUNT_SESSIONS = `
  select count(*)::integer as sessions from pg_stat_activity
    where backend_type = 'client backend' and pid <> pg_backend_pid()`;

// A process opens a session with the name of its database before it creates the database.
const FIND_ABANDONED = `
  select d.datname as name from pg_database d
    where starts_with(d.datname, $1)
      and not exists (select from pg_stat_activity a where a.application_name = d.datname)`;

/** Returns the number of other sessions on the server. */
export async function countSessions(server: Queryable): Promise<number> {
  const { rows } = await server.query<{ sessions: number }>(COUNT_SESSIONS);
  return rows[0]?.sessions ?? 0;
}

/** Returns the databases with this prefix whose process has ended. */
export async function findAbandoned(server: Queryable, prefix: string): Promise<string[]> {
  return (await server.query<{ name: string }>(FIND_ABANDONED, [prefix])).rows.map(({ name }) => name);
}
