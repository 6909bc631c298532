import { ApiError, SettingError } from '../errors.ts';
import { messageOf } from '../failure.ts';
import { oneLine } from '../text.ts';
import { systemTime } from '../time.ts';
import { API_URL_EXPECTED, readApiUrl } from './api-url.ts';

/** Longer than the 15 s after which the API itself reports that its database does not respond. */
const LONGEST_MS = 20_000;
const MOST_TRIES = 4;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** Characters of an answer that a message contains. */
const LONGEST_DETAIL = 1000;
/** Answers after which the same request can succeed. */
const TEMPORARY = [429, 502, 503, 504];

export interface ApiOptions {
  /** Address of the API, such as `https://jobs.example.com`. `http://` only for an API on this machine. */
  readonly url: string;
  /** An API key. Default: none, as `npm start` requires none. */
  readonly key?: string | undefined;
  /** Further headers of each request, such as those of a gateway that requires a token of its own. */
  readonly headers?: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
}

export interface ApiRequest {
  readonly path: string;
  readonly method?: 'GET' | 'POST';
  /** JSON text. */
  readonly body?: string;
  /** Makes a repeated request happen once. */
  readonly idempotencyKey?: string;
  /** W3C trace context of the producer. */
  readonly traceparent?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type SendRequest = (request: ApiRequest) => Promise<unknown>;

/** Returns a function that sends a request, repeats it after a temporary failure, and returns the answer's document. */
export function openRequests({ url, ...access }: ApiOptions): SendRequest {
  const { key } = access;
  const read = readApiUrl(url, 'pass the option key');
  if ('fault' in read) throw new SettingError('url', '', undefined, `url: ${read.fault}; ${API_URL_EXPECTED}`);
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
    if (key === '') throw new SettingError('key', 'an API key; omit it for a server that requires none', key);
    throw new SettingError('key', 'printable ASCII characters without spaces', '(not shown)');
  }
  const base = read.url;
  return async (request) => {
    for (let tried = 1, pause = FIRST_PAUSE_MS; ; tried++, pause *= 2) {
      const answer = await send(base, access, request).catch((error: unknown): Refusal => {
        if (request.signal?.aborted) throw request.signal.reason;
        const message = `${base} does not answer: ${reasonOf(error)}`;
        return { error: new ApiError(message, null, null, { cause: error }), isTemporary: true, afterMs: 0 };
      });
      if ('document' in answer) return answer.document;
      if (tried === MOST_TRIES || !answer.isTemporary) throw answer.error;
      await systemTime.sleep(Math.min(Math.max(pause, answer.afterMs), LONGEST_PAUSE_MS), request.signal);
      request.signal?.throwIfAborted();
    }
  };
}

interface Refusal {
  readonly error: ApiError;
  /** Whether the same request can succeed later. */
  readonly isTemporary: boolean;
  /** The least time until then, in milliseconds. */
  readonly afterMs: number;
}

async function send(
  base: string,
  { key, headers }: Omit<ApiOptions, 'url'>,
  { path, method = 'GET', body, idempotencyKey, traceparent, signal }: ApiRequest,
): Promise<{ readonly document: unknown } | Refusal> {
  const timeout = AbortSignal.timeout(LONGEST_MS);
  const response = await fetch(base + path, {
    method,
    headers: {
      Accept: 'application/json',
      ...(key !== undefined && { Authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
      ...(traceparent !== undefined && { traceparent }),
      ...(await headers?.()),
    },
    body: body ?? null,
    redirect: 'manual',
    signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
  });
  const text = await response.text();
  const document = parse(text);
  if (response.ok && document !== undefined) return { document };
  return refusal(base, response, document);
}

function refusal(base: string, { status, headers }: Response, document: unknown): Refusal {
  const { type, title, detail = title } = (document ?? {}) as Record<string, unknown>;
  if (typeof type !== 'string' || typeof detail !== 'string') {
    const message = `${base} answered ${status} without a problem document: is this the API of Millrace?`;
    return { error: new ApiError(message, status), isTemporary: TEMPORARY.includes(status), afterMs: 0 };
  }
  const problem = type.split('/').at(-1) ?? null;
  return {
    error: new ApiError(`${base} answered ${status}: ${oneLine(detail, LONGEST_DETAIL)}`, status, problem),
    isTemporary: TEMPORARY.includes(status) || problem === 'in-progress',
    afterMs: 1000 * (Number(headers.get('retry-after')) || 0),
  };
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error ? messageOf(cause) : messageOf(error);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
