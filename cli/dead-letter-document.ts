import { listedDocument } from '../core/jobs/dead-letters-list.ts';
import type { SeenDeadLetter } from './engine.ts';
import { rawJson } from './json.ts';

/** All of a dead letter as `--json` has it, with the payload digit for digit. */
export function deadLetterDocument({ payload, rawBody, ...letter }: SeenDeadLetter): Record<string, unknown> {
  return {
    ...listedDocument(letter),
    payload: typeof payload === 'string' ? rawJson(payload) : payload,
    raw_body: rawBody,
    ...(payload === undefined && { payload_restricted: true }),
  };
}
