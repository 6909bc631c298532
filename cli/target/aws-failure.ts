import { CommandFailure } from '../command-failure.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { networkReason } from './database-failure.ts';

/** What a service or its SDK say, in the name or the message of an error, and what that means for a person. */
export type Refusal = readonly [pattern: RegExp, code: ExitCode, sentence: string];

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
export function awsFailure(error: unknown, { service, subject, refusals, otherwise }: Asked): CommandFailure {
  const failure = (code: ExitCode, sentence: string) =>
    new CommandFailure(code, `${subject}: ${sentence}`, { cause: error });
  const network = networkReason(error);
  if (network !== undefined) return failure(EXIT.unreachable, `cannot reach ${service}: ${network}`);
  const said = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const silent: Refusal = [/TimeoutError/, EXIT.unreachable, `${service} does not answer`];
  const known = [...OF_CREDENTIALS, ...refusals, silent].find(([pattern]) => pattern.test(said));
  return known === undefined ? failure(EXIT.failed, otherwise ?? said) : failure(known[1], known[2]);
}
