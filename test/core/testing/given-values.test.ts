import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { defineHandler } from '../../../core/index.ts';
import { runHandler } from '../../../core/testing/run-handler.ts';

const handler = defineHandler({
  jobType: 'fetch_rates',
  payload: z.object({}),
  settings: { API_URL: 'required', PAGE_SIZE: { default: '50' } },
  secrets: ['API_TOKEN'],
  run: async ({ settings, secrets }) => {
    if (secrets.API_TOKEN === 'expired') throw new Error(`401 for ${secrets.API_TOKEN}`);
    return `${settings.API_URL}?size=${settings.PAGE_SIZE}&token=${secrets.API_TOKEN}`;
  },
});
const settings = { API_URL: 'https://x.test' };

it('runHandler passes the given settings and secrets, and the defaults of the definition', async () => {
  const run = await runHandler(handler, {}, { settings, secrets: { API_TOKEN: 'fake' } });
  const other = await runHandler(
    handler,
    {},
    { settings: { ...settings, PAGE_SIZE: '9' }, secrets: { API_TOKEN: 'f' } },
  );

  expect([run.result, other.result]).toEqual(['https://x.test?size=50&token=fake', 'https://x.test?size=9&token=f']);
});

it('runHandler stores an error as a deployment does: without the values of secrets', async () => {
  const run = await runHandler(handler, {}, { settings, secrets: { API_TOKEN: 'expired' } });

  expect(run).toMatchObject({ outcome: 'failed', error: { message: '401 for ***' } });
});

describe('runHandler names', () => {
  it('each setting and secret without a value', async () => {
    await expect(runHandler(handler, {})).rejects.toThrow(
      "fetch_rates: settings.API_URL: expected { API_URL: '…' } in the option settings, got nothing; " +
        "fetch_rates: secrets.API_TOKEN: expected { API_TOKEN: '…' } in the option secrets, got nothing",
    );
  });

  it('a value that the definition does not name', async () => {
    const running = runHandler(handler, {}, { settings: { ...settings, API_URI: 'x' }, secrets: { API_TOKEN: 'x' } });

    await expect(running).rejects.toThrow('settings: expected one of API_URL, PAGE_SIZE, got "API_URI"');
  });

  it('a value for a definition that names none', async () => {
    const plain = defineHandler({ jobType: 'plain', payload: z.object({}), run: async () => undefined });

    const running = runHandler(plain, {}, { secrets: { API_TOKEN: 'x' } });

    await expect(running).rejects.toThrow('secrets: expected none, since the definition names none, got "API_TOKEN"');
  });
});
