import { gunzipSync } from 'node:zlib';

/** What CloudWatch Logs sends to the subscriber of a log group: base64 of compressed JSON. */
export interface LogsEvent {
  readonly awslogs: { readonly data: string };
}

/** How the process of one invocation ended, as Lambda logged it. */
export interface ProcessEnd {
  readonly functionName: string;
  readonly requestId: string;
  readonly name: 'OutOfMemory' | 'ProcessEnded';
  /** One sentence: what happened, and what to do. */
  readonly message: string;
}

/** The words of the lines that Lambda, and Node before it runs out of memory, log for such an end. */
export const END_WORDS = [
  'Runtime exited',
  'Task timed out after',
  'Error Type: Runtime.OutOfMemory',
  'JavaScript heap out of memory',
] as const;

const LONGEST_DATA = 33_554_432;
/** Lambda's lines are shorter. */
const LONGEST_LINE = 2_000;
const LOG_GROUP = /^\/aws\/lambda\/([\w-]+)$/;
// Each pattern matches from the start of a line, where a log prints no payload, and repeats nothing without a bound.
const ID = '([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})';
const EXITED = new RegExp(
  `^RequestId: ${ID} Error: Runtime exited (?:with error: ([\\x20-\\x7e]{1,200})|without providing a reason)`,
);
const FIELDS = '(?:[^\\t\\n]{1,100}\\t){0,10}';
const OUT_OF_MEMORY = new RegExp(
  `^REPORT RequestId: ${ID}\\t${FIELDS}Memory Size: (\\d{1,6}) MB\\t${FIELDS}Error Type: Runtime\\.OutOfMemory`,
);
const TIMED_OUT = new RegExp(
  `^\\d{4}-\\d\\d-\\d\\dT[\\d:.]{8,20}Z ${ID} Task timed out after (\\d{1,6}(?:\\.\\d{1,6})?) seconds\\s*$`,
);
const HEAP = /^FATAL ERROR: (?:[\x20-\x7e]{1,200} )?Allocation failed - JavaScript heap out of memory\s*$/;

/** Returns the ends that the lines of one log stream report. A line of JSON was printed by a handler. */
export function processEnds({ awslogs }: LogsEvent): ProcessEnd[] {
  const text = gunzipSync(Buffer.from(awslogs.data, 'base64'), { maxOutputLength: LONGEST_DATA }).toString();
  const { logGroup, logEvents } = JSON.parse(text) as { logGroup: string; logEvents: { message: string }[] };
  const functionName = LOG_GROUP.exec(logGroup)?.[1];
  const ends = new Map<string, ProcessEnd>();
  if (functionName === undefined) return [];
  // Node does not know the request: its line belongs to the line after it, because a stream runs one request at a time.
  let heap = false;
  for (const { message } of logEvents) {
    const line = message.length > LONGEST_LINE || message.startsWith('{') ? '' : message;
    const end = endOf(line, heap);
    heap = HEAP.test(line);
    if (end === undefined || ends.get(end.requestId)?.name === 'OutOfMemory') continue;
    ends.set(end.requestId, { functionName, ...end });
  }
  return [...ends.values()];
}

type End = Omit<ProcessEnd, 'functionName'>;

const MORE_MEMORY = 'raise memory in the handler file, or keep less in memory at once';
const SEARCH = "search the function's log for the request id of the attempt";

function endOf(line: string, heap: boolean): End | undefined {
  const [, requestId, how = 'exit status 0'] = EXITED.exec(line) ?? [];
  if (requestId !== undefined) {
    if (heap) return outOfMemory(requestId, 'the heap of JavaScript reached its limit');
    return { requestId, name: 'ProcessEnded', message: sentence(how.trim()) };
  }
  const [, starved, size] = OUT_OF_MEMORY.exec(line) ?? [];
  if (starved !== undefined) return outOfMemory(starved, `it used all of its ${size} MB`);
  const [, late, seconds] = TIMED_OUT.exec(line) ?? [];
  if (late === undefined) return undefined;
  const message = `its process was killed at the function's timeout of ${Number(seconds)} s: ${SEARCH}`;
  return { requestId: late, name: 'ProcessEnded', message };
}

function outOfMemory(requestId: string, how: string): End {
  return { requestId, name: 'OutOfMemory', message: `its process ran out of memory (${how}): ${MORE_MEMORY}` };
}

function sentence(how: string): string {
  if (how === 'signal: killed') {
    return `its process was killed (SIGKILL): if its memory had run out, ${MORE_MEMORY}; else another process killed it`;
  }
  const [, signal] = /^signal: (.+)$/.exec(how) ?? [];
  if (signal !== undefined) return `its process ended by a signal (${signal}), as when native code crashes: ${SEARCH}`;
  return `its process exited (${how}): ${SEARCH}`;
}
