import type { ListedDeadLetter } from '../core/jobs/dead-letters-list.ts';
import type { ShownDeadLetter } from '../core/jobs/dead-letters-show.ts';
import { rawJson, snakeCase } from './json.ts';

/** A dead letter as `--json` has it. It has no bare `id`, which everywhere else is that of a job. */
export function listedDocument({ id, ...letter }: ListedDeadLetter): Record<string, unknown> {
  return { dead_letter_id: id, ...snakeCase(letter) };
}

/** All of it, with the payload digit for digit. */
export function deadLetterDocument(letter: ShownDeadLetter): Record<string, unknown> {
  return { ...listedDocument(letter), payload: letter.payload === null ? null : rawJson(letter.payload) };
}
