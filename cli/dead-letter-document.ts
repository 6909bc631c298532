import type { ShownDeadLetter } from '../core/jobs/dead-letters-show.ts';
import { rawJson, snakeCase } from './json.ts';

/** A dead letter as `--json` has it: the columns' names, and the payload digit for digit. */
export function deadLetterDocument(letter: ShownDeadLetter): Record<string, unknown> {
  return { ...snakeCase(letter), payload: letter.payload === null ? null : rawJson(letter.payload) };
}
