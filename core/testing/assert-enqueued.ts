import { AssertionError } from 'node:assert';
import type { EnqueueClient } from '../enqueue/enqueue-client.ts';
import { checkClient } from '../enqueue/enqueue-client.ts';
import type { PayloadSchema } from '../handler/payload.ts';
import { type EnqueuedJob, type Seen, seeJobs } from './enqueued.ts';
import {
  describeExpected,
  describeJob,
  type Expected,
  type ExpectedHandler,
  type ExpectedOptions,
  expectedJob,
  isExpected,
  type PayloadPart,
} from './expected-job.ts';

/** Jobs that a failure lists, the newest. */
const MOST_LISTED = 20;

/**
 * Returns the jobs that the present transaction of the client inserted, or outside of a transaction all jobs of the
 * database, by id: those of a handler or job type, and with these properties, if they are given.
 * @throws SettingError that names the argument
 */
export async function enqueued<Schema extends PayloadSchema>(
  client: EnqueueClient,
  handler?: ExpectedHandler<Schema>,
  payload?: PayloadPart<Schema>,
  options?: ExpectedOptions,
): Promise<EnqueuedJob[]> {
  checkClient(client);
  const expected = handler === undefined ? undefined : expectedJob(handler, payload, options);
  const { jobs } = await seeJobs(client, expected?.jobType ?? '');
  return jobs.filter((job) => expected === undefined || isExpected(job, expected));
}

/**
 * Asserts that a job was enqueued: by the present transaction of the client, or outside of a transaction by any.
 * Takes the arguments of `enqueue`; the job may have further members in its payload. Returns the first such job.
 * @throws AssertionError that lists what was enqueued instead
 */
export async function assertEnqueued<Schema extends PayloadSchema>(
  client: EnqueueClient,
  handler: ExpectedHandler<Schema>,
  payload?: PayloadPart<Schema>,
  options?: ExpectedOptions,
): Promise<EnqueuedJob> {
  const { found, message } = await compare(client, expectedJob(handler, payload, options));
  if (found !== undefined) return found;
  throw new AssertionError({ message: message(), operator: 'assertEnqueued', stackStartFn: assertEnqueued });
}

/** Asserts the opposite of `assertEnqueued`. @throws AssertionError that lists the jobs */
export async function assertNotEnqueued<Schema extends PayloadSchema>(
  client: EnqueueClient,
  handler: ExpectedHandler<Schema>,
  payload?: PayloadPart<Schema>,
  options?: ExpectedOptions,
): Promise<void> {
  const { found, message } = await compare(client, expectedJob(handler, payload, options));
  if (found === undefined) return;
  throw new AssertionError({ message: message(), operator: 'assertNotEnqueued', stackStartFn: assertNotEnqueued });
}

/** The result of a matcher, as `expect.extend` requires it. */
interface MatcherResult {
  readonly pass: boolean;
  readonly message: () => string;
}

/** Matchers for `expect.extend`. */
export const millraceMatchers = {
  async toHaveEnqueued(
    client: EnqueueClient,
    handler: ExpectedHandler<PayloadSchema>,
    payload?: unknown,
    options?: ExpectedOptions,
  ): Promise<MatcherResult> {
    const { found, message } = await compare(client, expectedJob(handler, payload, options));
    return { pass: found !== undefined, message };
  },
};

/** The types of the matchers, for the interface `Matchers` of `expect`. */
export interface MillraceMatchers {
  /** Asserts that a job was enqueued, with the arguments of `enqueue`. Await it. */
  toHaveEnqueued<Schema extends PayloadSchema>(
    handler: ExpectedHandler<Schema>,
    payload?: PayloadPart<Schema>,
    options?: ExpectedOptions,
  ): Promise<void>;
}

interface Comparison {
  readonly found: EnqueuedJob | undefined;
  /** Why an assertion fails: the one that requires the job, or the one that refuses it. */
  readonly message: () => string;
}

async function compare(client: EnqueueClient, expected: Expected): Promise<Comparison> {
  checkClient(client);
  const seen = await seeJobs(client, '');
  const matching = seen.jobs.filter((job) => isExpected(job, expected));
  return {
    found: matching[0],
    message: () => (matching.length > 0 ? unexpected(expected, seen, matching) : missing(expected, seen)),
  };
}

function unexpected(expected: Expected, seen: Seen, matching: readonly EnqueuedJob[]): string {
  return `expected that ${placeOf(seen)} had not enqueued ${describeExpected(expected)}:\n${list(matching)}`;
}

function missing(expected: Expected, seen: Seen): string {
  const { jobs, others } = seen;
  const elsewhere = others.find((job) => isExpected(job, expected));
  const note =
    elsewhere === undefined
      ? ''
      : `\njob ${elsewhere.id} matches, but another transaction enqueued it: pass this client to enqueue`;
  const instead = jobs.length === 0 ? 'it enqueued no job' : `it enqueued:\n${list(jobs)}`;
  return `expected that ${placeOf(seen)} had enqueued ${describeExpected(expected)}; ${instead}${note}`;
}

function placeOf({ inTransaction }: Seen): string {
  return inTransaction ? 'this transaction' : 'a transaction of this database';
}

function list(jobs: readonly EnqueuedJob[]): string {
  const shown = jobs.slice(-MOST_LISTED).map(describeJob);
  const rest = jobs.length - shown.length;
  return [...(rest > 0 ? [`  ${rest} older jobs`] : []), ...shown].join('\n');
}
