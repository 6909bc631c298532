import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { JsonBody } from '../../api/json-body.ts';
import { toFaults } from '../../api/parse-request.ts';
import { checkAll } from '../../api/routes/bulk.ts';
import type { KnownHandlers } from '../../api/routes/known-handlers.ts';

const keys = (length: number, before = 'on_dead_lette') => Array.from({ length }, (_, n) => `${before}${n}`);
const withKeys = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 0]));

/** Every job has a handler without a schema, and no payload. */
const known: KnownHandlers = {
  names: new Set(['any']),
  byType: new Map([['any', ['any']]]),
  schemaOf: () => undefined,
};
const json: JsonBody = { value: undefined, bytes: new Uint8Array(), payloadOf: () => undefined };

describe('the errors of many jobs', () => {
  it.each([
    ['with unknown keys', withKeys(keys(100))],
    ['with long unknown keys', withKeys(keys(100, `${'~'.repeat(70)}_`))],
    ['with unknown keys beside a wrong type', { job_type: 5, ...withKeys(keys(100)) }],
    ['with unknown keys of one job after another', { job_type: 'any', ...withKeys(keys(50)) }],
  ])('are described only if the response lists them: jobs %s', async (_name, job) => {
    const checked = await checkAll(known, Array(1000).fill(job), json);

    const described = checked.map((one) => ('errors' in one ? one.errors.shown.length : 0));
    expect(described.every((length) => length >= 1)).toBe(true);
    expect(described.reduce((sum, length) => sum + length, 0)).toBe(1000 + 100);
  });

  it('are counted all the same', async () => {
    const checked = await checkAll(known, Array(3).fill(withKeys(keys(100))), json);

    // One more: job_type is missing.
    expect(checked.map((one) => ('errors' in one ? one.errors.total : 0))).toEqual([101, 101, 101]);
  });

  it('are at most as many as the caller asks for', () => {
    const error = z.strictObject({}).safeParse(withKeys(keys(50))).error;

    const { shown, total } = toFaults(error, { in: 'body', names: ['job_type'], most: 3 });

    expect([shown.length, total]).toEqual([3, 50]);
  });
});
