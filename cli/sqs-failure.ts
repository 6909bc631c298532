import { CommandFailure } from './command-failure.ts';
import { networkReason } from './database-failure.ts';
import { EXIT, type ExitCode } from './exit-code.ts';

/** By what the SDK or SQS say, in its name or its message. */
const REFUSALS: readonly (readonly [pattern: RegExp, code: ExitCode, sentence: string])[] = [
  [/Region is missing|Region not accepted/, EXIT.refused, 'it is not known which region SQS is in: set AWS_REGION'],
  [
    /CredentialsProviderError|Could not load credentials/,
    EXIT.refused,
    'there are no AWS credentials: set AWS_PROFILE',
  ],
  [/ExpiredToken|token.*expired/i, EXIT.refused, 'the AWS credentials have expired: sign in again'],
  [
    /AccessDenied|InvalidClientTokenId|UnrecognizedClient|SignatureDoesNotMatch|InvalidAccessKeyId|InvalidSecurity/,
    ...([
      EXIT.refused,
      'SQS does not allow it: these AWS credentials lack the right, or are of another account',
    ] as const),
  ],
  [/already a task running/, EXIT.conflict, 'a move task is running there already: wait for its end, or cancel it'],
  [
    /configured as a Dead Letter Queue/,
    ...([EXIT.conflict, 'no queue names it in its redrive policy, so SQS moves nothing out of it'] as const),
  ],
  [/ResourceNotFound|QueueDoesNotExist|NonExistentQueue/, EXIT.notFound, 'there is no such queue'],
  [/TimeoutError/, EXIT.unreachable, 'SQS does not answer'],
];

/** Turns an error of SQS or of the way to it into a sentence about `subject` and an exit code. */
export function sqsFailure(error: unknown, subject: string): CommandFailure {
  if (error instanceof CommandFailure) return error;
  const network = networkReason(error);
  if (network !== undefined) return failure(EXIT.unreachable, `${subject}: cannot reach SQS: ${network}`, error);
  const said = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const [, code, sentence] = REFUSALS.find(([pattern]) => pattern.test(said)) ?? [undefined, EXIT.failed, said];
  return failure(code, `${subject}: ${sentence}`, error);
}

function failure(code: ExitCode, message: string, cause: unknown): CommandFailure {
  return new CommandFailure(code, message, { cause });
}
