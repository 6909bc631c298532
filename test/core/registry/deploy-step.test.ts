import { expect, it } from 'vitest';
import { MigrationError } from '../../../core/errors.ts';
import { runStep } from '../../../core/registry/deploy-step.ts';

/** CloudFormation discards an answer that is longer. */
const MOST_BYTES = 4096;

async function failureOf(step: () => Promise<unknown>): Promise<Error> {
  return runStep(step).then(
    () => new Error('it did not fail'),
    (error: Error) => error,
  );
}

/** Returns the reason that CDK makes of what Lambda returns for an error. */
function reasonOf({ message, stack = '' }: Error): string {
  return [message, '', 'Logs: /aws/lambda/millrace-prod-migrate', '', ...stack.split('\n').slice(1)].join('\n');
}

it('returns what the step returns', async () => {
  expect(await runStep(async () => 'done')).toBe('done');
});

it('keeps a short error, its class and the start of its trace', async () => {
  const failure = new MigrationError('0012_x.sql: the file\nhas changed');

  const error = await failureOf(() => Promise.reject(failure));

  expect(error).toBe(failure);
  expect(error.message).toBe('0012_x.sql: the file\nhas changed');
  const [first, ...frames] = error.stack?.split('\n') ?? [];
  expect(first).toMatch(/Error: 0012_x\.sql: the file has changed$/);
  expect(frames).toHaveLength(3);
});

it.each(['a', 'é', '語', '🎉'])(
  'shortens a message of many %s, whole in the log, to the limit of an answer',
  async (one) => {
    const long = `${one.repeat(5000)}\nend`;

    const error = await failureOf(() => Promise.reject(new MigrationError(long)));

    expect(error.message).toMatch(RegExp(`^(?:${one})+…$`, 'u'));
    expect(Buffer.byteLength(error.message)).toBeGreaterThan(1990);
    expect(Buffer.byteLength(reasonOf(error))).toBeLessThan(MOST_BYTES - 1000);
    expect(error.stack).toContain(`${one.repeat(5000)} end`);
  },
);

it('passes on what is not an error', async () => {
  await expect(runStep(() => Promise.reject('text'))).rejects.toBe('text');
});
