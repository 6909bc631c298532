import { expect, it } from 'vitest';
import * as z from 'zod';
import { seconds } from '../../core/duration.ts';
import { defineHandler, type HandlerOptions } from '../../core/handler/handler.ts';
import { retry } from '../../core/handler/retry-policy.ts';
import { unreadVariables } from '../../core/handler/unread-variables.ts';
import { VARIABLES, type Variables, withVariables } from '../../core/handler/variables.ts';
import { inlineCode, readDocument, section, tableBelow } from './documents.ts';

const TITLE = 'Retry defaults from the environment';
const page = readDocument('docs/handlers.md');
const part = section(page, TITLE);
const rows = tableBelow(page, TITLE);

const least = { jobType: 'index_record', payload: z.object({}), run: async () => undefined };

function resolve(variables: Variables, options: Partial<HandlerOptions<typeof least.payload>> = {}) {
  return withVariables(defineHandler({ ...least, ...options }), variables);
}

it('docs/handlers.md lists every variable that sets the attempts of handlers', () => {
  expect(rows.map(([name]) => name?.replaceAll('`', ''))).toEqual(Object.values(VARIABLES));
});

it.each(rows)('%s accepts exactly the values within its documented bounds', (...row) => {
  const [written = '', , bounds = ''] = row;
  const name = written.replaceAll('`', '');
  const [, low = '', , high = '', unit = ''] = /(\d+)( s)? to (\d+) ?(s|d)?/.exec(bounds) ?? [];
  const beyond = [low === '0' ? '-1' : `${Number(low) - 1}`, `${Number(high) + 1}${unit}`];

  for (const text of [low, `${high}${unit}`]) expect(() => resolve({ [name]: text }), text).not.toThrow();
  for (const text of beyond) expect(() => resolve({ [name]: text }), text).toThrow(`${name}: expected`);
});

it('docs/handlers.md states the values without the variables', () => {
  const stated = Object.fromEntries(rows.map(([name, , , value]) => [name?.replaceAll('`', ''), value]));
  const { maxAttempts, timeoutSeconds } = resolve({});
  const [base, max] = [resolve({ MILLRACE_RETRY_MAX_DELAY: '1d' }), resolve({ MILLRACE_RETRY_BASE_DELAY: '1' })];

  expect(stated).toEqual({
    MILLRACE_MAX_ATTEMPTS: `${maxAttempts}`,
    MILLRACE_RETRY_DELAY: 'none',
    MILLRACE_RETRY_BASE_DELAY: '60 s, or a lower cap',
    MILLRACE_RETRY_MAX_DELAY: '12 h',
    MILLRACE_JOB_TIMEOUT: `${timeoutSeconds} s`,
  });
  expect(base.retry).toMatchObject({ kind: 'exponential', base: 60 });
  expect(max.retry).toMatchObject({ kind: 'exponential', max: seconds('12h', 'the page') });
});

// The tests of `test/core/registry/changed-variables.test.ts` show what these cells state.
it('docs/handlers.md states which jobs follow a change', () => {
  const follow = rows.map(([, , , , cell = '']) => cell);

  expect(follow[0]).toMatch(/^jobs that are inserted after the change; .* keeps its `max_attempts`$/);
  expect(follow[1]).toMatch(/^failures of attempts that start after the change, and later rescues; .*`next_retry_at`$/);
  expect(follow.slice(2)).toEqual(['the same', 'the same', 'attempts that start after the change']);
});

it('every duration that docs/handlers.md names is accepted', () => {
  const durations = inlineCode(part).filter((code) => /^\d/.test(code));

  for (const text of durations) expect(() => resolve({ MILLRACE_RETRY_DELAY: text }), text).not.toThrow();
  expect(durations).toEqual(expect.arrayContaining(['500ms', '5', '2.0', '300.0']));
});

const [, examples = ''] = part.text.split('| variables | definition | result |\n');
const cases = [...examples.matchAll(/^\| `(MILLRACE[^`]+)` \| `([^`]+)` \| `([^`]+)` \|$/gm)].map((found) =>
  found.slice(1),
);

it.each(cases)('docs/handlers.md states the result of %s with %s', (...row) => {
  const [set = '', ...objects] = row;
  const variables = Object.fromEntries(set.split(' ').map((pair) => pair.split('=')));
  const [options, result] = objects.map((text) => new Function('retry', `return (${text})`)(retry));

  expect(resolve(variables, options)).toMatchObject(result);
});

it('docs/handlers.md names every foreign variable that gets a line', () => {
  const [, named = ''] = part.text.split('a misspelled name with the prefix');
  const names = [...named.matchAll(/`((?!MILLRACE)\w+)`/g)].map(([, name]) => name as string);

  const lines = unreadVariables(Object.fromEntries(names.map((name) => [name, '1'])), [least].map(resolveAddress));

  expect(lines).toHaveLength(names.length);
  expect(names).toEqual(expect.arrayContaining(['MAX_RETRY_ATTEMPTS', 'MAX_RETRIES', 'RETRY_DELAY_SECONDS']));
  expect(cases.length).toBeGreaterThan(7);
});

function resolveAddress({ jobType }: { jobType: string }) {
  return { jobType, routingKey: '' };
}
