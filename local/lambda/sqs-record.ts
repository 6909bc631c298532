import type { Message, MessageAttributeValue } from '@aws-sdk/client-sqs';

/** A record of an SQS event, as Lambda passes it to a function. */
export interface SqsRecord {
  messageId: string;
  receiptHandle: string;
  body: string;
  attributes: Record<string, string>;
  messageAttributes: Record<string, SqsRecordAttribute>;
  md5OfMessageAttributes?: string;
  md5OfBody: string;
  eventSource: 'aws:sqs';
  eventSourceARN: string;
  awsRegion: string;
}

export interface SqsRecordAttribute {
  stringValue?: string;
  /** Base64. */
  binaryValue?: string;
  stringListValues: string[];
  binaryListValues: string[];
  dataType: string;
}

/** Converts a message to a record; the region is the fourth part of `queueArn`. */
export function toSqsRecord(message: Message, queueArn: string): SqsRecord {
  const attributes = Object.entries(message.MessageAttributes ?? {});
  return {
    messageId: message.MessageId ?? '',
    receiptHandle: message.ReceiptHandle ?? '',
    body: message.Body ?? '',
    attributes: { ...message.Attributes },
    messageAttributes: Object.fromEntries(attributes.map(([name, value]) => [name, toAttribute(value)])),
    ...(message.MD5OfMessageAttributes && { md5OfMessageAttributes: message.MD5OfMessageAttributes }),
    md5OfBody: message.MD5OfBody ?? '',
    eventSource: 'aws:sqs',
    eventSourceARN: queueArn,
    awsRegion: queueArn.split(':')[3] ?? '',
  };
}

function toAttribute({ StringValue, BinaryValue, DataType }: MessageAttributeValue): SqsRecordAttribute {
  return {
    ...(StringValue !== undefined && { stringValue: StringValue }),
    ...(BinaryValue !== undefined && { binaryValue: Buffer.from(BinaryValue).toString('base64') }),
    stringListValues: [],
    binaryListValues: [],
    dataType: DataType ?? 'String',
  };
}

/** A payload of Lambda is limited to 6 MB; the records that do not fit go into another invocation. */
const MAX_BYTES = 6 * 1024 * 1024 - 1024;

/** Splits a batch into event payloads (JSON text) within the limit, in order. */
export function toEvents(records: readonly SqsRecord[]): { records: SqsRecord[]; payload: string }[] {
  const events: { records: SqsRecord[]; texts: string[]; bytes: number }[] = [];
  for (const record of records) {
    const text = JSON.stringify(record);
    const bytes = Buffer.byteLength(text) + 1;
    const last = events.at(-1);
    if (last && last.bytes + bytes <= MAX_BYTES) {
      last.records.push(record);
      last.texts.push(text);
      last.bytes += bytes;
    } else {
      events.push({ records: [record], texts: [text], bytes });
    }
  }
  return events.map(({ records: part, texts }) => ({ records: part, payload: `{"Records":[${texts.join(',')}]}` }));
}
