import fc from 'fast-check';
import { expect, test } from 'vitest';
import { failedMessages } from '../../../local/lambda/batch-response.ts';

const IDS = ['a', 'b', 'c'];
const failedOf = (body: string) => [...failedMessages(body, IDS)].sort();

test.each(['null', '{}', '{"batchItemFailures":[]}', '{"batchItemFailures":null}', '{"statusCode":200}'])(
  '%s means that all succeeded',
  (body) => {
    expect(failedOf(body)).toEqual([]);
  },
);

test.each([
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
])('%s fails the whole batch', (body) => {
  expect(failedOf(body)).toEqual(IDS);
});

test('the named messages fail and no other', () => {
  fc.assert(
    fc.property(fc.subarray(IDS), (ids) => {
      const body = JSON.stringify({ batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })) });

      expect(failedOf(body)).toEqual(ids);
    }),
  );
});

test('any text gets a verdict on messages of the batch only', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (body) => {
      expect(IDS).toEqual(expect.arrayContaining(failedOf(body)));
    }),
  );
});
