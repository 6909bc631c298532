import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { RegistryError, SettingError } from '../errors.ts';
import type { Database, Queryable } from './database.ts';
import { errorCode } from './statement-errors.ts';

/** The roles of which a login can be a member. */
export type DatabaseRole = 'millrace_app' | 'millrace_operator' | 'millrace_runtime';

// The verifier of a password cannot be a parameter of CREATE ROLE, and format() quotes it.
const WRITE_LOGIN = `
  select format(case when exists (select from pg_catalog.pg_roles where rolname = $1)
                  then 'alter role %I login password %L' else 'create role %I login password %L' end,
                $1::text, $2::text) as statement`;
const WRITE_TOKEN_LOGIN = `
  select format(case when exists (select from pg_catalog.pg_roles where rolname = $1)
                  then 'alter role %I login' else 'create role %I login' end, $1::text) as statement`;
const WRITE_GRANT = `select format('grant %I to %I', $1::text, $2::text) as statement`;
const WRITE_REVOKE = `select format('revoke %I from %I', $1::text, $2::text) as statement`;
/** The role by which RDS and Aurora know the logins that IAM authenticates. */
const IAM_ROLE = 'rds_iam';
const FIND_IAM = `
  select exists (select from pg_catalog.pg_roles l
                   where l.rolname = $2 and pg_catalog.pg_has_role(l.oid, r.oid, 'member')) as member
    from pg_catalog.pg_roles r where r.rolname = $1`;
// RDS refuses the password of a login that inherits the rights of a member, too. From 16 on, who creates a role is a
// member of it, but does not inherit its rights, unless the setting createrole_self_grant says so.
const FIND_HEIR = `
  select from pg_catalog.pg_roles me, pg_catalog.pg_roles l
    where me.rolname = current_user and not me.rolsuper and l.rolname = $1
      and pg_catalog.pg_has_role(me.oid, l.oid, 'usage')`;
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

const ITERATIONS = 4096;
const derive = promisify(pbkdf2);

/** A login, and the role of which it is a member. */
export interface WantedLogin {
  readonly name: string;
  /** Missing for a login that IAM authenticates. */
  readonly password?: string;
  readonly role: DatabaseRole;
}

/**
 * Creates a login or changes its password, and makes it a member of a role. Requires CREATEROLE. The password of a
 * login that this user may not alter stays unchanged.
 * @throws SettingError if IAM should authenticate the login on a server that is neither RDS nor Aurora
 * @throws RegistryError if this user may not change how RDS authenticates the login
 */
export async function ensureLogin(db: Database, { name, password, role }: WantedLogin): Promise<void> {
  const run = (text: string, values: readonly string[]) => db.transaction((tx) => runWritten(tx, text, values));
  if (password === undefined) {
    if ((await isOfIam(db, name)) === undefined) throw noIam();
    await ifAllowed(run(WRITE_TOKEN_LOGIN, [name]));
  } else {
    await ifAllowed(run(WRITE_LOGIN, [name, await verifierOf(password)]));
  }
  if (role === 'millrace_runtime') {
    await ifAllowed(run(WRITE_LIMITS, [name]));
    await chooseIam(db, name, password === undefined);
  }
  await run(WRITE_GRANT, [role, name]);
}

/** RDS refuses the password of a login that is a member of its role for IAM. */
async function chooseIam(db: Database, name: string, wanted: boolean): Promise<void> {
  const is = await isOfIam(db, name);
  if (is === undefined || is === wanted) return;
  if (wanted && (await db.query(FIND_HEIR, [name])).rowCount > 0) throw heir(name);
  const text = wanted ? WRITE_GRANT : WRITE_REVOKE;
  await ifAllowed(db.transaction((tx) => runWritten(tx, text, [IAM_ROLE, name])));
  // Postgres only warns if another user has granted the role that it should revoke.
  if ((await isOfIam(db, name)) === wanted) return;
  const statement = wanted ? `grant ${IAM_ROLE} to ${name}` : `revoke ${IAM_ROLE} from ${name}`;
  throw new RegistryError(
    `the owner's login may not change how RDS authenticates the login ${name}: run "${statement}" as one who may, ` +
      'such as the administrator of the server, and deploy again',
  );
}

/** Returns whether IAM authenticates a login; undefined on a server that is neither RDS nor Aurora. */
async function isOfIam(db: Queryable, name: string): Promise<boolean | undefined> {
  return (await db.query<{ member: boolean }>(FIND_IAM, [IAM_ROLE, name])).rows[0]?.member;
}

function heir(name: string): RegistryError {
  return new RegistryError(
    `the owner's login inherits the rights of the login ${name}, so RDS would refuse its password with databaseLogin=iam: ` +
      `run "revoke ${name} from current_user" as the owner, and deploy again`,
  );
}

function noIam(): SettingError {
  const expected = `password, since the server has no role ${IAM_ROLE} and is therefore neither RDS nor Aurora`;
  return new SettingError('databaseLogin', expected, 'iam');
}

/**
 * Returns what Postgres stores in place of a password (RFC 5802, RFC 7677). The password itself would appear in the log
 * of the server: always with `log_statement=ddl`, and by default when the server refuses the statement.
 */
export async function verifierOf(password: string, salt = randomBytes(16)): Promise<string> {
  const salted = await derive(prepared(password), salt, ITERATIONS, 32, 'sha256');
  const keyOf = (text: string) => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(keyOf('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${keyOf('Server Key').toString('base64')}`;
}

// SASLprep (RFC 4013) as `pg` applies it to the password of a login. libpq and the server differ only for a password
// that this changes and that also contains a character that SASLprep prohibits: they use such a password unchanged.
const SPACES = /[\u00A0\u1680\u2000-\u200B\u202F\u205F\u3000]/g;
const IGNORED = /\u00AD|\u034F|\u1806|[\u180B-\u180D]|\u200C|\u200D|\u2060|[\uFE00-\uFE0F]|\uFEFF/g;

function prepared(password: string): string {
  return password.replace(SPACES, ' ').replace(IGNORED, '').normalize('NFKC');
}

/** Waits for work on a login, without an error if another login has created it and manages its rights. */
export async function ifAllowed(work: Promise<void>): Promise<void> {
  await work.catch((error: unknown) => {
    if (errorCode(error) !== INSUFFICIENT_PRIVILEGE) throw error;
  });
}

/** Runs the statement that `text` selects: a name or a password cannot be a parameter of statements on roles. */
export async function runWritten(tx: Queryable, text: string, values: readonly string[]): Promise<void> {
  const { rows } = await tx.query<{ statement: string }>(text, [...values]);
  await tx.query(rows[0]?.statement ?? '');
}
