import * as z from 'zod';
import { ProblemDocument } from '../../../api/schemas.ts';
import { SCOPES } from '../../../core/access/scopes.ts';
import { MOST_FAULTS } from '../../../core/errors.ts';
import { oneLine } from '../../../core/text.ts';
import { CommandFailure, EXIT, type ExitCode } from '../../command-failure.ts';
import { networkReason } from '../../target/database-failure.ts';

/** An error response, with its problem type. */
export class ApiFailure extends CommandFailure {
  /** Such as `not-found`; undefined when the response is not from our API. */
  readonly problem: string | undefined;

  constructor(exitCode: ExitCode, message: string, problem?: string) {
    super(exitCode, message);
    this.problem = problem;
  }
}

/** The error body of a gateway in front of the API. */
const GatewayDocument = z.object({ message: z.string() });

const LONGEST_WORDS = 200;
const LONGEST_DETAIL = 1000;
const LONGEST_SENTENCE = 2 * LONGEST_DETAIL;
const AT_THE_GATEWAY = 'the response may come from a proxy or gateway in front of the API, or from another server';
const CODES: Readonly<Record<number, ExitCode>> = {
  400: EXIT.usage,
  401: EXIT.refused,
  403: EXIT.refused,
  404: EXIT.notFound,
  409: EXIT.conflict,
  412: EXIT.conflict,
  413: EXIT.usage,
  422: EXIT.usage,
};

/** Turns an error response into a sentence and an exit code. */
export function answerFailure(label: string, status: number, body: unknown): ApiFailure {
  const { data } = ProblemDocument.safeParse(body);
  const code = CODES[status] ?? EXIT.failed;
  if (data === undefined) {
    const said = GatewayDocument.safeParse(body).data?.message ?? 'no reason given';
    const words = oneLine(said, LONGEST_WORDS);
    if (code === EXIT.refused) return new ApiFailure(code, `${label} denied access: ${words}; ${SIGN_IN}`);
    // Without a problem type, its 404 must not count as "no such job".
    const isAnother = status < 500 && status !== 429;
    return new ApiFailure(
      isAnother ? EXIT.unreachable : EXIT.failed,
      `${label} returned ${status}: ${words}: ${AT_THE_GATEWAY}`,
    );
  }
  const { title, request_id: requestId } = data;
  const problem = data.type.replace(/^.*\//, '');
  // This 404 must not count as "no such job".
  if (problem === 'no-such-path') {
    return new ApiFailure(
      EXIT.unreachable,
      `${label} is not the address of the API: the server has no such path`,
      problem,
    );
  }
  const detail = oneLine(detailOf(data), LONGEST_DETAIL);
  const ended = problem === 'database-unavailable' ? EXIT.unreachable : code;
  const told = sentence(label, status, { detail, title, requestId, ...scopesOf(data) });
  return new ApiFailure(ended, oneLine(told, LONGEST_SENTENCE), problem);
}

/** Returns all faults of a request, in the form of a refusal by the library: `detail` names only the first. */
function detailOf({ detail, errors = [] }: z.output<typeof ProblemDocument>): string {
  if (errors.length < 2) return detail;
  const shown = errors.slice(0, MOST_FAULTS).map((fault) => `${fault.in} ${fault.pointer}: ${fault.detail}`);
  const [, further = '0'] = /\(and (\d+) more: see errors\)$/.exec(detail) ?? [];
  const more = 1 + Number(further) - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

const SIGN_IN =
  'set MILLRACE_API_KEY, or MILLRACE_API_SIGN=aws if the API requires iam; with access to the database, ' +
  'create a key: npx millrace keys create me --scope operator';

interface Told {
  readonly detail: string;
  readonly title: string;
  readonly requestId: string;
  readonly needed: string | undefined;
  readonly had: string;
}

function sentence(label: string, status: number, { detail, title, requestId, needed, had }: Told): string {
  if (status === 401) return `${label} denied access: ${detail}; ${SIGN_IN}`;
  if (status === 403 && needed !== undefined) {
    const create = `npx millrace keys create me --scope ${needed.split(' ')[0]}`;
    return `the key lacks the scope ${needed} (it has ${had}): ${create}`;
  }
  return status >= 500 ? `${label}: ${title}: ${detail} (request ${requestId})` : detail;
}

/** Returns the required scope only if it is known: an operator pastes the command that contains it. */
function scopesOf({ required_scope: required, your_scopes: scopes = [] }: z.output<typeof ProblemDocument>) {
  const isKnown = (word: string) => SCOPES.some((scope) => scope === word);
  const needed = required?.split(' or ').every(isKnown) ? required : undefined;
  return { needed, had: scopes.length === 0 ? 'none' : scopes.join(', ') };
}

/** Describes a response that is not from our API; `type` is its content type. */
export function strangerFailure(label: string, status: number, type: string | null): ApiFailure {
  const what = type === null ? 'none' : type.split(';')[0];
  return new ApiFailure(
    EXIT.unreachable,
    `${label} returned ${status} without valid JSON (content type ${what}): ${AT_THE_GATEWAY}`,
  );
}

/** Describes a redirect, which the client does not follow: the key is for the given address only. */
export function redirectFailure(label: string, location: string | null): ApiFailure {
  const origin = URL.parse(location ?? '', label)?.origin ?? 'an unknown address';
  const told = `${label} redirects to ${origin}, which must not get the key`;
  return new ApiFailure(EXIT.unreachable, `${told}: use the address of the API itself`);
}

/** Describes a request without a response. The message of `fetch` itself is not passed on. */
export function connectionFailure(label: string, error: unknown, seconds: number): ApiFailure {
  const { name, cause } = error as Error;
  const late = name === 'TimeoutError' || /TIMEOUT/.test(String((cause as { code?: unknown } | undefined)?.code));
  const why = late ? `no response within ${seconds} s` : (networkReason(cause) ?? 'the connection was lost');
  return new ApiFailure(EXIT.unreachable, `cannot reach ${label}: ${why}`);
}
