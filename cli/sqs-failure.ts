import { CommandFailure } from './command-failure.ts';
import { EXIT } from './exit-code.ts';
import { awsFailure, type Refusal } from './target/aws-failure.ts';

const REFUSALS: readonly Refusal[] = [
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
  return error instanceof CommandFailure ? error : awsFailure(error, { service: 'SQS', subject, refusals: REFUSALS });
}
