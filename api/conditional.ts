import { createHash } from 'node:crypto';
import { toJson } from '../core/json.ts';
import { Problem } from './problem.ts';
import type { Answer, Route } from './route.ts';

/** Times of a count are left out of the ETag: equal numbers make an equal document, with a weak ETag. */
const TIMES = /"(?:as_of|counted_at)":"[^"]*"/g;

/** Whether responses of this route have an ETag: documents that clients poll. */
export function isConditional({ method, answers }: Route): boolean {
  return method === 'get' && answers[200]?.schema !== undefined;
}

/** Returns the response with its ETag, or 304 without a body when the caller already has this document. */
export function answerConditionally(request: Request, answer: Answer): Answer {
  if (answer.status !== 200 || answer.text !== undefined) return answer;
  const text = toJson(answer.body);
  const steady = text.replaceAll(TIMES, '');
  const etag = etagOf(steady);
  const headers = { ...answer.headers, ETag: steady === text ? etag : `W/${etag}` };
  const isKnown = names(request.headers.get('if-none-match'), etag);
  return isKnown ? { status: 304, headers } : { status: 200, text, headers };
}

/**
 * Checks the If-Match of a request.
 * @throws Problem when it names another version of the document.
 */
export function demandMatch(request: Request, document: unknown): void {
  const wanted = request.headers.get('if-match');
  if (wanted === null || names(wanted, etagOf(toJson(document)))) return;
  throw new Problem('precondition-failed', 'the job has changed since you read it: read it again, then decide');
}

function etagOf(text: string): string {
  return `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
}

/** Whether a list of tags, or `*`, includes this ETag. Caches make tags weak; a weak tag names the same document. */
function names(header: string | null, etag: string): boolean {
  if (header === null) return false;
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag);
}
