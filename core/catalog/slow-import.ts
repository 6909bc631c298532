import { basename } from 'node:path';

/** An ordinary import takes half a second, and some seconds on a busy machine. */
const SLOW_MS = 4_000;

/** Who learns that the import of a file takes long. */
export interface SlowImport {
  readonly printLine: (line: string) => void;
  readonly afterMs?: number;
}

/** Waits for an import, and prints one line if it takes long: until it ends or is given up, nothing else would. */
export async function reportSlow<T>(file: string, work: Promise<T>, slow: SlowImport | undefined): Promise<T> {
  if (slow === undefined) return work;
  const { printLine, afterMs = SLOW_MS } = slow;
  const timer = setTimeout(() => printLine(`${basename(file)}: still importing`), afterMs);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}
