import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { claim } from '../../../core/jobs/claim.ts';
import { openDatabase } from '../../../core/postgres/database.ts';
import { migrate } from '../../../core/postgres/migrate.ts';
import { ask } from '../../support/postgres-server.ts';
import { deploy, openEngine, recordLog } from '../../support/runtime-engine.ts';

const engine = await openEngine();
afterAll(() => engine.close());

const NAMES = [
  'my-schema',
  'My.Schema',
  'user',
  '1s',
  'a b',
  'a"b',
  `o'brien`,
  'a$$b',
  'x.jobs',
  's"; drop table jobs; --',
];
/** Names that are valid job types. */
const PLAIN = new Set(['user']);

const count = async () => (await engine.pool.query('select count(*)::int as n from millrace.jobs_live')).rows[0].n;

describe('MIG-05', () => {
  it.each(NAMES.filter((name) => !PLAIN.has(name)))(
    'a job type %s is refused in one sentence by every interface',
    async (name) => {
      const doors = [
        engine.pool.query('insert into millrace.jobs (job_type) values ($1)', [name]),
        engine.pool.query('insert into millrace.jobs (job_type, routing_key) values ($1, $2)', ['mail', name]),
        engine.pool.query('select millrace.enqueue($1)', [name]),
        engine.pool.query('select millrace.enqueue_many($1)', [JSON.stringify([{ job_type: name }])]),
      ];
      const messages = (await Promise.allSettled(doors)).map((door) =>
        door.status === 'rejected' ? String(door.reason) : 'taken',
      );

      for (const message of messages)
        expect(message).toMatch(/lower-case letters, digits and _|job_type contains no dot/);
      await expect(deploy(engine.db, { jobType: name })).rejects.toThrow('lower-case letters, digits and _');
      expect(await count()).toBe(0);
    },
  );

  it('a job type that is an SQL keyword works', async () => {
    await deploy(engine.db, { jobType: 'user' }, { jobType: 'select', routingKey: 'from' });
    await engine.pool.query(
      `insert into millrace.jobs (job_type, routing_key) values ('user', ''), ('select', 'from')`,
    );

    const jobs = await claim(engine.db, 10);
    await engine.pool.query('delete from millrace.jobs_live');

    expect(jobs.map(({ jobType }) => jobType).toSorted()).toEqual(['select', 'user']);
  });

  it('a string with other characters is not a job type', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 70 }), async (text) => {
        const name = text.replaceAll('\0', '').toWellFormed();

        const taken = await engine.pool
          .query('insert into millrace.jobs (job_type) values ($1) returning job_type', [name])
          .then(
            () => true,
            () => false,
          );
        await engine.pool.query('delete from millrace.jobs_live');

        expect(taken).toBe(
          /^[a-z][a-z0-9_]*$/.test(name) && !name.endsWith('\n') && !name.includes('__') && name.length <= 60,
        );
      }),
      { numRuns: 60 },
    );
  });

  it('a database and a login with each of these names work', async () => {
    const server = inject('postgres').url;
    const quote = pg.escapeIdentifier;
    const suffix = randomBytes(4).toString('hex');
    // Renaming one database is much faster than creating ten.
    let database = `database ${suffix}`;
    await ask(server, `create database ${quote(database)}`);
    onTestFinished(async () => void (await ask(server, `drop database ${quote(database)} with (force)`)));

    for (const name of NAMES) {
      const [renamed, login] = [`${name} ${suffix}`, `${name} login ${suffix}`];
      await ask(server, `alter database ${quote(database)} rename to ${quote(renamed)}`);
      database = renamed;
      await ask(server, `create role ${quote(login)} login createrole password 'p'`);
      await ask(server, `grant create on database ${quote(database)} to ${quote(login)}`);
      await ask(server, `grant millrace_owner, millrace_runtime to ${quote(login)} with admin option`);
      const url = new URL(server);
      url.pathname = `/${database}`;
      url.username = encodeURIComponent(login);
      url.password = 'p';

      await migrate({ connectionString: url.href, log: recordLog() });
      const db = openDatabase({ connectionString: url.href, max: 1, name: 'mig-05', log: recordLog() });
      await deploy(db, { jobType: 'mail' });
      const { rows } = await db.query<{ id: string }>(`select id from millrace.enqueue('mail')`);
      const jobs = await claim(db, 10);
      const cancelled = await db.query('select millrace.cancel($1), session_user::text as me', [rows[0]!.id]);
      await db.close();
      await ask(server, `revoke all on database ${quote(database)} from ${quote(login)}`);
      await ask(server, `drop role ${quote(login)}`);

      expect(jobs.map(({ id }) => id)).toEqual([rows[0]!.id]);
      expect(cancelled.rows).toEqual([{ cancel: 'requested', me: login }]);
    }
  });
});
