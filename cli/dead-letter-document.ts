import { listedDocument } from '../core/jobs/dead-letters-list.ts';
import type { ShownDeadLetter } from '../core/jobs/dead-letters-show.ts';
import { rawJson } from './json.ts';

/** All of a dead letter as `--json` has it, with the payload digit for digit. */
export function deadLetterDocument(letter: ShownDeadLetter): Record<string, unknown> {
  return { ...listedDocument(letter), payload: letter.payload === null ? null : rawJson(letter.payload) };
}
