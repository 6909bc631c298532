import type { CommandFailure } from './command-failure.ts';
import { EXIT } from './exit-code.ts';
import { awsFailure, type Refusal } from './target/aws-failure.ts';

const REFUSALS: readonly Refusal[] = [
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
  return awsFailure(error, { service: 'Lambda', subject: functionName, refusals: REFUSALS, otherwise });
}
