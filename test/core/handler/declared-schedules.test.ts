import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { loadCatalog } from '../../../core/catalog/catalog.ts';
import { importHandler } from '../../../core/catalog/import-handler.ts';

const core = new URL('../../../core/', import.meta.url).pathname;

/** Loads a folder with a handler `report` with these schedules, and others as given. */
async function load(schedules: string, others: Readonly<Record<string, string>> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-schedules-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [jobType, text] of Object.entries({ report: schedules, ...others })) {
    await writeFile(
      join(folder, `${jobType}.ts`),
      `import { defineHandler } from '${core}handler/handler.ts';
       import * as z from '${new URL('../../../node_modules/zod/index.js', import.meta.url).pathname}';
       export default defineHandler({ jobType: '${jobType}', payload: z.strictObject({ to: z.string().optional(),
         at: z.iso.datetime().optional() }), run: async () => undefined, schedules: ${text} });`,
    );
  }
  const { handlers, failures } = await loadCatalog(folder, importHandler);
  return { names: handlers.map(({ name }) => name), messages: failures.map(({ message }) => message) };
}

it('accepts a schedule whose payload matches the schema, with the time of its tick', async () => {
  const loaded = await load(
    `{ nightly: { cron: '0 3 * * *', zone: 'Europe/Berlin', payload: { to: 'a' }, tickKey: 'at' } }`,
  );

  expect(loaded).toEqual({ names: ['report'], messages: [] });
});

it.each([
  [`{ nightly: { cron: '0 3 * *' } }`, /^SettingError: report: schedules\.nightly\.cron: expected five fields/],
  [`{ nightly: { cron: '0 0 31 2 *' } }`, /schedules\.nightly\.cron: expected an expression that matches some date/],
  [`{ nightly: { cron: '0 3 * * *', zone: 'Berlin' } }`, /schedules\.nightly\.zone: expected an IANA time zone/],
  [`{ nightly: { every: '5s' } }`, /schedules\.nightly\.every: expected whole seconds from 10s to/],
  [`{ nightly: { every: '5m', cron: '0 3 * * *' } }`, /schedules\.nightly\.cron: expected either cron or every/],
  [
    `{ nightly: { cron: '0 3 * * *', payload: { too: 'a' } } as never }`,
    /^schedules\.nightly\.payload: Unrecognized key/,
  ],
  [`{ nightly: { cron: '0 3 * * *', tickKey: 'when' } }`, /^schedules\.nightly\.payload: Unrecognized key: "when"/],
])('states what is wrong with %s', async (schedules, message) => {
  const { messages } = await load(schedules);

  expect(messages).toEqual([expect.stringMatching(message)]);
});

it('refuses a name that the file of another handler declares, and keeps that other handler', async () => {
  const nightly = `{ nightly: { cron: '0 3 * * *' } }`;

  const { names, messages } = await load(nightly, { mail: nightly });

  expect(names).toEqual(['mail']);
  expect(messages).toEqual(['declares the schedule nightly, as mail.ts does: give it another name']);
});
