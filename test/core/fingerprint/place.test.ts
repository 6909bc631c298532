import { describe, expect, it } from 'vitest';
import { describeFailure } from '../../../core/failure.ts';
import { placeOf } from '../../../core/fingerprint.ts';

function printOf(message: string, ...frames: readonly string[]): string {
  const error = new Error(message);
  error.stack = [`Error: ${message}`, ...frames.map((frame) => `    at ${frame}`)].join('\n');
  return describeFailure(error).fingerprint;
}

describe('a frame that does not count', () => {
  it.each([
    'async Promise.all (index 7)',
    'async Promise.allSettled (index 0)',
    'process.processTicksAndRejections (node:internal/process/task_queues:103:5)',
    'TCPConnectWrap.afterConnect [as oncomplete] (node:net:1611:16)',
    'listOnTimeout (internal/timers.js:557:17)',
    'JSON.parse (<anonymous>)',
    'Array.map (native)',
    'new Promise (<anonymous>)',
    'Client._handleErrorMessage (/var/task/node_modules/pg/lib/client.js:326:17)',
    'C:\\app\\node_modules\\pg\\lib\\client.js:326:17',
    'execute (file:///var/task/core/run/run-attempt.ts:71:20)',
    'async Object.runBatch (/build/millrace/core/run/run-batch.ts:40:3)',
    'async execute (file:///app/node_modules/millrace/dist/core/run/run-attempt.js:50:9)',
    'parsePayload (/home/ci/project/core/handler/payload.ts:90:3)',
    'handler (/home/ci/project/functions/handler.ts:33:10)',
    'file:///var/runtime/index.mjs:1276:36',
    'Runtime.handleOnceNonStreaming (file:///var/runtime/index.mjs:1173:29)',
    'file:///opt/nodejs/wrapper.mjs:1:1',
  ])('%s', (frame) => {
    const own = 'chargeCard (file:///var/task/functions/handlers/pay-order.ts:21:9)';

    expect(placeOf(`Error: x\n    at ${frame}`)).toBe('');
    expect(placeOf(`Error: x\n    at ${frame}\n    at ${own}`)).toBe('chargeCard pay-order');
  });
});

describe('a frame that has one place wherever it runs', () => {
  it.each([
    'chargeCard (/work/functions/handlers/pay-order.ts:21:9)',
    'chargeCard (file:///work/functions/handlers/pay-order.ts?v=1764.5-900:3:1)',
    'async chargeCard (/var/task/../../home/ci/build-8123/functions/handlers/pay-order.ts:1:20443)',
    'async a.chargeCard (C:\\work\\functions\\handlers\\pay-order.ts:1:2)',
    'new chargeCard (/work/dist/handlers/pay-order.js:21:9)',
    'Object.chargeCard [as run] (/work/functions/handlers/pay-order.ts:21:9)',
  ])('%s', (frame) => {
    expect(placeOf(`TypeError: x\n    at ${frame}`)).toBe('chargeCard pay-order');
  });

  it.each([
    ['a (file:///var/task/index.mjs:1:20443)', ' index'],
    ['async Qe.t (file:///var/task/index.mjs:1:20443)', ' index'],
    ['file:///var/task/chunk-5XKD2QRT.mjs:1:20443', ' #'],
    ['<anonymous> (/work/functions/handlers/pay-order.ts:1:1)', ' pay-order'],
  ])('%s', (frame, place) => {
    expect(placeOf(`Error: x\n    at ${frame}`)).toBe(place);
  });
});

it('ignores the place in the batch, lines, folders and the build', () => {
  const one = printOf(
    'timed out',
    'async Promise.all (index 7)',
    'async run (/a/functions/handlers/pay-order.ts:9:9)',
    'async Promise.all (index 3)',
  );
  const other = printOf(
    'timed out',
    'async Promise.all (index 0)',
    'process.processTicksAndRejections (node:internal/process/task_queues:103:5)',
    'run (/b/dist/pay-order.js:800:1)',
  );

  expect(one).toBe(other);
});

it('distinguishes one message by the function that threw it', () => {
  const prints = ['chargeCard', 'refund'].map((name) => printOf('reading id', `${name} (/a/pay-order.ts:9:9)`));

  expect(prints[0]).not.toBe(prints[1]);
});

it('finds the frame below a message of a megabyte with many lines', () => {
  const frame = 'chargeCard (/a/pay-order.ts:9:9)';

  expect(printOf('upstream\n'.repeat(100_000), frame)).not.toBe(printOf('upstream\n'.repeat(100_000)));
});

describe('an error that wraps another', () => {
  const fetchFailed = (cause: Error) => {
    const error = new TypeError('fetch failed', { cause });
    error.stack = 'TypeError: fetch failed\n    at node:internal/deps/undici/undici:14900:13';
    delete cause.stack;
    return describeFailure(error).fingerprint;
  };
  const withCode = (message: string, code: unknown) => Object.assign(new Error(message), { code });

  it('has the same kind as its cause', () => {
    const refused = fetchFailed(withCode('connect ECONNREFUSED 10.0.0.1:443', 'ECONNREFUSED'));
    const again = fetchFailed(withCode('connect ECONNREFUSED 10.0.0.2:443', 'ECONNREFUSED'));
    const unknown = fetchFailed(withCode('getaddrinfo ENOTFOUND a.example.com', 'ENOTFOUND'));

    expect(again).toBe(refused);
    expect(unknown).not.toBe(refused);
  });

  it('is distinguished by a code, unless the code is a value', () => {
    expect(fetchFailed(withCode('no', 'P2002'))).not.toBe(fetchFailed(withCode('no', 'P2025')));
    expect(fetchFailed(withCode('no', 404))).not.toBe(fetchFailed(withCode('no', 503)));
    expect(fetchFailed(withCode('no', { id: 1 }))).toBe(fetchFailed(withCode('no', { id: 2 })));
  });
});
