import { listedDocument } from '../core/dead-letters/list-dead-letters.ts';
import type { SeenDeadLetter } from './backend/backend.ts';
import { exactJson } from './screen/json.ts';

/** All of a dead letter as `--json` has it, with the payload digit for digit. */
export function deadLetterDocument({ payload, rawBody, ...letter }: SeenDeadLetter): Record<string, unknown> {
  return {
    ...listedDocument(letter),
    payload: typeof payload === 'string' ? exactJson(payload) : payload,
    raw_body: rawBody,
    ...(payload === undefined && { payload_restricted: true }),
  };
}
