import type { Database } from './database.ts';
import { errorCode } from './statement-errors.ts';

/** The roles of which a login can be a member. */
export type DatabaseRole = 'millrace_app' | 'millrace_operator' | 'millrace_runtime';

// A password cannot be a parameter of CREATE ROLE, and format() quotes it.
const WRITE_LOGIN = `
  select format(case when exists (select from pg_catalog.pg_roles where rolname = $1)
                  then 'alter role %I login password %L' else 'create role %I login password %L' end,
                $1::text, $2::text) as statement`;
const WRITE_GRANT = `select format('grant %I to %I', $1::text, $2::text) as statement`;
// A frozen function cannot close its connection, which would otherwise stay open until Lambda ends its environment. The
// other limits are those of core/postgres/transaction.ts, for statements that something else sends with this login.
// While the server sends rows to a client that reads nothing, only `tcp_user_timeout` ends the transaction.
const WRITE_LIMITS = `
  select string_agg(format('alter role %I set %I = %L', $1::text, s.name, l.value), '; ') as statement
    from (values ('idle_session_timeout', '10min'), ('idle_in_transaction_session_timeout', '15s'),
            ('statement_timeout', '35s'), ('transaction_timeout', '60s'), ('jit', 'off'),
            ('client_connection_check_interval', '5s'), ('tcp_keepalives_idle', '30'), ('tcp_user_timeout', '10s'))
           as l(name, value)
    join pg_catalog.pg_settings s using (name)`;
const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Creates a login or changes its password, and makes it a member of a role. Requires CREATEROLE. The password of a
 * login that this user may not alter stays unchanged.
 */
export async function ensureLogin(
  db: Database,
  { name, password, role }: { name: string; password: string; role: DatabaseRole },
): Promise<void> {
  await ifAllowed(execute(db, WRITE_LOGIN, [name, password]));
  if (role === 'millrace_runtime') await ifAllowed(execute(db, WRITE_LIMITS, [name]));
  await execute(db, WRITE_GRANT, [role, name]);
}

async function ifAllowed(work: Promise<void>): Promise<void> {
  await work.catch((error: unknown) => {
    if (errorCode(error) !== INSUFFICIENT_PRIVILEGE) throw error;
  });
}

async function execute(db: Database, text: string, values: readonly string[]): Promise<void> {
  await db.transaction(async (tx) => {
    const { rows } = await tx.query<{ statement: string }>(text, values);
    await tx.query(rows[0]?.statement ?? '');
  });
}
