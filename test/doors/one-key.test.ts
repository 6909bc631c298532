import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { enqueue } from '../../core/enqueue/enqueue.ts';
import { defineHandler } from '../../core/handler/handler.ts';
import { openBothWays } from '../cli/backend/api-world.ts';
import { deploy } from '../support/runtime-engine.ts';

const { pool, db, ask, byApi, byDatabase } = await openBothWays();

const graph = defineHandler({
  jobType: 'index_record',
  routingKey: 'graph',
  payload: z.unknown(),
  run: async () => undefined,
});
await deploy(db, ...['', 'graph', 'vector'].map((routingKey) => ({ jobType: 'index_record', routingKey })));

const post = (path: string, body: unknown) => ask(path, { method: 'POST', body });

describe('one routing key is required', () => {
  it('by a plain insert', async () => {
    const insert = pool.query(`insert into millrace.jobs (job_type, routing_key) values ('index_record', '*')`);

    await expect(insert).rejects.toThrow('routing_key is empty or lower-case letters, digits and _');
  });

  it('by POST /jobs, which names /jobs/bulk', async () => {
    const { status, body } = await post('/jobs', { job_type: 'index_record', routing_key: '*' });

    expect({ status, detail: body.detail }).toEqual({
      status: 422,
      detail: 'body /routing_key: only /jobs/bulk accepts *: name one routing key',
    });
  });

  it('by enqueue, which names enqueueAll', async () => {
    await expect(enqueue(pool, { ...graph, routingKey: '*' }, { n: 1 })).rejects.toThrow(/^handler: .*enqueueAll/);
  });

  it.each([[byDatabase], [byApi]])('by millrace enqueue --watch', async (run) => {
    const { code, stderr } = await run(['enqueue', 'index_record', '--routing-key', '*', '--watch']);

    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('npx millrace jobs wait') });
  });

  it.each([[byDatabase], [byApi]])('by millrace enqueue for a job type without a handler', async (run) => {
    const { code, stdout, stderr } = await run(['enqueue', 'absent', '--routing-key', '*', '--json']);

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('no handler of the job type absent is deployed: deploy one, or name a routing key');
  });

  it('by a schedule, at every door', async () => {
    const sql = pool.query(
      `select millrace.create_schedule('all', 'index_record', cron => '* * * * *', routing_key => '*')`,
    );
    await expect(sql).rejects.toThrow('a schedule has one handler: name its routing key instead of *');

    const schedule = { schedule: 'all', job_type: 'index_record', cron: '* * * * *', routing_key: '*' };
    const { status, body } = await post('/admin/schedules', schedule);
    expect({ status, detail: body.detail }).toMatchObject({ status: 422, detail: expect.stringContaining('name one') });

    const args = ['schedules', 'create', 'all', 'index_record', '--cron', '* * * * *', '--routing-key', '*'];
    for (const { code, stderr } of [await byDatabase(args), await byApi(args)]) {
      expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('one handler') });
    }
    expect((await pool.query('select from millrace.schedules')).rows).toEqual([]);
  });
});
