import { expect, it } from 'vitest';
import { startRedrive, stepRedrive } from '../../../core/dead-letters/redrive-operation.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();

it.each([[0], [-1], [20_000], [1e-320], [1e-300], [0.000_009], [Number.NaN]])('refuses a rate of %s', async (rate) => {
  const starting = startRedrive(engine.db, {}, { rate });

  await expect(starting).rejects.toThrow(/rate_per_second: expected 0.00001 to 10000/);
});

it('steps at the lowest rate', async () => {
  const after = await stepRedrive(engine.db, await startRedrive(engine.db, {}, { rate: 0.000_01 }), 3);

  expect(after).toMatchObject({ expected: 0, done: 0 });
});

it.each([
  [null, /filter: expected an object such as .*, got null/],
  ['"work"', /filter: expected an object such as .*, got "work"/],
  ['{"jobtype": "work"}', /jobtype: unknown key; the keys are job_types, .* and all/],
  ['{"job_types": "work"}', /job_types: expected an array of job types, at most 1000, got "work"/],
  ['{"job_types": [1]}', /job_types: expected an array of job types, at most 1000, got \[1\]/],
  ['{"job_types": null}', /job_types: expected an array of job types, at most 1000, got null/],
  ['{"job_ids": ["abc"]}', /job_ids: expected an array of jobs' ids, at most 100000, got \["abc"\]/],
  ['{"job_ids": ["9223372036854775808"]}', /job_ids: expected an array of jobs' ids/],
  ['{"job_ids": [null]}', /job_ids: expected an array of jobs' ids/],
  ['{"error": 5}', /error: expected a part of the error text, of 1 to 500 characters, got 5/],
  ['{"until": "18:20"}', /until: expected a time with a time zone, such as "2026-01-31T12:00:00Z", got "18:20"/],
  [
    '{"since": "yesterday"}',
    /since: expected a time with a time zone, such as "2026-01-31T12:00:00Z", got "yesterday"/,
  ],
  ['{"since": "2026-01-31T12:00:00"}', /since: expected a time with a time zone, such as "2026-01-31T12:00:00Z"/],
  ['{"since": "2026-01-31"}', /since: expected a time with a time zone/],
  ['{"until": "2026-01-31 12:00 Europe/Berlin"}', /until: expected a time with a time zone/],
  [`{"job_types": ["${'x'.repeat(61)}"]}`, /job_types: expected an array of job types, at most 1000/],
  [
    `{"job_types": [${Array.from({ length: 1001 }, () => '"x"')}]}`,
    /job_types: expected .* at most 1000, got \["x".*…$/,
  ],
  [`{"routing_key": "${'x'.repeat(61)}"}`, /routing_key: expected a string of at most 60 characters/],
  ['{"limit": 0, "all": true}', /limit: expected a whole number of jobs, at least 1 and without quotes, got 0/],
  ['{"limit": "5", "all": true}', /limit: expected a whole number of jobs, at least 1 and without quotes, got "5"/],
  ['{"limit": 1e30, "all": true}', /limit: expected a whole number/],
  ['{"error": ""}', /error: expected a part of the error text, of 1 to 500 characters, got ""/],
  ['{"error": " \\t"}', /error: expected a part of the error text/],
  [`{"error": "${'x'.repeat(501)}"}`, /error: expected a part of the error text, .*, got "x{199}…$/],
  ['{"group": ""}', /group: expected at least the first 4 characters of a fingerprint, such as "5f65afc7", got ""/],
  ['{"group": "%"}', /group: expected at least the first 4 characters of a fingerprint/],
  ['{"group": "5f6"}', /group: expected at least the first 4 characters of a fingerprint/],
  [
    '{"since": "2026-02-30T00:00:00Z"}',
    /since: expected a time with a time zone, such as .*, got "2026-02-30T00:00:00Z"/,
  ],
  ['{"job_types": [["work"]]}', /job_types: expected an array of job types, at most 1000, got \[\["work"\]\]/],
  [`{"job_ids": [${Array.from({ length: 100_001 }, () => 1)}]}`, /job_ids: expected .* at most 100000, got \[1, 1.*…$/],
  [
    '{"all": true, "job_types": ["work"], "error": "x"}',
    /all: selects every dead letter; omit it, or omit error and job_types/,
  ],
  ['{"all": false}', /all: expected true, or omit the key, got false/],
  ['{}', /selects every dead letter; to confirm this, use {"all": true}/],
  ['{"limit": 5}', /selects every dead letter/],
])('refuses the filter %s in SQL', async (filter, message) => {
  const starting = engine.sql('select millrace.start_redrive($1::jsonb)', [filter]);

  await expect(starting).rejects.toThrow(message);
  expect(await engine.sql('select from millrace.operations')).toEqual([]);
});

it('accepts the largest possible id', async () => {
  const [{ id }] = (await engine.sql<{ id: string }>(
    `select millrace.start_redrive('{"job_ids": ["9223372036854775807", 1250749092287967273]}') as id`,
  )) as [{ id: string }];

  expect(
    await engine.sql('select expected_count::integer as expected from millrace.operations where id = $1', [id]),
  ).toEqual([{ expected: 0 }]);
});
