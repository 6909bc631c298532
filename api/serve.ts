import { createHash } from 'node:crypto';
import { beginRequest } from '../core/access/begin-request.ts';
import { claimIdempotencyKey, type IdempotentRequest, keepAnswer } from '../core/access/idempotency.ts';
import { parseExactly, toJson } from '../core/json.ts';
import type { Log } from '../core/log.ts';
import type { Queryable } from '../core/postgres/database.ts';
import { isLockTimeout } from '../core/postgres/statement-errors.ts';
import { readTraceparent } from '../core/tracing.ts';
import type { Caller } from './caller.ts';
import { demandMatch } from './conditional.ts';
import type { JsonBody } from './json-body.ts';
import type { ParsedRequest } from './parse-request.ts';
import { invalid, oneFault, Problem } from './problem.ts';
import { redact } from './redact.ts';
import type { Answer, ApiDeps, Route } from './route.ts';

const STATEMENT_MS = 10_000;
const LOCK_MS = 1000;

/** An authorized and validated request. */
export interface Admitted extends ParsedRequest {
  readonly json: JsonBody | undefined;
  readonly caller: Caller;
  readonly request: Request;
  readonly log: Log;
}

/** Runs a route, in one transaction with the Idempotency-Key that makes it happen once. */
export async function serve(deps: ApiDeps, route: Route, admitted: Admitted): Promise<Answer> {
  const { caller } = admitted;
  const traceparent = readTraceparent(admitted.request.headers.get('traceparent') ?? '');
  const run = async (db: Queryable) => {
    const request = { ...admitted, traceparent, db, deps } as never;
    if (route.current && admitted.request.headers.has('if-match')) {
      demandMatch(admitted.request, redact(await route.current(request), caller.scopes));
    }
    const answer = await route.run(request);
    return route.scope === 'none' ? answer : seenBy(caller, answer);
  };
  const key = idempotencyKey(route, admitted);
  if (route.detached) return wakeAfter(deps, await run(deps.db));
  const answer = await inOneTransaction({ deps, caller }, async (tx) =>
    key === undefined ? run(tx) : seenBy(caller, await runOnce(tx, key, run)),
  );
  return wakeAfter(deps, answer);
}

/**
 * Removes the fields that the caller may not see. A stored response may contain fields that the caller may no longer
 * see.
 */
function seenBy({ scopes }: Caller, answer: Answer): Answer {
  return answer.body === undefined ? answer : { ...answer, body: redact(answer.body, scopes) };
}

async function wakeAfter({ dispatcher }: ApiDeps, answer: Answer): Promise<Answer> {
  if (answer.wake) await dispatcher.wake();
  return answer;
}

/** Does the work in a transaction with the time limits of a request and its caller as the actor. */
export function inOneTransaction<T>(
  { deps, caller }: { deps: ApiDeps; caller: Caller },
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  return deps.db.transaction(
    async (tx) => {
      await beginRequest(tx, { lockMs: LOCK_MS, actor: caller.name });
      return work(tx);
    },
    { statementMs: STATEMENT_MS },
  );
}

async function runOnce(
  tx: Queryable,
  key: IdempotentRequest,
  run: (db: Queryable) => Promise<Answer>,
): Promise<Answer> {
  const claimed = await claimIdempotencyKey(tx, key).catch((cause: unknown) => {
    if (!isLockTimeout(cause)) throw cause;
    const detail = 'a request with this Idempotency-Key is in progress: repeat the request to get its response';
    throw new Problem('in-progress', detail, { cause });
  });
  if (claimed.kind === 'reused') {
    const detail = 'another request used this Idempotency-Key: use a new key for this request';
    throw new Problem('idempotency-key-reused', detail);
  }
  if (claimed.kind === 'replayed') {
    const { status, location, body } = claimed.answer;
    const headers = { ...(location !== null && { Location: location }), 'Idempotency-Replayed': 'true' };
    return { status, body: parseExactly(body), headers };
  }
  const answer = await run(tx);
  const body = answer.text ?? toJson(answer.body);
  await keepAnswer(tx, key, { status: answer.status, location: answer.headers?.Location ?? null, body });
  const { body: _document, ...rest } = answer;
  return { ...rest, text: body };
}

/** Returns the key of the header, with quotes, as in the draft standard, or without. */
function idempotencyKey(route: Route, { request, caller, json }: Admitted): IdempotentRequest | undefined {
  const header = request.headers.get('idempotency-key');
  if (header === null || !route.idempotent) return undefined;
  const key = header.replace(/^"(.*)"$/, '$1');
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    const detail = 'expected 1 to 255 printable ASCII characters without spaces';
    throw invalid(oneFault({ in: 'header', pointer: '/idempotency-key', detail }));
  }
  const { pathname, search } = new URL(request.url);
  const hash = createHash('sha256').update(`${request.method} ${pathname}${search}\n`);
  return { caller: caller.id, key, sha256: hash.update(json?.bytes ?? '').digest('hex') };
}
