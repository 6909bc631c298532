import { openChildren } from '../../local/processes/children.ts';
import { parseLogLine } from '../../local/screen/log-line.ts';
import { openStack, type Stack } from '../../local/stack.ts';
import type { Project } from './project.ts';

/** A line that a bundled function wrote to its standard output, as CloudWatch gets it. */
export interface PrintedLine {
  readonly functionName: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface RecordedStack extends Stack {
  readonly lines: readonly PrintedLine[];
  /** Output of functions that is not a log line. */
  readonly others: readonly string[];
}

/** Starts the whole product in this process, so that a test can read the raw lines of its functions. */
export async function openRecordedStack({ folder }: Project): Promise<RecordedStack> {
  const children = openChildren();
  const lines: PrintedLine[] = [];
  const others: string[] = [];
  const never = new AbortController().signal;
  const stack = await openStack({
    ...{ children, project: folder, retryFactor: 0.01, stop: never, halt: never, printLine: () => undefined },
    onEvent: ({ kind, functionName, message }) => {
      if (kind !== 'log') return;
      const fields = parseLogLine(message);
      if (fields === undefined) others.push(`${functionName}: ${message}`);
      else lines.push({ functionName, fields });
    },
  });
  return { ...stack, lines, others };
}
