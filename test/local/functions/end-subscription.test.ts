import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { openEndSubscription } from '../../../local/functions/end-subscription.ts';
import type { RunnerEvent } from '../../../local/lambda/specs.ts';

const HEAP = 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory';
const EXIT = 'RequestId: one Error: Runtime exited with error: signal: aborted\nRuntime.ExitError';

/** Passes these events of one function to a subscription; returns the lines of each payload. */
function deliver(...events: readonly Partial<RunnerEvent>[]) {
  const payloads: { awslogs: { data: string } }[] = [];
  const listen = openEndSubscription((payload) => payloads.push(payload as (typeof payloads)[number]));
  for (const event of events) listen({ kind: 'log', functionName: 'work', message: '', ...event });
  return payloads.map(({ awslogs }) => {
    const text = gunzipSync(Buffer.from(awslogs.data, 'base64')).toString();
    const { logGroup, logEvents } = JSON.parse(text) as { logGroup: string; logEvents: { message: string }[] };
    return { logGroup, lines: logEvents.map(({ message }) => message) };
  });
}

const exit = { kind: 'exit', requestId: 'one', jobIds: ['7'], lines: [EXIT] } as const;

it('sends the line of an end, with the log group of the function', () => {
  const sent = deliver(exit);

  expect(sent).toEqual([{ logGroup: '/aws/lambda/work', lines: [EXIT] }]);
});

it('sends the line about a full heap together with the end that follows, and with no later end', () => {
  const sent = deliver(
    { message: 'started' },
    { message: HEAP, stream: 'stderr', requestId: 'one' },
    { message: '<--- trace --->' },
    exit,
    exit,
  );

  expect(sent.map(({ lines }) => lines)).toEqual([[HEAP, EXIT], [EXIT]]);
});

it.each([
  ['an earlier invocation, which succeeded', [{ message: HEAP, requestId: 'zero' }]],
  ['another invocation of the same function, which still runs', [{ message: HEAP, requestId: 'two' }]],
  ['an earlier invocation of another function', [{ message: HEAP, requestId: 'zero', functionName: 'other' }]],
  ['no invocation', [{ message: HEAP }]],
])('sends no line about a full heap from %s', (_what, events) => {
  const sent = deliver(...events, exit);

  expect(sent.map(({ lines }) => lines)).toEqual([[EXIT]]);
});

it('sends the line about a full heap after the lines of a few other invocations', () => {
  const others = Array.from({ length: 50 }, (_, index) => ({ message: HEAP, requestId: `other-${index}` }));

  const sent = deliver({ message: HEAP, requestId: 'one' }, ...others, exit);

  expect(sent.map(({ lines }) => lines)).toEqual([[HEAP, EXIT]]);
});

it.each([
  ['log lines alone', [{ message: 'started' }, { message: HEAP }]],
  ['the end of a function without a subscription', [{ ...exit, jobIds: [] }]],
  ['an init that failed', [{ kind: 'init-failed' as const, jobIds: ['7'], lines: [] }]],
])('sends nothing for %s', (_what, events) => {
  const sent = deliver(...events);

  expect(sent).toEqual([]);
});
