import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { HandlerDefinition } from '../../core/handler/handler.ts';
import { runHandler } from '../../core/testing/run-handler.ts';
import { makeProject, type Project } from '../support/project.ts';
import { openOnServer } from '../support/test-databases.ts';
import { readDocument } from './documents.ts';

/** The handlers that the pages show, by the names of their files. */
const SHOWN = Object.fromEntries(
  ['docs/handlers.md', 'docs/schedules.md']
    .flatMap((path) => readDocument(path).blocks)
    .flatMap(({ code }) => {
      const [, name] = /^\/\/ functions\/handlers\/(\S+\.ts)\n/.exec(code) ?? [];
      return name === undefined ? [] : [[name, code]];
    }),
);

let project: Project;
const server = createServer(({ url = '/', headers }, response) => {
  const status = Number(url.slice(1)) || 200;
  response.writeHead(status, { 'Retry-After': '7' }).end(JSON.stringify({ url, token: headers.authorization ?? null }));
});
let address: string;

beforeAll(async () => {
  project = await makeProject(SHOWN);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.close();
  await project.remove();
});

async function shown(name: string): Promise<HandlerDefinition> {
  return (await import(join(project.folder, 'functions/handlers', name))).default;
}

it('the pages show these handlers, and each has a test here', () => {
  expect(Object.keys(SHOWN)).toEqual([
    ...['index-record.vector.ts', 'fetch-rates.ts', 'store-reading.ts', 'nightly-report.ts', 'report-region.ts'],
    ...['merge-report.ts', 'send-report.ts'],
  ]);
});

it.each([
  ['200', { outcome: 'succeeded' }],
  ['410', { outcome: 'skipped', error: { message: 'the record was deleted' } }],
  ['429', { outcome: 'failed', nextDelaySeconds: 7 }],
  ['500', { outcome: 'failed', nextDelaySeconds: 10 }],
])('index_record.vector ends as its lines say when the server answers %s', async (status, expected) => {
  const run = await runHandler(await shown('index-record.vector.ts'), { url: `${address}/${status}` } as never);

  expect(run).toMatchObject(expected);
  if (status === '200')
    expect(run.log).toMatchObject([{ event: 'record_read', bytes: (run.result as { bytes: number }).bytes }]);
  else expect(run.error?.message).toMatch(/deleted|returned \d+$/);
});

it('store_reading stores the readings of a batch, and skips those without a value', async () => {
  const database = await openOnServer({ handlers: [await shown('store-reading.ts')] });
  for (const value of [7, 0]) {
    await database.query(`select millrace.enqueue('store_reading', $1)`, [{ sensor: 'roof', value }]);
  }

  const runs = await database.drain();

  expect(runs).toMatchObject([
    { outcome: 'succeeded', payload: { value: 7 } },
    { outcome: 'skipped', error: { message: 'nothing was measured' } },
  ]);
  expect(runs[0]?.result).toEqual({ stored: 'roof' });
});

it('nightly_report fans out to its regions, and merges their reports once', async () => {
  const names = ['nightly-report.ts', 'report-region.ts', 'merge-report.ts'];
  const database = await openOnServer({ handlers: await Promise.all(names.map(shown)) });
  const payload = { day: '2027-01-31', regions: ['north', 'south'] };
  await database.query(`select millrace.enqueue('nightly_report', $1)`, [payload]);

  const runs = await database.drain();

  expect(runs.map(({ jobType, log }) => [jobType, log.map(({ event, ...fields }) => [event, fields])])).toEqual([
    ['nightly_report', []],
    ['report_region', [['counting', { level: 'info', day: '2027-01-31', region: 'north' }]]],
    ['report_region', [['counting', { level: 'info', day: '2027-01-31', region: 'south' }]]],
    ['merge_report', [['merging', { level: 'info', day: '2027-01-31' }]]],
  ]);
});

it('fetch_rates reads its settings, the default of one of them, and its secret', async () => {
  const handler = await shown('fetch-rates.ts');
  const values = { settings: { RATES_URL: `${address}/` }, secrets: { RATES_TOKEN: 'token-of-the-bank' } };

  const run = await runHandler(handler, { currency: 'CHF' } as never, values);

  expect(run.result).toEqual({ url: '/CHF?limit=50', token: 'Bearer token-of-the-bank' });
});

it('send_report runs at its ticks, each with the time of the tick', async () => {
  const database = await openOnServer({ handlers: [await shown('send-report.ts')], now: '2027-01-31T00:30:00Z' });

  const runs = await database.drain({ until: '2h' });

  const minutes = ({ at }: { at: Date }) => at.getUTCHours() * 60 + at.getUTCMinutes();
  expect(runs.map(({ payload }) => payload)).toEqual([
    { team: 'support', until: '2027-01-31T01:00:00Z' },
    ...[
      expect.objectContaining({ until: '2027-01-31T02:00:00Z' }),
      expect.objectContaining({ until: expect.any(String) }),
    ],
  ]);
  const nightly = runs.find(({ payload }) => (payload as { team: string }).team === 'sales');
  expect(nightly?.at).toEqual(new Date('2027-01-31T02:00:00Z'));
  // An hourly report runs within five minutes after its tick, each time at the same offset.
  const offsets = runs.filter((run) => run !== nightly).map((run) => minutes(run) % 60);
  expect(new Set(offsets).size).toBe(1);
  expect(offsets[0]).toBeLessThan(5);
});
