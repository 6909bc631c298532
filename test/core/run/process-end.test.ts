import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { processEnds } from '../../../core/run/process-end.ts';
import { endLines } from '../../../local/lambda/invocation-result.ts';

const ID = '4f2c9c64-0c3e-4f6e-9d7a-1c2b3a4d5e6f';
const REPORT = `REPORT RequestId: ${ID}\tDuration: 2500.00 ms\tBilled Duration: 2500 ms\tMemory Size: 256 MB\tMax Memory Used: 256 MB`;
const EXITED = `RequestId: ${ID} Error: Runtime exited`;

/** Returns the event with which CloudWatch Logs sends these lines of a handler's log group. */
function logs(...lines: readonly string[]) {
  const logEvents = lines.map((message, id) => ({ id: String(id), timestamp: 1, message }));
  const body = { messageType: 'DATA_MESSAGE', logGroup: '/aws/lambda/millrace-prod-work', logStream: 'a', logEvents };
  return { awslogs: { data: gzipSync(JSON.stringify(body)).toString('base64') } };
}

it.each([
  [
    'a kill',
    [`${EXITED} with error: signal: killed\nRuntime.ExitError`],
    'ProcessEnded',
    /^its process was killed \(SIGKILL\).*: raise memory/,
  ],
  [
    'an exit',
    [`${EXITED} with error: exit status 3\nRuntime.ExitError`],
    'ProcessEnded',
    /^its process exited \(exit status 3\): search/,
  ],
  [
    'an exit without a status',
    [`${EXITED} without providing a reason\n`],
    'ProcessEnded',
    /^its process exited \(exit status 0\)/,
  ],
  [
    'a crash of native code',
    [`${EXITED} with error: signal: segmentation fault (core dumped)`],
    'ProcessEnded',
    /by a signal \(segmentation fault \(core dumped\)\)/,
  ],
  [
    'the timeout of the function',
    [`2026-11-29T10:00:00.000Z ${ID} Task timed out after 40.00 seconds\n`],
    'ProcessEnded',
    /the function's timeout of 40 s: search/,
  ],
  [
    'no memory left',
    [`${REPORT}\tStatus: error\tError Type: Runtime.OutOfMemory`],
    'OutOfMemory',
    /^its process ran out of memory \(it used all of its 256 MB\): raise memory/,
  ],
  [
    'no memory left, with its exit',
    [`${REPORT}\tStatus: error\tError Type: Runtime.OutOfMemory`, `${EXITED} with error: signal: killed`],
    'OutOfMemory',
    /256 MB/,
  ],
  [
    'a full heap',
    [
      'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory',
      `${EXITED} with error: signal: aborted`,
    ],
    'OutOfMemory',
    /heap of JavaScript/,
  ],
])('names %s that Lambda logged, and what to do', (_what, lines, name, message) => {
  const ends = processEnds(logs(...lines));

  expect(ends).toEqual([
    { functionName: 'millrace-prod-work', requestId: ID, name, message: expect.stringMatching(message) },
  ]);
});

it('gives each request of a stream its own end', () => {
  const heap =
    'FATAL ERROR: Ineffective mark-compacts near heap limit Allocation failed - JavaScript heap out of memory';
  const other = EXITED.replace(ID, 'second');

  const ends = processEnds(logs(heap, `${EXITED} with error: signal: aborted`, `${other} with error: exit status 1`));

  expect(ends.map(({ requestId, name }) => [requestId, name])).toEqual([
    [ID, 'OutOfMemory'],
    ['second', 'ProcessEnded'],
  ]);
});

it.each([
  ['a line of a handler that quotes one', `{"message":"${EXITED} with error: signal: killed"}`],
  ['an error of a handler', `2026-11-29T10:00:00.000Z\t${ID}\tERROR\tTask timed out after 3 seconds`],
  ['the report of an invocation that succeeded', REPORT],
])('reads no end from %s', (_what, line) => {
  const ends = processEnds(logs(line));

  expect(ends).toEqual([]);
});

it.each(['exit', 'timeout', 'out-of-memory'] as const)('reads what the runner on this machine logs: %s', (kind) => {
  const spec = { name: 'work', bundle: '', timeoutSeconds: 40, memoryMb: 128, environment: {} };
  const errorMessage = `RequestId: ${ID} Error: Runtime exited with error: signal: killed`;

  const ends = processEnds(logs(...endLines({ kind, requestId: ID, errorMessage }, spec)));

  expect(ends).toMatchObject([{ requestId: ID, name: kind === 'out-of-memory' ? 'OutOfMemory' : 'ProcessEnded' }]);
});
