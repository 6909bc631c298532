import { expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { type Effects, type EffectsOptions, openEffects, VISIBILITY_SECONDS } from './effects-fixture.ts';

const BODIES = ['a', 'b', 'c'];
const PATIENT = { timeout: 60_000 };

/** Sends messages to a function that returns `expression` at the first invocation, later that all succeeded. */
async function answerOnce(expression: string, options: EffectsOptions = {}): Promise<Effects> {
  const effects = await openEffects({
    body: `const id = (body) => event.Records.find((record) => record.body === body)?.messageId;
           if (first) return ${expression};`,
    ...options,
  });
  await effects.send(BODIES);
  effects.map();
  return effects;
}

const received = (effects: Effects) => effects.seen().map(({ body, receives }) => `${body}${receives}`);

async function untilEmpty(effects: Effects): Promise<void> {
  await eventually(async () => {
    expect(effects.seen()).not.toEqual([]);
    expect(await effects.depth()).toEqual({ visible: 0, inFlight: 0 });
  }, PATIENT);
}

// "Lambda treats a batch as a complete success if your function returns any of the following: an empty
// batchItemFailures list, a null batchItemFailures list, an empty EventResponse, a null EventResponse." (Handling
// errors for an SQS event source. The last two rows are not in that list, but have no batchItemFailures either.)
it.concurrent.each([
  '{ batchItemFailures: [] }',
  '{ batchItemFailures: null }',
  '{}',
  'null',
  'undefined',
  '{ statusCode: 200 }',
])('the response %s deletes the whole batch', async (expression) => {
  const effects = await answerOnce(expression, { visibilitySeconds: 30 });

  await untilEmpty(effects);

  expect(received(effects)).toEqual(['a1', 'b1', 'c1']);
  await effects.close();
});

// "Lambda treats a batch as a complete failure if your function returns any of the following: an invalid JSON
// response, an empty string itemIdentifier, a null itemIdentifier, an itemIdentifier with a bad key name." An unknown
// identifier, and JSON that is not an object, are not documented: to keep too many messages is safe.
it.concurrent.each([
  "{ batchItemFailures: [{ itemIdentifier: '' }] }",
  '{ batchItemFailures: [{ itemIdentifier: null }] }',
  "{ batchItemFailures: [{ id: id('b') }] }",
  '{ batchItemFailures: [{}] }',
  "{ batchItemFailures: [id('b')] }",
  "{ batchItemFailures: [{ itemIdentifier: id('b') }, { itemIdentifier: '' }] }",
  "{ batchItemFailures: [{ itemIdentifier: id('b') }, { itemIdentifier: '00000000-0000-4000-8000-000000000000' }] }",
  "{ batchItemFailures: 'b' }",
  "'ok'",
  'event.Records',
])('the response %s keeps the whole batch in the queue, with one more receive', async (expression) => {
  const effects = await answerOnce(expression);

  await eventually(() => expect(effects.seen()).toHaveLength(6), PATIENT);
  await untilEmpty(effects);

  expect(received(effects).sort()).toEqual(['a1', 'a2', 'b1', 'b2', 'c1', 'c2']);
  await effects.close();
});

it.concurrent('a response that is not JSON keeps the whole batch in the queue, with one more receive', async () => {
  const source = `
    const api = 'http://' + process.env.AWS_LAMBDA_RUNTIME_API + '/2018-06-01/runtime/invocation/';
    for (;;) {
      const next = await fetch(api + 'next');
      const { Records } = await next.json();
      const seen = Records.map(({ body, attributes }) => ({
        body,
        receives: Number(attributes.ApproximateReceiveCount),
      }));
      process.stdout.write('seen ' + JSON.stringify(seen) + '\\n');
      const body = seen[0].receives === 1 ? '{"batchItemFailures":[' : '{}';
      const id = next.headers.get('lambda-runtime-aws-request-id');
      await fetch(api + id + '/response', { method: 'POST', body });
    }`;
  const effects = await openEffects({ source });
  await effects.send(BODIES);
  effects.map();

  await eventually(() => expect(effects.seen()).toHaveLength(6), PATIENT);
  await untilEmpty(effects);

  expect(received(effects).sort()).toEqual(['a1', 'a2', 'b1', 'b2', 'c1', 'c2']);
  await effects.close();
});

// "To avoid reprocessing successfully processed messages in a failed batch, you can configure your event source mapping
// to make only the failed messages visible again."
it.concurrent('only the messages that a response names become visible, after the visibility timeout', async () => {
  const effects = await answerOnce("{ batchItemFailures: [{ itemIdentifier: id('b') }] }");

  const seen = await eventually(() => {
    expect(effects.seen()).toHaveLength(4);
    return effects.seen();
  }, PATIENT);
  await untilEmpty(effects);

  expect(received(effects)).toEqual(['a1', 'b1', 'c1', 'b2']);
  expect(seen[3]?.age).toBeGreaterThanOrEqual(VISIBILITY_SECONDS * 1000);
  await effects.close();
});

// "When ReportBatchItemFailures is activated, Lambda doesn't scale down message polling when function invocations
// fail." (Handling errors for an SQS event source)
it.concurrent('failures do not delay the messages after them', async () => {
  const effects = await openEffects({
    body: "if (event.Records[0].body === 'bad') throw new Error('no');",
    mapping: { batchSize: 1 },
    visibilitySeconds: 60,
  });
  await effects.send(Array.from({ length: 10 }, () => 'bad'));
  await effects.send(['good']);

  effects.map();

  await eventually(() => expect(received(effects)).toContain('good1'));
  await eventually(async () => expect(await effects.depth()).toEqual({ visible: 0, inFlight: 10 }));
  await effects.close();
});
