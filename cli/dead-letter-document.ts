import { listedDocument } from '../core/dead-letters/list-dead-letters.ts';
import type { SeenDeadLetter } from './backend/backend.ts';
import { rawJson } from './screen/json.ts';

/** All of a dead letter as `--json` has it, with the payload digit for digit. */
export function deadLetterDocument({ payload, rawBody, ...letter }: SeenDeadLetter): Record<string, unknown> {
  return {
    ...listedDocument(letter),
    payload: typeof payload === 'string' ? rawJson(payload) : payload,
    raw_body: rawBody,
    ...(payload === undefined && { payload_restricted: true }),
  };
}
