import { createHash } from 'node:crypto';
import { toJson } from '../core/json.ts';
import { Problem } from './problem.ts';
import type { Answer, Route } from './route.ts';

/** When something was counted is no news by itself: numbers that are the same are the same document, if a weak one. */
const TIMES = /"(?:as_of|counted_at)":"[^"]*"/g;

/** Whether an answer of this route carries an ETag: a document that somebody may ask for again and again. */
export function isConditional({ method, answers }: Route): boolean {
  return method === 'get' && answers[200]?.schema !== undefined;
}

/** The answer with its ETag; only that, with 304, when the caller has this very document. */
export function answerConditionally(request: Request, answer: Answer): Answer {
  if (answer.status !== 200 || answer.text !== undefined) return answer;
  const text = toJson(answer.body);
  const steady = text.replaceAll(TIMES, '');
  const etag = etagOf(steady);
  const headers = { ...answer.headers, ETag: steady === text ? etag : `W/${etag}` };
  const isKnown = names(request.headers.get('if-none-match'), etag);
  return isKnown ? { status: 304, headers } : { status: 200, text, headers };
}

/** @throws Problem when the caller has seen another document than this: somebody else was quicker. */
export function demandMatch(request: Request, document: unknown): void {
  const wanted = request.headers.get('if-match');
  if (wanted === null || names(wanted, etagOf(toJson(document)))) return;
  throw new Problem('precondition-failed', 'it has changed since you read it: read it again, then decide');
}

function etagOf(text: string): string {
  return `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
}

/** A list of tags, or `*` for any; those of a cache between us are weak, and name the same document. */
function names(header: string | null, etag: string): boolean {
  if (header === null) return false;
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag);
}
