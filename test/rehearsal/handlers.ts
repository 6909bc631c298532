/** Returns its version and appends the job id to the file `note`. Throws DeadLetter until the file `until` exists. */
export function recording(version: number): string {
  return handler(
    'recording',
    `if (payload.until && !existsSync(payload.until)) throw new DeadLetter('the file is missing');
    await wait(payload.ms ?? 0, undefined, { signal });
    if (payload.note) appendFileSync(payload.note, jobId + '\\n');
    return { version: ${version} };`,
    // Short, so that a stopped attempt is soon rescued and retried.
    "timeout: '5s', retry: retry.schedule(['1s']),",
  );
}

/** Fails with a backoff of an hour until the file `until` exists. */
export function failing(): string {
  return handler(
    'failing',
    "if (!payload.until || !existsSync(payload.until)) throw new Error('the file is missing');",
    "retry: retry.schedule(['1h']),",
  );
}

/** Returns the name of its function. */
export function naming(jobType: string): string {
  return handler(jobType, 'return { function: process.env.AWS_LAMBDA_FUNCTION_NAME };', "timeout: '60s',");
}

/** Writes its job id to the bucket of `EXTEND_WITH_BUCKET`, and returns its secret. */
export function exporting(): string {
  return handler(
    'export_report',
    `const address = [process.env.AWS_ENDPOINT_URL, process.env.EXPORTS, jobId].join('/');
    const { ok } = await fetch(address, { method: 'PUT', body: jobId, signal });
    return { ok, token: secrets.RATES_TOKEN };`,
    "secrets: ['RATES_TOKEN'],",
  );
}

/** A file `infra/extend.ts`. */
export const EXTEND_WITH_BUCKET = `
import { Bucket } from 'aws-cdk-lib/aws-s3';

export default (millrace, stack) => {
  const bucket = new Bucket(stack, 'Exports', { bucketName: 'exports-of-shop' });
  const handler = millrace.handler('export_report');
  bucket.grantPut(handler);
  handler.function.lambda.addEnvironment('EXPORTS', bucket.bucketName);
};
`;

function handler(jobType: string, body: string, options = ''): string {
  return `
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { defineHandler } from '../../core/handler/handler.ts';
import { DeadLetter } from '../../core/handler/chosen-outcome.ts';
import { retry } from '../../core/handler/retry-policy.ts';

void appendFileSync, existsSync, wait, DeadLetter, retry;

export default defineHandler({
  jobType: '${jobType}',
  payload: z.object({ until: z.string().optional(), ms: z.number().optional(), note: z.string().optional() }),
  concurrency: 4,
  ${options}
  async run({ jobId, payload, secrets, signal }) {
    void jobId, payload, secrets, signal;
    ${body}
  },
});
`;
}
