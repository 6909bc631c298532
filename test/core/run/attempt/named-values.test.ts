import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { DeadLetter, RetryAfter } from '../../../../core/handler/chosen-outcome.ts';
import { defineHandler } from '../../../../core/handler/handler.ts';
import { openRedactor } from '../../../../core/settings/redactor.ts';
import { attempt, attemptOf, throwing } from './one-attempt.ts';

const redactor = openRedactor();
redactor.add('API_TOKEN', 'hunter2-value');
const values = { settings: { API_URL: 'x' }, secrets: { API_TOKEN: 'hunter2-value' }, redact: redactor.redact };

it('passes settings and secrets to run, and to runBatch', async () => {
  const together = defineHandler({
    ...{ jobType: 'work', payload: z.unknown(), settings: { API_URL: 'required' }, secrets: ['API_TOKEN'] },
    runBatch: async (jobs) => new Map(jobs.map(({ jobId, settings, secrets }) => [jobId, { settings, secrets }])),
  });

  const one = await attempt(({ settings, secrets }) => ({ settings, secrets }), { values });
  const batch = await attemptOf(together, { values });

  const result = JSON.stringify({ settings: values.settings, secrets: values.secrets });
  expect([one.outcome, batch.outcome]).toEqual(Array(2).fill({ kind: 'succeeded', result }));
});

it('passes none to a handler whose definition names none', async () => {
  const { outcome } = await attempt(({ settings, secrets }) => ({ settings, secrets }));

  expect(outcome).toMatchObject({ result: '{"settings":{},"secrets":{}}' });
});

describe('the stored error has no value of a secret, if it is that of', () => {
  class TokenError extends Error {
    override readonly name = 'hunter2-value';
  }
  const cause = new Error('GET https://x.test/?token=hunter2-value');

  it.each<[string, unknown]>([
    ['an error', new Error('401 for hunter2-value')],
    ['an error with this name', new TokenError('401')],
    ['a cause', new TypeError('fetch failed', { cause })],
    ['a thrown text', 'hunter2-value'],
    ['a dead letter', new DeadLetter('hunter2-value is revoked')],
    ['a later attempt', new RetryAfter('1m', 'hunter2-value is throttled')],
  ])('%s', async (_what, thrown) => {
    const { outcome } = await attempt(throwing(thrown), { values });

    expect(JSON.stringify(outcome)).toContain('***');
    expect(JSON.stringify(outcome)).not.toContain('hunter2');
  });
});
