import type { RunnerEvent } from '../lambda/specs.ts';
import { repetitionOf } from './engine-lines.ts';
import { eventLine, functionLine } from './event-lines.ts';
import { parseLogLine } from './log-line.ts';
import type { Part } from './writers.ts';

/** Returns a function that prints events of a stack, and folds those about the same thing into a line and a count. */
export function openEventPrinter(printLine: (...parts: readonly Part[]) => void): (event: RunnerEvent) => void {
  /** Number of further events, by subject. */
  const counts = new Map<string, number>();
  return (event) => {
    const log = event.kind === 'log' ? parseLogLine(event.message) : undefined;
    const repetition = log && repetitionOf(log);
    const key = `${event.functionName} ${repetition?.key}`;
    const count = repetition && counts.get(key);
    if (count !== undefined) {
      counts.set(key, count + 1);
      return;
    }
    const line = eventLine(event, new Date());
    if (line === undefined) return;
    printLine(...line);
    if (repetition === undefined) return;
    counts.set(key, 0);
    const end = (): void => {
      const further = counts.get(key) ?? 0;
      counts.delete(key);
      const text = further === 0 ? undefined : repetition.more(further);
      if (text !== undefined) printLine(...functionLine(event.functionName, text, new Date()));
    };
    setTimeout(end, repetition.foldMs).unref();
  };
}
