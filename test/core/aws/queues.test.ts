import { SQS } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Outgoing, openQueues, type Queues } from '../../../core/aws/queues.ts';
import { type SqsEmulator, startSqs } from '../../../local/sqs/server.ts';
import { stillTime } from '../../support/still-time.ts';
import { acceptAll, startFake } from './fake-sqs.ts';

const ACCOUNT = { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };
for (const [name, value] of Object.entries(ACCOUNT)) vi.stubEnv(name, value);

let emulator: SqsEmulator;
let sqs: SQS;
beforeAll(async () => {
  emulator = await startSqs();
  sqs = new SQS({
    endpoint: emulator.endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
  });
});
afterAll(async () => {
  sqs.destroy();
  await emulator.close();
  vi.unstubAllEnvs();
});

function open(endpoint = emulator.endpoint): Queues {
  vi.stubEnv('AWS_ENDPOINT_URL_SQS', endpoint);
  const queues = openQueues();
  onTestFinished(() => queues.close());
  return queues;
}

let names = 0;
const createQueue = async () => {
  names += 1;
  return (await sqs.createQueue({ QueueName: `queue-${names}`, Attributes: { VisibilityTimeout: '600' } })).QueueUrl!;
};
const messages = (count: number): Outgoing[] =>
  Array.from({ length: count }, (_, n) => ({ id: `job-${n}`, body: `body ${n}` }));
async function receiveAll(QueueUrl: string) {
  const all: { body: string; handle: string; group: string | undefined }[] = [];
  for (;;) {
    const { Messages = [] } = await sqs.receiveMessage({
      QueueUrl,
      MaxNumberOfMessages: 10,
      MessageSystemAttributeNames: ['All'],
    });
    if (Messages.length === 0) return all;
    for (const { Body, ReceiptHandle, Attributes } of Messages) {
      all.push({ body: Body!, handle: ReceiptHandle!, group: Attributes?.MessageGroupId });
    }
  }
}

/** The SDK talks to the host that the queue's address names. */
const queueAt = (endpoint: string) => `${endpoint}/000000000000/queue`;
const UNREACHABLE = 'http://127.0.0.1:1';

describe('sending', () => {
  it.each([0, 1, 9, 10, 11, 95, 340])(
    'sends %d messages in batches of ten, and returns results in order',
    async (count) => {
      const queueUrl = await createQueue();

      const verdicts = await open().send(queueUrl, messages(count));

      expect(verdicts).toEqual(messages(count).map(({ id }) => ({ id, kind: 'sent', reason: '' })));
      const bodies = (await receiveAll(queueUrl)).map(({ body }) => body);
      expect(bodies.sort()).toEqual(
        messages(count)
          .map(({ body }) => body)
          .sort(),
      );
    },
  );

  it('sends as few requests as batches of ten allow', async () => {
    const { endpoint, seen } = await startFake((body) => ({ status: 200, body: acceptAll(body) }));

    await open(endpoint).send(queueAt(endpoint), messages(42));

    expect(seen.map((body) => JSON.parse(body).Entries.length).sort((a, b) => a - b)).toEqual([2, 10, 10, 10, 10]);
  });

  it('passes the message group to a standard queue', async () => {
    const queueUrl = await createQueue();

    await open().send(queueUrl, [
      { id: '1', body: 'grouped', groupId: 'g1' },
      { id: '2', body: 'single' },
    ]);

    const received = (await receiveAll(queueUrl)).map(({ body, group }) => [body, group]);
    expect(received.sort()).toEqual([
      ['grouped', 'g1'],
      ['single', undefined],
    ]);
  });

  it('reports for every message that the queue is missing', async () => {
    const verdicts = await open().send(`${emulator.endpoint}/000000000000/missing`, messages(12));

    expect(verdicts.map(({ kind }) => kind)).toEqual(Array.from({ length: 12 }, () => 'no_queue'));
    expect(verdicts[0]!.reason).toContain('QueueDoesNotExist');
  });

  it('distinguishes refused from rejected messages, each with its reason', async () => {
    const { endpoint } = await startFake((body) => {
      const { Successful } = acceptAll(body);
      const failed = (Id: string, SenderFault: boolean) => ({ Id, SenderFault, Code: 'Code', Message: 'why' });
      return {
        status: 200,
        body: { Successful: Successful.slice(0, 7), Failed: [failed('7', false), failed('8', true)] },
      };
    });

    const verdicts = await open(endpoint).send(queueAt(endpoint), messages(10));

    expect(verdicts.slice(6)).toEqual([
      { id: 'job-6', kind: 'sent', reason: '' },
      { id: 'job-7', kind: 'refused', reason: 'Code: why' },
      { id: 'job-8', kind: 'rejected', reason: 'Code: why' },
      { id: 'job-9', kind: 'unknown', reason: 'the response of SQS does not include it' },
    ]);
  });

  it.each([
    ['hangs up after the request', 'hang up' as const],
    ['has an internal error', { status: 500, body: { __type: 'com.amazonaws.sqs#InternalError' } }],
    ['throttles', { status: 400, body: { __type: 'com.amazonaws.sqs#RequestThrottled', message: 'slow' } }],
    ['answers with invalid JSON', { status: 200, body: undefined }],
  ])('reports unknown when SQS %s, and sends nothing twice', async (_what, reply) => {
    const { endpoint, seen } = await startFake(() => reply);

    const verdicts = await open(endpoint).send(queueAt(endpoint), messages(25));

    expect(verdicts.map(({ kind }) => kind)).toEqual(Array.from({ length: 25 }, () => 'unknown'));
    expect(verdicts[0]!.reason).not.toBe('');
    expect(seen).toHaveLength(3);
  });

  it('reports unknown when no server listens', async () => {
    const verdicts = await open(UNREACHABLE).send(queueAt(UNREACHABLE), messages(3));

    expect(verdicts).toMatchObject([{ kind: 'unknown' }, { kind: 'unknown' }, { kind: 'unknown' }]);
    expect(verdicts[0]!.reason).toContain('ECONNREFUSED');
  });

  it('begins no call after ten seconds: a queue that does not answer must not hold up the others', async () => {
    const time = stillTime();
    const { endpoint, seen } = await startFake(() => {
      time.at = 10_000;
      return 'hang up';
    });
    vi.stubEnv('AWS_ENDPOINT_URL_SQS', endpoint);
    const queues = openQueues(undefined, time);
    onTestFinished(() => queues.close());

    const verdicts = await queues.send(queueAt(endpoint), messages(1000));

    const left = messages(1000).slice(160);
    expect([seen.length, verdicts.slice(0, 160).every(({ kind }) => kind === 'unknown')]).toEqual([16, true]);
    const reason = 'not sent: the messages before it took longer than 10 s';
    expect(verdicts.slice(160)).toEqual(left.map(({ id }) => ({ id, kind: 'refused', reason })));
  });

  it('a failed batch does not affect the others', async () => {
    const { endpoint } = await startFake((body) => {
      return body.includes('body 13') ? 'hang up' : { status: 200, body: acceptAll(body) };
    });

    const verdicts = await open(endpoint).send(queueAt(endpoint), messages(30));

    expect(verdicts.map(({ kind }) => kind)).toEqual(
      Array.from({ length: 30 }, (_, n) => (n >= 10 && n < 20 ? 'unknown' : 'sent')),
    );
  });
});

describe('making visible', () => {
  it('makes any number of received messages visible at once', async () => {
    const queueUrl = await createQueue();
    const queues = open();
    await queues.send(queueUrl, messages(23));
    const received = await receiveAll(queueUrl);

    await queues.makeVisible(
      queueUrl,
      received.map(({ handle }) => handle),
    );

    expect(await receiveAll(queueUrl)).toHaveLength(23);
  });

  it('never throws when SQS fails', async () => {
    await open(UNREACHABLE).makeVisible(queueAt(UNREACHABLE), ['a', 'b']);
    await open().makeVisible(await createQueue(), ['not a handle']);
  });
});
