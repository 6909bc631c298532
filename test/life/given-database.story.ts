import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { launch, makeProject, type Project, startUp } from '../support/project.ts';
import { insertJob, untilJob } from '../support/stack-doors.ts';
import { handlerSource } from './sources.ts';

const PATIENCE_MS = 600_000;

let project: Project;
let database: TestDatabase;

beforeAll(async () => {
  project = await makeProject({ 'quick.ts': handlerSource('quick', 'return 1;') });
  database = await createDatabase({ migrated: false });
});

afterAll(async () => {
  await project.remove();
  await database.drop();
});

const relations = async (schema: string) => {
  const { rows } = await database.pool.query(
    `select relname from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1`,
    [schema],
  );
  return rows.map(({ relname }) => relname as string);
};

it(
  'a stack on a database of the user runs jobs, adds only its own schema, and starts no server',
  async () => {
    await database.pool.query(`create table public.orders (id integer); insert into public.orders values (7)`);

    const stack = await startUp(project, ['--database-url', database.url]);
    const id = await insertJob(stack, 'quick', {});
    const job = await untilJob(stack, id, { status: 'succeeded' });
    await stack.stop();

    expect(job).toMatchObject({ status: 'succeeded' });
    expect(await relations('public')).toEqual(['orders']);
    expect(await relations('millrace')).toContain('jobs_live');
    expect((await database.pool.query('select id from public.orders')).rows).toEqual([{ id: 7 }]);
    await expect(access(join(project.folder, '.millrace', 'postgres'))).rejects.toMatchObject({ code: 'ENOENT' });
  },
  PATIENCE_MS,
);

it(
  'a stack is refused on a database that belongs to a deployed stage',
  async () => {
    await database.pool.query(`select millrace.renew_epoch(); select millrace.assign_stage('prod')`);
    const refused = launch(project, ['--database-url', database.url]);

    expect(await refused.exited).not.toBe(0);
    expect(refused.output()).toMatch(/--database-url: postgres:\S+ belongs to the stage prod/);
    expect((await database.pool.query('select stage from millrace.installation')).rows).toEqual([{ stage: 'prod' }]);
  },
  PATIENCE_MS,
);

it('--fresh is refused with a database of the user', async () => {
  const { code, stderr } = await project.millrace('dev', '--fresh', '--database-url', database.url);

  expect(code).toBe(2);
  expect(stderr).toContain('use --fresh or --database-url, not both');
});

it('a DATABASE_URL of the shell is not used, and a line says how to use it', async () => {
  const started = launch(project, ['--handlers', 'nowhere'], { env: { DATABASE_URL: 'postgres://ada:secret@db/app' } });

  expect(await started.exited).not.toBe(0);
  expect(started.output()).toMatch(/^DATABASE_URL of this shell is not used: .* npx millrace dev --database-url\./m);
  expect(started.output()).not.toContain('secret');
});
