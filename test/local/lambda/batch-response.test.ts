import fc from 'fast-check';
import { expect, it } from 'vitest';
import { failedMessages } from '../../../local/lambda/batch-response.ts';

const IDS = ['a', 'b', 'c'];
const failedOf = (body: string) => [...failedMessages(body, IDS)].sort();

it.each(['null', '{}', '{"batchItemFailures":[]}', '{"batchItemFailures":null}', '{"statusCode":200}'])(
  'the response %s means that all messages succeeded',
  (body) => {
    expect(failedOf(body)).toEqual([]);
  },
);

it.each([
  '',
  'nonsense',
  '{"batchItemFailures":[',
  '"ok"',
  '[]',
  '{"batchItemFailures":"b"}',
  '{"batchItemFailures":[{"itemIdentifier":""}]}',
  '{"batchItemFailures":[{"itemIdentifier":null}]}',
  '{"batchItemFailures":[{"itemIdentifier":7}]}',
  '{"batchItemFailures":[{"messageId":"b"}]}',
  '{"batchItemFailures":[{"itemIdentifier":"b"},{"itemIdentifier":"unknown"}]}',
  '{"batchItemFailures":["b"]}',
  '{"batchItemFailures":[null]}',
])('the response %s fails the whole batch', (body) => {
  expect(failedOf(body)).toEqual(IDS);
});

it('a response fails exactly the messages it names', () => {
  fc.assert(
    fc.property(fc.subarray(IDS), (ids) => {
      const body = JSON.stringify({ batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })) });

      expect(failedOf(body)).toEqual(ids);
    }),
  );
});

it('any text fails only messages of the batch', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (body) => {
      expect(IDS).toEqual(expect.arrayContaining(failedOf(body)));
    }),
  );
});
