import { CommandFailure, EXIT, type ExitCode } from '../command-failure.ts';
import { networkReason } from './database-failure.ts';

/** What a service or its SDK say, in the name or the message of an error, and what that means for a person. */
type Refusal = readonly [pattern: RegExp, code: ExitCode, sentence: string];

/** Of the credentials, whatever the service. */
const OF_CREDENTIALS: readonly Refusal[] = [
  [
    /CredentialsProviderError|Could not load credentials/,
    EXIT.refused,
    'there are no AWS credentials: set AWS_PROFILE',
  ],
  [/ExpiredToken|token.*expired/i, EXIT.refused, 'the AWS credentials have expired: sign in again'],
];

interface Asked {
  readonly service: string;
  readonly subject: string;
  readonly refusals: readonly Refusal[];
  /** Of an error that none of them knows; default its name and message. */
  readonly otherwise?: string | undefined;
}

/** Turns an error of an AWS service or of the way to it into a sentence about `subject` and an exit code. */
function awsFailure(error: unknown, { service, subject, refusals, otherwise }: Asked): CommandFailure {
  const failure = (code: ExitCode, sentence: string) =>
    new CommandFailure(code, `${subject}: ${sentence}`, { cause: error });
  const network = networkReason(error);
  if (network !== undefined) return failure(EXIT.unreachable, `cannot reach ${service}: ${network}`);
  const said = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const silent: Refusal = [/TimeoutError/, EXIT.unreachable, `${service} does not answer`];
  const known = [...OF_CREDENTIALS, ...refusals, silent].find(([pattern]) => pattern.test(said));
  return known === undefined ? failure(EXIT.failed, otherwise ?? said) : failure(known[1], known[2]);
}

const LAMBDA_REFUSALS: readonly Refusal[] = [
  [/Region is missing|Region not accepted/, EXIT.refused, 'it is not known which region it is in: set AWS_REGION'],
  [
    /AccessDenied|InvalidClientTokenId|UnrecognizedClient|InvalidSignature|SignatureDoesNotMatch/,
    ...([EXIT.refused, 'Lambda does not allow it: these AWS credentials lack the right to invoke it'] as const),
  ],
  [/ResourceNotFound|ValidationException/, EXIT.notFound, 'there is no such function'],
  [/TooManyRequests|Throttl/, EXIT.failed, 'it is throttled: look at its reserved concurrency, then try again'],
];

/** Turns an error of Lambda or of the way to it into a sentence about a function and an exit code. */
export function lambdaFailure(error: unknown, functionName: string): CommandFailure {
  // What is no error of the SDK is a sentence of ours.
  const otherwise = error instanceof Error && error.name === 'Error' ? error.message : undefined;
  return awsFailure(error, { service: 'Lambda', subject: functionName, refusals: LAMBDA_REFUSALS, otherwise });
}

const SQS_REFUSALS: readonly Refusal[] = [
  [/Region is missing|Region not accepted/, EXIT.refused, 'it is not known which region SQS is in: set AWS_REGION'],
  [
    /AccessDenied|InvalidClientTokenId|UnrecognizedClient|SignatureDoesNotMatch|InvalidAccessKeyId|InvalidSecurity/,
    ...([
      EXIT.refused,
      'SQS does not allow it: these AWS credentials lack the right, or are of another account',
    ] as const),
  ],
  [
    /already a task running/,
    EXIT.conflict,
    'a move task is running there already: wait for its end, or cancel it in the SQS console',
  ],
  [
    /configured as a Dead Letter Queue/,
    ...([
      EXIT.conflict,
      'no queue names it in its redrive policy, so SQS moves nothing: npx millrace doctor, or leave --via-sqs out',
    ] as const),
  ],
  [/ResourceNotFound|QueueDoesNotExist|NonExistentQueue/, EXIT.notFound, 'there is no such queue'],
];

/** Turns an error of SQS or of the way to it into a sentence about `subject` and an exit code. */
export function sqsFailure(error: unknown, subject: string): CommandFailure {
  return error instanceof CommandFailure
    ? error
    : awsFailure(error, { service: 'SQS', subject, refusals: SQS_REFUSALS });
}
