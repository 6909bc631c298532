import type { Database, Queryable } from '../postgres/database.ts';
import { ifAllowed, runWritten } from '../postgres/ensure-login.ts';

/**
 * Roles belong to the server: a login that a deployment has made for one database is a member of the same roles in the
 * other databases of its server. This comment on a login names its database.
 */
const WRITE_MARK = `
  select format('comment on role %I is %L', $1::text,
                'Millrace: login of the database ' || current_database()) as statement`;
const WRITE_ADMISSION = `select format('grant usage on schema millrace to %I', $1::text) as statement`;
const CLOSE = 'revoke usage on schema millrace from millrace_app, millrace_operator, millrace_runtime';
const FIND_SCHEMA = `select from pg_catalog.pg_namespace where nspname = 'millrace'`;

// A login that can become the owner of the schema can do everything in it, with or without USAGE.
const FIND_OTHERS = `
  select r.rolname as login, coalesce(starts_with(d.mark, 'Millrace: login of the database ')
           and d.mark <> 'Millrace: login of the database ' || current_database(), false) as foreign,
         has_schema_privilege(r.oid, 'millrace', 'usage') as "canUse",
         pg_has_role(r.oid, 'millrace_owner', 'member') as "isOwner",
         has_database_privilege(r.oid, current_database(), 'connect') as "canConnect"
    from pg_catalog.pg_roles r, shobj_description(r.oid, 'pg_authid') as d(mark)
    where not r.rolsuper and r.rolname <> current_user
      and r.rolname not in ('millrace_app', 'millrace_operator', 'millrace_runtime', 'millrace_owner')
      and exists (
        select from pg_catalog.pg_auth_members m
          where m.member = r.oid and m.roleid::regrole::text
            in ('millrace_app', 'millrace_operator', 'millrace_runtime', 'millrace_owner'))
    order by r.rolname`;
const WRITE_CONNECT = `
  select format('revoke connect on database %1$I from public; grant connect on database %1$I to ',
                current_database()) as statement,
         quote_ident(current_user) as me,
         array(select quote_ident(r.rolname) from pg_catalog.pg_roles r
                 where shobj_description(r.oid, 'pg_authid') = 'Millrace: login of the database ' || current_database()
                    or r.rolname = any($1::text[])
                 order by 1) as logins`;

interface Other {
  readonly login: string;
  /** Whether a deployment has made it for another database of the server. */
  readonly foreign: boolean;
  readonly canUse: boolean;
  readonly isOwner: boolean;
  readonly canConnect: boolean;
}

/** What logins of other databases of the server can do in this one. */
export interface OtherStages {
  /** Logins of other databases that can use this one with the rights of their roles. */
  readonly users: readonly string[];
  /** Logins that can become the owner of the schema, on a server that stages share; only CONNECT keeps them out. */
  readonly owners: readonly string[];
  /** The statements that keep the owners out. The owner of the database must run them, and they concern all logins. */
  readonly remedy: string;
}

/** Returns whether the database has no schema of Millrace yet. */
export async function isFresh(db: Queryable): Promise<boolean> {
  return (await db.query(FIND_SCHEMA)).rows.length === 0;
}

/**
 * Keeps logins that deployments have made for other databases of this server out of this one. As long as there are
 * none, every member of a role of Millrace can use the schema.
 * @param fresh whether this deployment has created the schema, so that no other login is meant to use it
 */
export async function keepApart(db: Database, logins: readonly string[], fresh: boolean): Promise<OtherStages> {
  for (const login of logins) {
    await ifAllowed(db.transaction((tx) => runWritten(tx, WRITE_MARK, [login])));
  }
  const others = (await readOthers(db)).filter(({ login }) => !logins.includes(login));
  const known = fresh ? [] : others.filter((one) => !one.foreign && !one.isOwner && one.canUse);
  await db.transaction(async (tx) => {
    for (const login of [...logins, ...(isShared(others) ? known.map((one) => one.login) : [])]) {
      await runWritten(tx, WRITE_ADMISSION, [login]);
    }
    if (isShared(others)) await tx.query(CLOSE);
  });
  return findOtherStages(db, logins);
}

/**
 * Finds the logins of other stages. Changes nothing.
 * @param logins those of the deployment; without them, the caller is not the owner, whose login is then unknown
 */
export async function findOtherStages(db: Queryable, logins?: readonly string[]): Promise<OtherStages> {
  const others = (await readOthers(db)).filter(({ login }) => logins?.includes(login) !== true);
  const names = (which: (one: Other) => boolean) => others.filter(which).map(({ login }) => login);
  const { rows } = await db.query<Connect>(WRITE_CONNECT, [logins ?? []]);
  const [row] = rows;
  const owner = logins === undefined ? '<the login of the owner>' : row?.me;
  return {
    users: names(({ foreign, canUse, canConnect, isOwner }) => foreign && canUse && canConnect && !isOwner),
    owners: isShared(others) ? names(({ isOwner, canConnect }) => isOwner && canConnect) : [],
    remedy: `${row?.statement}${[owner, ...(row?.logins ?? [])].join(', ')}`,
  };
}

interface Connect {
  readonly statement: string;
  readonly me: string;
  readonly logins: readonly string[];
}

function isShared(others: readonly Other[]): boolean {
  return others.some(({ foreign }) => foreign);
}

async function readOthers(db: Queryable): Promise<Other[]> {
  return (await db.query<Other>(FIND_OTHERS)).rows;
}
