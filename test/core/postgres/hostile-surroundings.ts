import pg from 'pg';
import { vi } from 'vitest';

/** Variables that a developer's shell or `.env` may contain for other databases and other accounts. */
export const HOSTILE_VARIABLES: Readonly<Record<string, string>> = {
  ...{ PGHOST: '192.0.2.1', PGHOSTADDR: '192.0.2.1', PGPORT: '1', PGUSER: 'stranger', PGPASSWORD: 'wrong' },
  ...{ PGDATABASE: 'elsewhere', PGPASSFILE: '/nowhere', PGSERVICE: 'elsewhere', PGSERVICEFILE: '/nowhere' },
  ...{ PGSSLMODE: 'require', PGSSLNEGOTIATION: 'direct', PGREQUIRESSL: '1', PGSSLROOTCERT: '/nowhere' },
  ...{ PGOPTIONS: '-c statement_timeout=1', PGAPPNAME: 'other', PGTZ: 'Asia/Tokyo', PGDATESTYLE: 'SQL' },
  ...{ PGCLIENT_ENCODING: 'LATIN1', PGCLIENTENCODING: 'LATIN1', PGREPLICATION: 'database', PGBINARY: 'true' },
  // Read when a process loads pg: see native-driver.test.ts.
  ...{ NODE_PG_FORCE_NATIVE: '1' },
  ...{ PGCONNECT_TIMEOUT: '1', PGTARGETSESSIONATTRS: 'standby', PGCHANNELBINDING: 'require' },
  ...{ AWS_PROFILE: 'stranger', AWS_REGION: 'nowhere-1', AWS_DEFAULT_REGION: 'nowhere-1' },
  ...{ AWS_ACCESS_KEY_ID: 'expired', AWS_SECRET_ACCESS_KEY: 'expired', AWS_SESSION_TOKEN: 'expired' },
  ...{ AWS_ENDPOINT_URL: 'http://192.0.2.1', AWS_ENDPOINT_URL_SQS: 'http://192.0.2.1' },
  ...{ AWS_ENDPOINT_URL_LAMBDA: 'http://192.0.2.1', AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' },
  ...{ AWS_USE_FIPS_ENDPOINT: 'true', AWS_USE_DUALSTACK_ENDPOINT: 'true', AWS_RETRY_MODE: 'none' },
  ...{ AWS_DEFAULTS_MODE: 'none', AWS_MAX_ATTEMPTS: 'many', AWS_AUTH_SCHEME_PREFERENCE: 'httpBearerAuth' },
  ...{ AWS_CONFIG_FILE: '/nowhere', AWS_SHARED_CREDENTIALS_FILE: '/nowhere', AWS_SDK_UA_APP_ID: 'x'.repeat(60) },
};

/** Settings of a role or database that change how statements are parsed, planned and answered. */
export const HOSTILE_SETTINGS: readonly (readonly [name: string, value: string])[] = [
  ['datestyle', "'SQL, DMY'"],
  ['intervalstyle', 'sql_standard'],
  ['timezone', "'Australia/Lord_Howe'"],
  ['client_encoding', 'LATIN1'],
  ['search_path', 'evil, pg_catalog'],
  ['default_transaction_isolation', 'serializable'],
  ['default_transaction_deferrable', 'on'],
  ['standard_conforming_strings', 'off'],
  ['backslash_quote', 'off'],
  ['array_nulls', 'off'],
  ['quote_all_identifiers', 'on'],
  ['bytea_output', 'escape'],
  ['extra_float_digits', '-15'],
  ['xmloption', 'document'],
  ['statement_timeout', "'200ms'"],
  ['lock_timeout', "'1ms'"],
  ['idle_in_transaction_session_timeout', "'1ms'"],
  ['transaction_timeout', "'200ms'"],
  ['jit', 'on'],
  ['jit_above_cost', '0'],
  ['client_min_messages', 'debug1'],
  ['check_function_bodies', 'off'],
  ['row_security', 'off'],
  ['enable_indexscan', 'off'],
  ['enable_hashjoin', 'off'],
  ['join_collapse_limit', '1'],
  ['plan_cache_mode', 'force_generic_plan'],
];

/** Functions that shadow those of Postgres if the search path names their schema first. */
export const EVIL = `
  create schema evil;
  create function evil.cardinality(anyarray) returns integer language sql as 'select 0';
  create function evil.lower(text) returns text language sql as $$ select 'evil' $$;
  create function evil.array_agg(text) returns text language sql as $$ select 'evil' $$;
  create function evil.current_setting(text, boolean) returns text language sql as $$ select null $$;
  create function evil.set_config(text, text, boolean) returns text language sql as $$ select 'evil' $$;
  grant usage on schema evil to public`;

const TYPES = [16, 20, 21, 23, 25, 26, 114, 700, 701, 1009, 1016, 1043, 1184, 1700, 3802];

/**
 * Changes the settings of pg that a handler can change for the whole process; returns a function that restores them.
 */
function spoilDriver(): () => void {
  const parsers = TYPES.map((oid) => [oid, pg.types.getTypeParser(oid)] as const);
  const defaults = { ...pg.defaults };
  for (const oid of TYPES) pg.types.setTypeParser(oid, () => 'not ours');
  Object.assign(pg.defaults, {
    ...{ host: '192.0.2.1', port: 1, user: 'stranger', database: 'elsewhere', ssl: true, binary: true },
    ...{ options: '-c statement_timeout=1', client_encoding: 'LATIN1', application_name: 'other' },
    ...{ statement_timeout: 1, lock_timeout: 1, idle_in_transaction_session_timeout: 1, query_timeout: 1 },
    ...{ parseInputDatesAsUTC: true, parseInt8: true, replication: 'database' },
  });
  return () => {
    for (const [oid, parse] of parsers) pg.types.setTypeParser(oid, parse as (text: string) => unknown);
    for (const name of Object.keys(pg.defaults)) delete (pg.defaults as Record<string, unknown>)[name];
    Object.assign(pg.defaults, defaults);
  };
}

/** Runs `work` while the variables and the driver are hostile, then restores both. */
export async function amidHostility<T>(work: () => Promise<T>): Promise<T> {
  const undo = spoilDriver();
  for (const [name, value] of Object.entries(HOSTILE_VARIABLES)) vi.stubEnv(name, value);
  try {
    return await work();
  } finally {
    vi.unstubAllEnvs();
    undo();
  }
}
