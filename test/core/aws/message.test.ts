import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeMessage, encodeMessage } from '../../../core/aws/message.ts';
import { decodeBatch, type SqsRecord } from '../../../core/run/sqs-event.ts';

const id = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }).map(String);
const epoch = fc.stringMatching(/^[0-9a-f]{12}$/);
const message = fc.record({ epoch, jobId: id, claimNo: id });

it('decodes an encoded message with all digits', () => {
  fc.assert(fc.property(message, (one) => void expect(decodeMessage(encodeMessage(one))).toEqual(one)));
});

it('encodes any ids in about a hundred bytes', () => {
  fc.assert(fc.property(message, (one) => void expect(Buffer.byteLength(encodeMessage(one))).toBeLessThan(110)));
});

it.each([
  ['a number for an id', { v: 1, epoch: 'e', job: 1, claim: '1' }],
  ['an id of zero', { v: 1, epoch: 'e', job: '0', claim: '1' }],
  ['an id that bigint cannot hold', { v: 1, epoch: 'e', job: '9223372036854775808', claim: '1' }],
  ['an id with a newline', { v: 1, epoch: 'e', job: '1\n', claim: '1' }],
  ['no claim', { v: 1, epoch: 'e', job: '1' }],
  ['another version', { v: 2, epoch: 'e', job: '1', claim: '1' }],
  ['an epoch with a NUL, which Postgres refuses', { v: 1, epoch: 'e\0', job: '1', claim: '1' }],
  ['half a surrogate pair for an epoch', { v: 1, epoch: '\ud83d', job: '1', claim: '1' }],
  ['an epoch that is too long', { v: 1, epoch: 'e'.repeat(100_000), job: '1', claim: '1' }],
])('does not decode a message with %s', (_what, body) => {
  expect(decodeMessage(JSON.stringify(body))).toBeUndefined();
});

it('never throws, and decodes only ids and epochs that Postgres accepts', () => {
  const part = fc.oneof(fc.string({ unit: 'binary' }), id, fc.jsonValue());
  const alike = fc
    .record({ v: fc.constantFrom(1, 2, '1'), epoch: part, job: part, claim: part })
    .map((body) => JSON.stringify(body));
  const body = fc.oneof(fc.string({ unit: 'binary' }), fc.json(), alike);
  fc.assert(
    fc.property(body, (text) => {
      const read = decodeMessage(text);

      if (read === undefined) return;
      expect(read.epoch).toMatch(/^[\w-]{1,64}$/);
      for (const value of [read.jobId, read.claimNo]) expect(BigInt.asIntN(64, BigInt(value))).toBeGreaterThan(0n);
    }),
  );
});

describe('a batch', () => {
  let last = 0;
  const record = (body: string, fields: Partial<SqsRecord> = {}): SqsRecord => ({
    messageId: `m-${++last}`,
    receiptHandle: `r-${last}`,
    body,
    attributes: { ApproximateReceiveCount: '2', SentTimestamp: '1700000000123' },
    ...fields,
  });
  const body = (jobId: string, claimNo = '1', of = 'e') => encodeMessage({ epoch: of, jobId, claimNo });

  it('separates the first message of a claim, its twins and unreadable messages', () => {
    const records = [record(body('1')), record('?'), record(body('1')), record(body('2')), record(body('1', '2'))];

    const { deliveries, twins, unreadable } = decodeBatch({ Records: records });

    expect(deliveries.map(({ messageId }) => messageId)).toEqual([0, 3, 4].map((n) => records[n]!.messageId));
    expect(twins.map(({ messageId }) => messageId)).toEqual([records[2]!.messageId]);
    expect(unreadable).toEqual([records[1]]);
  });

  it('treats two copies of one message id as one message', () => {
    const first = record(body('1'));

    const { deliveries, twins } = decodeBatch({ Records: [first, { ...first, receiptHandle: 'r-later' }] });

    expect([deliveries.length, twins.length]).toEqual([1, 0]);
  });

  it('separates messages of two epochs', () => {
    const { deliveries, twins } = decodeBatch({ Records: [record(body('1')), record(body('1', '1', 'f'))] });

    expect([deliveries.length, twins.length]).toEqual([2, 0]);
  });

  it('decodes the send time and the receive count as numbers', () => {
    const { deliveries } = decodeBatch({ Records: [record(body('1'))] });

    expect(deliveries[0]).toMatchObject({ sentAt: 1_700_000_000_123, receiveCount: 2 });
  });

  it.each([
    ['no attributes', {}],
    ['no send time', { attributes: { ApproximateReceiveCount: '1' } }],
    ['a time that is not a number', { attributes: { ApproximateReceiveCount: '1', SentTimestamp: 'now' } }],
    ['a time after the year 9999', { attributes: { ApproximateReceiveCount: '1', SentTimestamp: '9'.repeat(18) } }],
    ['no receive count', { attributes: { SentTimestamp: '1700000000123' } }],
  ])('decodes no record with %s', (_what, fields) => {
    const { attributes: _dropped, ...rest } = record(body('1'));

    const { unreadable } = decodeBatch({ Records: [{ ...rest, ...fields }] });

    expect(unreadable).toHaveLength(1);
  });
});
