import { expect, it, onTestFinished } from 'vitest';
import { migrate } from '../../core/postgres/migrate.ts';
import { HOSTILE_SETTINGS } from '../core/postgres/hostile-surroundings.ts';
import { createClient, createDatabase } from '../support/database.ts';
import { recordLog } from '../support/runtime-engine.ts';
import { plantTwins } from './twins.ts';

/** All objects that the migrations create, each as the text that creates it. */
const CREATED = `
  select 'function' as kind, p.oid::regprocedure::text as name, pg_get_functiondef(p.oid) as text
    from pg_proc p where p.pronamespace = 'millrace'::regnamespace
  union all
  select 'constraint', c.conrelid::regclass || ' ' || c.conname, pg_get_constraintdef(c.oid)
    from pg_constraint c where c.connamespace = 'millrace'::regnamespace
  union all
  select 'index', i.indexname, i.indexdef from pg_indexes i where i.schemaname = 'millrace'
  union all
  select 'view', v.viewname, v.definition from pg_views v where v.schemaname = 'millrace'
  union all
  select 'column', a.attrelid::regclass || ' ' || a.attname,
         format_type(a.atttypid, a.atttypmod) || ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), '')
    from pg_attribute a join pg_class r on r.oid = a.attrelid and r.relnamespace = 'millrace'::regnamespace
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attnum > 0 and not a.attisdropped
  order by 1, 2`;

async function created(url: string): Promise<unknown[]> {
  const client = await createClient(url);
  await client.query('set search_path = pg_catalog');
  const { rows } = await client.query(CREATED);
  return rows;
}

it.each([
  ['a twin of every name in an earlier schema', true, ['search_path']],
  [
    'every other hostile setting',
    false,
    HOSTILE_SETTINGS.map(([name]) => name).filter((name) => name !== 'search_path'),
  ],
  ['both', true, HOSTILE_SETTINGS.map(([name]) => name)],
] as const)('migrations create the same schema in a database with %s', async (_with, twins, names) => {
  const [friendly, hostile] = [await createDatabase(), await createDatabase({ migrated: false })];
  for (const one of [friendly, hostile]) onTestFinished(() => one.drop());
  const owner = await createClient(hostile.url);
  if (twins) await plantTwins(owner);
  const { rows } = await owner.query('select current_database() as name, array_agg(name) as known from pg_settings');
  const settings = HOSTILE_SETTINGS.filter(([name]) => (names as readonly string[]).includes(name));
  for (const [name, value] of settings.filter(([one]) => rows[0].known.map(lower).includes(one))) {
    await owner.query(`alter database ${rows[0].name} set ${name} = ${value}`);
  }

  const { applied } = await migrate({ connectionString: hostile.url, log: recordLog() });

  await owner.query(`alter database ${rows[0].name} reset all`);
  expect(applied.length).toBeGreaterThan(5);
  expect(await created(hostile.url)).toEqual(await created(friendly.url));
});

function lower(text: string): string {
  return text.toLowerCase();
}
