import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { handlerSource } from './sources.ts';

const PATIENT = { timeout: 60_000, interval: 200 };
const often = (payload: string) =>
  handlerSource(
    'poll',
    'return payload;',
    `schedules: { often: { every: '10s', tickKey: 'at', payload: ${payload} } },`,
  );

let project: Project;
let stack: RunningStack;

beforeAll(async () => {
  project = await makeProject({ 'poll.ts': often('{ version: 1 }') });
  stack = await startUp(project);
});
afterAll(() => project.remove());

const results = () =>
  stack.query<{ tick: Date; result: { version: number; at: string } }>(`
    select t.tick_at as tick, j.result from millrace.schedule_ticks t join millrace.jobs j on j.id = t.job_id
      where j.status = 'succeeded' order by t.tick_at`);

it('npm start runs the job of each tick, with the time of its tick', async () => {
  await eventually(async () => expect((await results()).length).toBeGreaterThan(1), PATIENT);

  for (const { tick, result } of await results()) {
    expect(tick.getTime() % 10_000).toBe(0);
    expect(result).toEqual({ version: 1, at: tick.toISOString().replace('.000', '') });
  }
});

it('npm start registers a schedule again when its file is saved, and states what changed', async () => {
  await project.writeHandler('poll.ts', often('{ version: 2 }'));
  await eventually(async () => expect((await results()).at(-1)?.result.version).toBe(2), PATIENT);

  await project.writeHandler('poll.ts', often('{ version: 2 }').replace('often:', 'rarely:').replace('10s', '1d'));

  await eventually(() => expect(stack.output()).toContain('schedule often was removed'), PATIENT);
  expect(stack.output()).toContain('schedule rarely was added');
  expect(await stack.query('select name from millrace.schedules')).toEqual([{ name: 'rarely' }]);
});

it('npm start goes on when a file declares the name of a schedule created at run time', async () => {
  await stack.query(`select millrace.create_schedule('taken', 'poll', every => '1 day')`);

  await project.writeHandler('poll.ts', often('{ version: 3 }').replace('often:', 'taken:'));
  await eventually(() => expect(stack.output()).toContain('created at run time, and declared by a handler'), PATIENT);
  await project.writeHandler('poll.ts', often('{ version: 4 }'));

  await eventually(async () => expect((await results()).at(-1)?.result.version).toBe(4), PATIENT);
});
