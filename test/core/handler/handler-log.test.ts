import { expect, it } from 'vitest';
import { openHandlerLog } from '../../../core/handler/handler-log.ts';
import { type Log, openLog } from '../../../core/log.ts';

function logged(work: (log: Log<string>) => unknown): Record<string, unknown> {
  const lines: string[] = [];
  work(openHandlerLog(openLog((line) => lines.push(line)).child({ job_id: '7', attempt: '1/5' })));
  const [line = '{}'] = lines;
  const { timestamp: _timestamp, service: _service, ...rest } = JSON.parse(line);
  return rest;
}

const LINE = { level: 'info', event: 'charged', message: 'charged', job_id: '7', attempt: '1/5' };

it.each<[string, unknown, object]>([
  ['plain fields', { order: 'A-1' }, { order: 'A-1' }],
  [
    'reserved fields',
    { order: 'A-1', job_id: 5, event: 'mine' },
    { order: 'A-1', fields: { job_id: 5, event: 'mine' } },
  ],
  ['the payload of an onDeadLetter job', { job_id: '4', job_type: 'b' }, { fields: { job_id: '4', job_type: 'b' } }],
  ['a message', { message: 'of mine' }, { message: 'of mine' }],
  ['an error', new TypeError('no'), { error: expect.objectContaining({ name: 'TypeError', message: 'no' }) }],
  ['a text', 'text', { value: 'text' }],
  ['a list', [1, 2], { value: [1, 2] }],
  ['null', null, { value: null }],
  ['nothing', undefined, {}],
])('a line with %s keeps its event, its job and its attempt', (_what, fields, expected) => {
  expect(logged((log) => log.info('charged', fields as never))).toEqual({ ...LINE, ...expected });
});

it.each<[unknown, string]>([
  [{ a: 1 }, '{ a: 1 }'],
  [undefined, 'undefined'],
  [Object.create(null), '[Object: null prototype] {}'],
  [Symbol('x'), 'Symbol(x)'],
])('an event that is not a string never fails the job: %s', (event, expected) => {
  expect(logged((log) => log.info(event as never))).toMatchObject({ event: expected, job_id: '7' });
});

it('a child of the log keeps the job, too', () => {
  expect(logged((log) => log.child({ job_id: 5, order: 'A-1' }).info('charged'))).toEqual({
    ...{ ...LINE, order: 'A-1' },
    fields: { job_id: 5 },
  });
});

const hostile = {
  order: 'A-1',
  get total(): number {
    throw new Error('no total');
  },
};

it.each<[string, unknown, object]>([
  ['a getter that throws', hostile, { order: 'A-1', total: '(unreadable: no total)' }],
  ['a getter that throws below', { a: hostile }, { a: expect.stringContaining('A-1') }],
  ['a map', { prices: new Map([['a', 1]]) }, { prices: { a: 1 } }],
  ['a map with other keys', { prices: new Map([[1, 'a']]) }, { prices: [[1, 'a']] }],
  ['a set', { tags: new Set(['a', 'b']) }, { tags: ['a', 'b'] }],
  ['a set as the fields', new Set(['a']), { value: ['a'] }],
  ['a symbol', { kind: Symbol('x') }, { kind: 'Symbol(x)' }],
  ['a function', { call: function charge() {} }, { call: '[Function: charge]' }],
  ['a revoked proxy', revoked(), { value: expect.stringContaining('unreadable') }],
])('%s as a field is shown and never fails the attempt', (_what, fields, expected) => {
  expect(logged((log) => log.info('charged', fields as never))).toEqual({ ...LINE, ...expected });
});

/** A proxy whose keys cannot be read. */
function revoked(): object {
  return new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error('revoked');
      },
    },
  );
}
