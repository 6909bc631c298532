import { expect, it } from 'vitest';
import { toEvents, toSqsRecord } from '../../../local/lambda/sqs-record.ts';

const ARN = 'arn:aws:sqs:eu-central-1:123456789012:orders';

it('a message is converted to the record that Lambda passes to a function', () => {
  const record = toSqsRecord(
    {
      MessageId: 'id',
      ReceiptHandle: 'handle',
      Body: 'body',
      MD5OfBody: 'md5',
      MD5OfMessageAttributes: 'md5a',
      Attributes: { ApproximateReceiveCount: '2', SentTimestamp: '1', SenderId: 's' },
      MessageAttributes: {
        text: { DataType: 'String.kind', StringValue: 'v' },
        bytes: { DataType: 'Binary', BinaryValue: Uint8Array.of(0, 255) },
      },
    },
    ARN,
  );

  expect(record).toEqual({
    messageId: 'id',
    receiptHandle: 'handle',
    body: 'body',
    attributes: { ApproximateReceiveCount: '2', SentTimestamp: '1', SenderId: 's' },
    messageAttributes: {
      text: { stringValue: 'v', stringListValues: [], binaryListValues: [], dataType: 'String.kind' },
      bytes: { binaryValue: 'AP8=', stringListValues: [], binaryListValues: [], dataType: 'Binary' },
    },
    md5OfMessageAttributes: 'md5a',
    md5OfBody: 'md5',
    eventSource: 'aws:sqs',
    eventSourceARN: ARN,
    awsRegion: 'eu-central-1',
  });
});

it('a batch above 6 MB is split into events within the limit, without loss', () => {
  const body = 'ö'.repeat(512 * 1024);
  const records = Array.from({ length: 10 }, (_, n) => toSqsRecord({ MessageId: String(n), Body: body }, ARN));

  const events = toEvents(records);

  expect(events.length).toBe(2);
  expect(events.every(({ payload }) => Buffer.byteLength(payload) <= 6 * 1024 * 1024)).toBe(true);
  const received = events.flatMap(
    ({ payload }) => (JSON.parse(payload) as { Records: { messageId: string }[] }).Records,
  );
  expect(received.map(({ messageId }) => messageId)).toEqual(records.map(({ messageId }) => messageId));
});
