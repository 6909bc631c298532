import { beforeEach, expect, it } from 'vitest';
import { foldEvents } from '../../core/dispatch/fold-events.ts';
import { insertJobs } from '../support/runtime-engine.ts';
import { openApi } from './world.ts';

const { ask, pool, db } = await openApi();
beforeEach(async () => {
  await pool.query('delete from millrace.job_events; delete from millrace.job_numbers');
});

it('returns the numbers of all job types for the last hour, by minute', async () => {
  await insertJobs(pool, 'mail', 3);
  await foldEvents(db);

  const { status, body } = await ask('/admin/jobs/series');

  expect([status, body.step, body.times.length, body.series.length]).toEqual([200, 'minute', 61, 1]);
  const [{ job_type, totals, points }] = body.series;
  expect([job_type, totals.enqueued, totals.run_p95]).toEqual(['_all', 3, null]);
  expect([points.enqueued.length, Math.max(...points.enqueued), points.wait_p50[0]]).toEqual([61, 3, null]);
});

it('returns one series for each job type that was asked for, or for every one', async () => {
  await insertJobs(pool, 'mail', 1);
  await foldEvents(db);

  const named = await ask('/admin/jobs/series?job_type=mail,any&step=hour');
  const all = await ask('/admin/jobs/series?by_job_type=true');

  const typesOf = ({ body }: typeof all) => body.series.map((one: { job_type: string }) => one.job_type);
  expect([named.body.step, typesOf(named)]).toEqual(['hour', ['mail', 'any']]);
  expect(typesOf(all)).toEqual(expect.arrayContaining(['_all', 'any', 'mail']));
});

it.each([
  ['since=2020-01-01T00:00:00Z', '/since', 'since: hours are kept for 31 days'],
  ['since=2020-01-01T00:00:00Z&step=minute', '/since', 'use a later time, or the step hour'],
  ['until=2020-01-01T00:00:00Z', '/until', 'is before since'],
  ['job_type=maill', '/job_type', 'no handler of maill is or was deployed; did you mean mail?'],
  ['step=day', '/step', 'hour'],
  ['by_job_type=1', '/by_job_type', 'boolean'],
])('refuses %s', async (query, pointer, words) => {
  const { status, body } = await ask(`/admin/jobs/series?${query}`);

  expect([status, body.errors]).toEqual([422, [expect.objectContaining({ in: 'query', pointer })]]);
  expect(body.detail).toContain(words);
});

it('requires jobs:read', async () => {
  expect((await ask('/admin/jobs/series', { scopes: ['metrics:read'] })).status).toBe(403);
});
