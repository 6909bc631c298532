import { optionalSetting } from '../../core/config.ts';
import { messageOf } from '../../core/failure.ts';
import { CommandFailure, EXIT, type ExitCode } from '../command-failure.ts';
import { networkReason } from './database-failure.ts';

/** A pattern for the name or message of an AWS error, and what it means for a person. */
type Refusal = readonly [pattern: RegExp, code: ExitCode, sentence: string];

export const EXPIRED = 'the AWS credentials have expired: sign in again';

/** Errors of the credentials, for every service. */
const OF_CREDENTIALS: readonly Refusal[] = [
  [/CredentialsProviderError|Could not load credentials/, EXIT.refused, 'no AWS credentials found: set AWS_PROFILE'],
  [/ExpiredToken|token.*expired/i, EXIT.refused, EXPIRED],
];

/** Returns the failure of every call to AWS without these settings; undefined with all of them. */
export function settingsFailure(missing: { region: unknown; credentials: unknown }): CommandFailure | undefined {
  const { region, credentials } = missing;
  const faults = [
    ...(region === undefined ? [] : ['the region is unknown']),
    ...(credentials === undefined ? [] : [credentialsFault(messageOf(credentials))]),
  ];
  const remedies = [
    ...(region === undefined ? [] : ['AWS_REGION']),
    ...(credentials === undefined ? [] : ['AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY']),
  ];
  if (faults.length === 0) return undefined;
  const sentence = `cannot reach AWS: ${faults.join(', and ')}: set ${remedies.join(', and ')}`;
  return new CommandFailure(EXIT.unreachable, sentence, { cause: credentials ?? region });
}

function credentialsFault(said: string): string {
  if (/expired/i.test(said)) return 'the session has expired: sign in again';
  const profile = optionalSetting('AWS_PROFILE');
  return profile === undefined ? 'no credentials were found' : `the profile ${profile} has no credentials`;
}

interface Asked {
  readonly service: string;
  readonly subject: string;
  readonly refusals: readonly Refusal[];
  /** The sentence for any other error; default its name and message. */
  readonly otherwise?: string | undefined;
}

/** Turns an AWS or network error into a sentence about `subject` and an exit code. */
function awsFailure(error: unknown, { service, subject, refusals, otherwise }: Asked): CommandFailure {
  const failure = (code: ExitCode, sentence: string) =>
    new CommandFailure(code, `${subject}: ${sentence}`, { cause: error });
  const network = networkReason(error);
  if (network !== undefined) return failure(EXIT.unreachable, `cannot reach ${service}: ${network}`);
  const said = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const silent: Refusal = [/TimeoutError/, EXIT.unreachable, `${service} does not respond`];
  const known = [...OF_CREDENTIALS, ...refusals, silent].find(([pattern]) => pattern.test(said));
  return known === undefined ? failure(EXIT.failed, otherwise ?? said) : failure(known[1], known[2]);
}

const NO_REGION: Refusal = [
  /Region is missing|Region not accepted/,
  ...([EXIT.refused, 'the AWS region is unknown: set AWS_REGION'] as const),
];
const LAMBDA_REFUSALS: readonly Refusal[] = [
  NO_REGION,
  [
    /AccessDenied|InvalidClientTokenId|UnrecognizedClient|InvalidSignature|SignatureDoesNotMatch/,
    ...([EXIT.refused, 'access denied: these AWS credentials lack the permission to use it'] as const),
  ],
  [/ResourceNotFound|ValidationException/, EXIT.notFound, 'no such function'],
  [/TooManyRequests|Throttl/, EXIT.failed, 'it is throttled: check its reserved concurrency, then try again'],
];

/** Turns a Lambda or network error into a sentence about a function and an exit code. */
export function lambdaFailure(error: unknown, functionName: string): CommandFailure {
  // An error that is not from the SDK already reads as a sentence.
  const otherwise = error instanceof Error && error.name === 'Error' ? error.message : undefined;
  return awsFailure(error, { service: 'Lambda', subject: functionName, refusals: LAMBDA_REFUSALS, otherwise });
}

/** Turns an error of the AWS environment into a sentence about the signature of a request. */
export function signatureFailure(error: unknown): CommandFailure {
  return awsFailure(error, { service: 'AWS', subject: 'MILLRACE_API_SIGN', refusals: [NO_REGION] });
}

const SQS_REFUSALS: readonly Refusal[] = [
  NO_REGION,
  [
    /AccessDenied|InvalidClientTokenId|UnrecognizedClient|SignatureDoesNotMatch|InvalidAccessKeyId|InvalidSecurity/,
    ...([
      EXIT.refused,
      'access denied: these AWS credentials lack the permission, or belong to another account',
    ] as const),
  ],
  [
    /already a task running/,
    EXIT.conflict,
    'a move task is already running: wait until it ends, or cancel it in the SQS console',
  ],
  [
    /configured as a Dead Letter Queue/,
    ...([
      EXIT.conflict,
      'no redrive policy names this queue, so SQS moves nothing: run npx millrace doctor, or omit --via-sqs',
    ] as const),
  ],
  [/ResourceNotFound|QueueDoesNotExist|NonExistentQueue/, EXIT.notFound, 'no such queue'],
];

/** Turns an SQS or network error into a sentence about `subject` and an exit code. */
export function sqsFailure(error: unknown, subject: string): CommandFailure {
  return error instanceof CommandFailure
    ? error
    : awsFailure(error, { service: 'SQS', subject, refusals: SQS_REFUSALS });
}
