import * as z from 'zod';
import { ProblemDocument } from '../../../api/schemas.ts';
import { oneLine } from '../../../core/text.ts';
import { CommandFailure, EXIT, type ExitCode } from '../../command-failure.ts';
import { networkReason } from '../../target/database-failure.ts';

/** An answer that is no success, with the kind of problem that it names. */
export class ApiFailure extends CommandFailure {
  /** Such as `not-found`; undefined where something else than our API answered. */
  readonly problem: string | undefined;

  constructor(exitCode: ExitCode, message: string, problem?: string) {
    super(exitCode, message);
    this.problem = problem;
  }
}

/** What somebody who is not our API says: a gateway in front of it. */
const GatewayDocument = z.object({ message: z.string() });

const LONGEST_WORDS = 200;
const LONGEST_DETAIL = 1000;
const AT_THE_GATEWAY = 'is a proxy or a gateway in front of it that answers, or is this another server?';
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

/** Turns an answer that is no success into a sentence and an exit code. */
export function answerFailure(label: string, status: number, body: unknown): ApiFailure {
  const { data } = ProblemDocument.safeParse(body);
  const code = CODES[status] ?? EXIT.failed;
  if (data === undefined) {
    const said = GatewayDocument.safeParse(body).data?.message ?? 'without a reason';
    const words = oneLine(said, LONGEST_WORDS);
    if (code === EXIT.refused) return new ApiFailure(code, `${label} does not let us in: ${words}; ${SIGN_IN}`);
    // It names no problem, so nobody can take its 404 for an answer about a job.
    const isAnother = status < 500 && status !== 429;
    return new ApiFailure(
      isAnother ? EXIT.unreachable : EXIT.failed,
      `${label} answered ${status}: ${words}: ${AT_THE_GATEWAY}`,
    );
  }
  const { title, request_id: requestId } = data;
  const problem = data.type.replace(/^.*\//, '');
  // Nobody may take it for an answer about a job.
  if (problem === 'no-such-path') {
    return new ApiFailure(
      EXIT.unreachable,
      `${label} is not where the API is: it answers, and has no such path`,
      problem,
    );
  }
  const detail = oneLine(data.detail, LONGEST_DETAIL);
  const ended = problem === 'database-unavailable' ? EXIT.unreachable : code;
  return new ApiFailure(ended, sentence(label, status, { detail, title, requestId, ...scopesOf(data) }), problem);
}

const SIGN_IN =
  'put a key into MILLRACE_API_KEY; whoever reaches the database makes one: npx millrace keys create me --scope operator';

interface Told {
  readonly detail: string;
  readonly title: string;
  readonly requestId: string;
  readonly needed: string | undefined;
  readonly had: string;
}

function sentence(label: string, status: number, { detail, title, requestId, needed, had }: Told): string {
  if (status === 401) return `${label} does not let us in: ${detail}; ${SIGN_IN}`;
  if (status === 403 && needed !== undefined) {
    return `the key lacks the scope ${needed} and has ${had}: npx millrace keys create me --scope ${needed.split(' ')[0]}`;
  }
  return status >= 500 ? `${label}: ${title}: ${detail} (request ${requestId})` : detail;
}

function scopesOf({ required_scope: needed, your_scopes: scopes = [] }: z.output<typeof ProblemDocument>) {
  return { needed, had: scopes.length === 0 ? 'none' : scopes.join(', ') };
}

/** Something answered that is not our API; `type` is what it calls its answer. */
export function strangerFailure(label: string, status: number, type: string | null): ApiFailure {
  const what = type === null ? 'something' : type.split(';')[0];
  return new ApiFailure(EXIT.unreachable, `${label} answered ${status} with ${what} and no JSON: ${AT_THE_GATEWAY}`);
}

/** Nothing is asked at the other address: the key is for the one that was named. */
export function redirectFailure(label: string, location: string | null): ApiFailure {
  const origin = URL.parse(location ?? '', label)?.origin ?? 'nowhere';
  const told = `${label} sends us on to ${origin}, where the key does not go`;
  return new ApiFailure(EXIT.unreachable, `${told}: name the address of the API itself`);
}

/** No answer came. What `fetch` says itself is not passed on. */
export function connectionFailure(label: string, error: unknown, seconds: number): ApiFailure {
  const { name, cause } = error as Error;
  const late = name === 'TimeoutError' || /TIMEOUT/.test(String((cause as { code?: unknown } | undefined)?.code));
  const why = late ? `no answer within ${seconds} s` : (networkReason(cause) ?? 'the connection broke');
  return new ApiFailure(EXIT.unreachable, `cannot reach ${label}: ${why}`);
}
