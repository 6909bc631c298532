import { CommandFailure } from './command-failure.ts';
import { networkReason } from './database-failure.ts';
import { EXIT, type ExitCode } from './exit-code.ts';

/** By what the SDK or Lambda say, in its name or its message. */
const REFUSALS: readonly (readonly [pattern: RegExp, code: ExitCode, sentence: string])[] = [
  [/Region is missing|Region not accepted/, EXIT.refused, 'it is not known which region it is in: set AWS_REGION'],
  [
    /CredentialsProviderError|Could not load credentials/,
    EXIT.refused,
    'there are no AWS credentials: set AWS_PROFILE',
  ],
  [/ExpiredToken|token.*expired/i, EXIT.refused, 'the AWS credentials have expired: sign in again'],
  [
    /AccessDenied|InvalidClientTokenId|UnrecognizedClient|InvalidSignature|SignatureDoesNotMatch/,
    ...([EXIT.refused, 'Lambda does not allow it: these AWS credentials lack the right to invoke it'] as const),
  ],
  [/ResourceNotFound|ValidationException/, EXIT.notFound, 'there is no such function'],
  [/TooManyRequests|Throttl/, EXIT.failed, 'it is throttled: look at its reserved concurrency, then try again'],
  [/TimeoutError/, EXIT.unreachable, 'Lambda does not answer'],
];

/** Turns an error of Lambda or of the way to it into a sentence about a function and an exit code. */
export function lambdaFailure(error: unknown, functionName: string): CommandFailure {
  const network = networkReason(error);
  const failure = (code: ExitCode, sentence: string) =>
    new CommandFailure(code, `${functionName}: ${sentence}`, { cause: error });
  if (network !== undefined) return failure(EXIT.unreachable, `cannot reach Lambda: ${network}`);
  const said = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const [, code, sentence] = REFUSALS.find(([pattern]) => pattern.test(said)) ?? [
    undefined,
    EXIT.failed,
    error instanceof Error && error.name === 'Error' ? error.message : said,
  ];
  return failure(code, sentence);
}
