import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeFailure } from '../../../core/failure.ts';
import { maskValues } from '../../../core/mask-values.ts';

/** The messages of messages.txt, one list for each kind of error. */
const KINDS = readFileSync(join(import.meta.dirname, 'messages.txt'), 'utf8')
  .replace(/^#.*\n/gm, '')
  .trim()
  .split(/\n{2,}/)
  .map((kind) => kind.split('\n'));

/** An error without a stack: what distinguishes these messages is their text alone. */
function printOf(message: string): string {
  const error = new Error(message);
  delete error.stack;
  return describeFailure(error).fingerprint;
}

describe('the messages of libraries and services', () => {
  it('are more than two hundred', () => {
    expect(KINDS.flat().length).toBeGreaterThan(200);
  });

  it('have one fingerprint for each kind', () => {
    const split = KINDS.filter((kind) => new Set(kind.map(printOf)).size > 1);

    expect(split.map((kind) => kind.map(maskValues))).toEqual([]);
  });

  it('have another fingerprint for another kind', () => {
    const byPrint = Map.groupBy(KINDS, ([message = '']) => printOf(message));

    expect([...byPrint.values()].filter((kinds) => kinds.length > 1)).toEqual([]);
  });
});
