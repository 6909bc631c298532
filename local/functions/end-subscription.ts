import { gzipSync } from 'node:zlib';
import { END_WORDS } from '../../core/run/process-end.ts';
import type { RunnerEvent } from '../lambda/specs.ts';

/**
 * Sends the lines that report the end of a process to a function, as a subscription of CloudWatch Logs does. `invoke`
 * receives the payload. Returns the listener for the events of the runner.
 */
export function openEndSubscription(invoke: (payload: unknown) => void): (event: RunnerEvent) => void {
  // The lines of a process that runs out of heap precede its end; a subscription delivers both together.
  const early = new Map<string, string>();
  const matches = (line: string) => END_WORDS.some((word) => line.includes(word));
  return ({ functionName, kind, message, requestId = '', lines = [], jobIds = [] }) => {
    if (kind === 'log') {
      if (matches(message)) early.set(functionName, message);
      return;
    }
    const before = early.get(functionName);
    early.delete(functionName);
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
