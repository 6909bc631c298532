import type { Database } from '../database.ts';

/** The roles that a login can be given. */
export type Role = 'millrace_app' | 'millrace_operator' | 'millrace_runtime';

// A password cannot be a parameter of CREATE ROLE, and format() quotes it.
const WRITE_LOGIN = `
  select format(case when exists (select from pg_catalog.pg_roles where rolname = $1)
                  then 'alter role %I login password %L' else 'create role %I login password %L' end,
                $1::text, $2::text) as statement`;
const WRITE_GRANT = `select format('grant %I to %I', $1::text, $2::text) as statement`;

/** Makes a login, or renews its password, and makes it a member of a role. Needs CREATEROLE. */
export async function ensureLogin(
  db: Database,
  { name, password, role }: { name: string; password: string; role: Role },
): Promise<void> {
  await db.transaction(async (tx) => {
    for (const [text, values] of [
      [WRITE_LOGIN, [name, password]],
      [WRITE_GRANT, [role, name]],
    ] as const) {
      const { rows } = await tx.query<{ statement: string }>(text, values);
      await tx.query(rows[0]?.statement ?? '');
    }
  });
}
