import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openLog } from '../../../core/log.ts';
import { processEnds } from '../../../core/run/process-end.ts';
import { endLines } from '../../../local/lambda/invocation-result.ts';

const ID = '4f2c9c64-0c3e-4f6e-9d7a-1c2b3a4d5e6f';
const REPORT = `REPORT RequestId: ${ID}\tDuration: 2500.00 ms\tBilled Duration: 2500 ms\tMemory Size: 256 MB\tMax Memory Used: 256 MB`;
const EXITED = `RequestId: ${ID} Error: Runtime exited`;

const OTHER_ID = '8f5e0c3e-7b1d-4d0a-9a55-0123456789ab';
const TIMED_OUT = `2026-11-29T10:00:00.000Z ${ID} Task timed out after 40.00 seconds`;
const HEAP = 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory';
const FAILED = `${REPORT}\tStatus: error\tError Type: Runtime.OutOfMemory`;

/** Returns the event with which CloudWatch Logs sends these lines of a handler's log group. */
const logs = (...lines: readonly string[]) => logsOf('/aws/lambda/millrace-prod-work', lines);

function logsOf(logGroup: string, lines: readonly string[]) {
  const logEvents = lines.map((message, id) => ({ id: String(id), timestamp: 1, message }));
  const body = { messageType: 'DATA_MESSAGE', logGroup, logStream: 'a', logEvents };
  return { awslogs: { data: gzipSync(JSON.stringify(body)).toString('base64') } };
}

it.each([
  [
    'a kill',
    [`${EXITED} with error: signal: killed\nRuntime.ExitError`],
    'ProcessEnded',
    /^its process was killed \(SIGKILL\): if its memory had run out, raise memory .*; else another process killed it$/,
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
  ['the timeout of the function', [`${TIMED_OUT}\n`], 'ProcessEnded', /the function's timeout of 40 s: search/],
  [
    'no memory left',
    [FAILED],
    'OutOfMemory',
    /^its process ran out of memory \(it used all of its 256 MB\): raise memory/,
  ],
  ['no memory left, with its exit', [FAILED, `${EXITED} with error: signal: killed`], 'OutOfMemory', /256 MB/],
  ['a full heap', [HEAP, `${EXITED} with error: signal: aborted`], 'OutOfMemory', /heap of JavaScript/],
])('names %s that Lambda logged, and what to do', (_what, lines, name, message) => {
  const ends = processEnds(logs(...lines));

  expect(ends).toEqual([
    { functionName: 'millrace-prod-work', requestId: ID, name, message: expect.stringMatching(message) },
  ]);
});

it('gives each request of a stream its own end', () => {
  const heap =
    'FATAL ERROR: Ineffective mark-compacts near heap limit Allocation failed - JavaScript heap out of memory';
  const other = EXITED.replace(ID, OTHER_ID);

  const ends = processEnds(logs(heap, `${EXITED} with error: signal: aborted`, `${other} with error: exit status 1`));

  expect(ends.map(({ requestId, name }) => [requestId, name])).toEqual([
    [ID, 'OutOfMemory'],
    [OTHER_ID, 'ProcessEnded'],
  ]);
});

it.each([
  ['a line of a handler that quotes one', `{"message":"${EXITED} with error: signal: killed"}`],
  ['an error of a handler', `2026-11-29T10:00:00.000Z\t${ID}\tERROR\tTask timed out after 3 seconds`],
  ['the report of an invocation that succeeded', REPORT],
  ['JSON with the payload', `{"event":"received","subject":"Hello ${OTHER_ID} Task timed out after 30.00 seconds"}`],
  ['text with the payload', `2026-11-29T10:00:00.000Z Hello ${ID} Task timed out after 3.00 seconds`],
  ['text after the words', `${TIMED_OUT}, said Ada`],
  ['a request id with a NUL byte', TIMED_OUT.replace(ID, 'a\0b')],
  ['a request id other than a UUID', `${EXITED.replace(ID, 'request-1')} with error: signal: killed`],
  ['an error type in a field of another name', FAILED.replace('\tError Type', '\tX-Error Type')],
  ['a line longer than any of Lambda', `${EXITED} with error: signal: killed\n${'x'.repeat(2_000)}`],
  ['a long line of Node', 'FATAL ERROR: '.repeat(20_000)],
  ['a long report', `REPORT RequestId: ${ID}\t${'Memory Size: 1 MB '.repeat(15_000)}`],
  ['a long report of many fields', `REPORT RequestId: ${ID}\t${'Memory Size: 1 MB\t'.repeat(15_000)}`],
])('reads no end from %s', (_what, line) => {
  const ends = processEnds(logs(line));

  expect(ends).toEqual([]);
});

it.each([
  [
    'a log line that quotes it',
    `2026-11-29T10:00:00.000Z\t${ID}\tINFO\tmail: FATAL ERROR: JavaScript heap out of memory`,
  ],
  ['a payload that quotes it', 'mail: FATAL ERROR: Allocation failed - JavaScript heap out of memory'],
  ['a line of JSON', JSON.stringify({ level: 'info', subject: HEAP })],
])('does not say that the heap was full because of %s', (_what, line) => {
  const ends = processEnds(logs(line, `${EXITED} with error: exit status 1`));

  expect(ends).toMatchObject([{ name: 'ProcessEnded' }]);
});

it('does not say that the heap was full if another line follows before the end', () => {
  const ends = processEnds(logs(HEAP, 'JavaScript heap out of memory', `${EXITED} with error: exit status 1`));

  expect(ends).toMatchObject([{ name: 'ProcessEnded' }]);
});

it.each([
  '/aws/lambda/millrace-prod-notes/millrace-prod-work',
  '/aws/lambda/',
  '/aws/lambda-insights/millrace-prod-work',
  'millrace-prod-work',
  '',
])('reads no end from a log group that is not the log of one function: %j', (logGroup) => {
  const ends = processEnds(logsOf(logGroup, [TIMED_OUT]));

  expect(ends).toEqual([]);
});

const QUOTED = [EXITED, `${EXITED} with error: signal: killed`, TIMED_OUT, FAILED, HEAP, ID, '\n', '\t', ' ', '"', '}'];
const payloadText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(fc.oneof(fc.constantFrom(...QUOTED), fc.string({ maxLength: 5 })), { maxLength: 6 }).map((t) => t.join('')),
);

it.each<[string, (text: string) => string]>([
  ["Millrace's log", (text) => lineOf((log) => log.info('received' as never, { subject: text, error: Error(text) }))],
  ["Millrace's log, whose event is the text", (text) => lineOf((log) => log.error(text as never, { [text]: text }))],
  ['pino', (text) => `${JSON.stringify({ level: 30, time: 1, pid: 1, hostname: 'h', [text]: text, msg: text })}\n`],
  ['Powertools', (text) => JSON.stringify({ level: 'INFO', message: text, timestamp: 'T', service: 's', ...[text] })],
  ["Lambda's JSON", (text) => JSON.stringify({ timestamp: 'T', level: 'INFO', requestId: ID, message: text })],
  ["Lambda's text", (text) => `2026-11-29T10:00:00.000Z\t${ID}\tINFO\t${text}\n`],
])('reads no end from any payload in a line of %s', (_shape, lineWith) => {
  fc.assert(
    fc.property(payloadText, (text) => {
      const ends = processEnds(logs(lineWith(text)));

      expect(ends).toEqual([]);
    }),
  );
});

function lineOf(print: (log: ReturnType<typeof openLog>) => void): string {
  const lines: string[] = [];
  print(openLog((line) => lines.push(line)));
  return lines.join('\n');
}

it.each(['exit', 'timeout', 'out-of-memory'] as const)('reads what the runner on this machine logs: %s', (kind) => {
  const spec = { name: 'work', bundle: '', timeoutSeconds: 40, memoryMb: 128, environment: {} };
  const errorMessage = `RequestId: ${ID} Error: Runtime exited with error: signal: killed`;

  const ends = processEnds(logs(...endLines({ kind, requestId: ID, errorMessage }, spec)));

  expect(ends).toMatchObject([{ requestId: ID, name: kind === 'out-of-memory' ? 'OutOfMemory' : 'ProcessEnded' }]);
});
