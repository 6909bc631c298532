import { gzipSync } from 'node:zlib';
import { END_WORDS } from '../../core/run/process-end.ts';
import type { RunnerEvent } from '../lambda/specs.ts';

/** Lines that are kept: an invocation that succeeds sends no event that would delete its line. */
const MOST_EARLY = 100;

/**
 * Sends the lines that report the end of a process to a function, as a subscription of CloudWatch Logs does. `invoke`
 * receives the payload. Returns the listener for the events of the runner.
 */
export function openEndSubscription(invoke: (payload: unknown) => void): (event: RunnerEvent) => void {
  // The line of a process that runs out of heap precedes its end; a subscription delivers both together. By request:
  // an invocation that printed such a line may succeed.
  const early = new Map<string, string>();
  const matches = (line: string) => END_WORDS.some((word) => line.includes(word));
  return ({ functionName, kind, message, requestId = '', lines = [], jobIds = [] }) => {
    if (kind === 'log') {
      if (requestId !== '' && matches(message)) keep(early, requestId, message);
      return;
    }
    const before = early.get(requestId);
    early.delete(requestId);
    // Only the log groups of handlers have a subscription.
    if (jobIds.length === 0) return;
    const found = [...(before === undefined ? [] : [before]), ...lines].filter(matches);
    if (found.length === 0) return;
    const logEvents = found.map((line, id) => ({ id: String(id), timestamp: Date.now(), message: line }));
    const body = {
      messageType: 'DATA_MESSAGE',
      logGroup: `/aws/lambda/${functionName}`,
      logStream: requestId,
      logEvents,
    };
    invoke({ awslogs: { data: gzipSync(JSON.stringify(body)).toString('base64') } });
  };
}

/** Keeps a line, and forgets the oldest one if there are too many. */
function keep(early: Map<string, string>, requestId: string, line: string): void {
  early.delete(requestId);
  early.set(requestId, line);
  const [oldest] = early.keys();
  if (early.size > MOST_EARLY && oldest !== undefined) early.delete(oldest);
}
