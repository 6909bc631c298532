import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type SqsEmulator, type SqsOptions, startSqs } from '../../../local/sqs/server.ts';
import { createWorld, type World } from '../../contract/sqs-world.ts';

const running: { emulator: SqsEmulator; world: World }[] = [];

async function start(options: SqsOptions = {}) {
  const emulator = await startSqs(options);
  const world = createWorld(emulator.endpoint);
  running.push({ emulator, world });
  return { emulator, world };
}

afterEach(async () => {
  for (const { emulator, world } of running.splice(0)) {
    world.sqs.destroy();
    await emulator.close();
  }
});

function post(endpoint: string, headers: Record<string, string>, body: string): Promise<Response> {
  return fetch(endpoint, { method: 'POST', headers, body });
}

describe('the wire format', () => {
  it('has the error shape in __type and the older code in x-amzn-query-error', async () => {
    const { emulator } = await start();

    const response = await post(emulator.endpoint, { 'x-amz-target': 'AmazonSQS.GetQueueUrl' }, '{"QueueName":"none"}');

    expect(response.status).toBe(400);
    expect(response.headers.get('content-type')).toBe('application/x-amz-json-1.0');
    expect(response.headers.get('x-amzn-query-error')).toBe('AWS.SimpleQueueService.NonExistentQueue;Sender');
    expect(await response.json()).toMatchObject({ __type: 'com.amazonaws.sqs#QueueDoesNotExist' });
  });

  it.each([
    ['an unknown action', { 'x-amz-target': 'AmazonSQS.Dance' }, '{}', 'InvalidAction'],
    ['no action', {}, '{}', 'InvalidAction'],
    ['a body that is not JSON', { 'x-amz-target': 'AmazonSQS.ListQueues' }, '{', 'SerializationException'],
    ['a body that is not an object', { 'x-amz-target': 'AmazonSQS.ListQueues' }, '[1]', 'SerializationException'],
    ['a number for a name', { 'x-amz-target': 'AmazonSQS.CreateQueue' }, '{"QueueName":1}', 'InvalidParameterValue'],
    ['a missing name', { 'x-amz-target': 'AmazonSQS.CreateQueue' }, '{}', 'MissingParameter'],
    [
      'entries that are not a list',
      { 'x-amz-target': 'AmazonSQS.SendMessageBatch' },
      '{"QueueUrl":"/q","Entries":3}',
      'EmptyBatchRequest',
    ],
    [
      'an entry that is null',
      { 'x-amz-target': 'AmazonSQS.SendMessageBatch' },
      '{"QueueUrl":"/q","Entries":[null]}',
      'InvalidBatchEntryId',
    ],
    [
      'an attribute that is null',
      { 'x-amz-target': 'AmazonSQS.SendMessage' },
      '{"QueueUrl":"/q","MessageBody":"a","MessageAttributes":{"a":null}}',
      'InvalidParameterValue',
    ],
    [
      'attributes that are text',
      { 'x-amz-target': 'AmazonSQS.SendMessage' },
      '{"QueueUrl":"/q","MessageBody":"a","MessageAttributes":"a"}',
      'InvalidParameterValue',
    ],
    [
      'a lone surrogate in a body',
      { 'x-amz-target': 'AmazonSQS.SendMessage' },
      '{"QueueUrl":"/q","MessageBody":"\\ud800"}',
      'InvalidMessageContents',
    ],
  ])('refuses %s and continues to serve', async (_, headers, body, code) => {
    const { emulator, world } = await start();
    await world.sqs.createQueue({ QueueName: 'q' });

    const response = await post(emulator.endpoint, headers, body);

    expect(response.headers.get('x-amzn-query-error')).toMatch(new RegExp(`\\b${code};Sender$`));
    expect(await world.depth('/q')).toEqual([0, 0, 0]);
  });

  it('finds a queue by its name, whatever host and port its URL has', async () => {
    const { world } = await start();
    await world.sqs.createQueue({ QueueName: 'q' });

    await world.send('http://127.0.0.1:1/000000000000/q', 'a');

    expect(await world.bodies('https://sqs.us-east-1.amazonaws.com/000000000000/q')).toEqual(['a']);
  });
});

describe('a client that disconnects during a long poll', () => {
  function waitingPoll(port: number): Promise<Socket> {
    const body = JSON.stringify({ QueueUrl: '/q', WaitTimeSeconds: 20, MaxNumberOfMessages: 10 });
    const target = 'x-amz-target: AmazonSQS.ReceiveMessage';
    const head = `POST / HTTP/1.1\r\nhost: 127.0.0.1\r\n${target}\r\ncontent-length: ${body.length}`;
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(`${head}\r\n\r\n${body}`, () => resolve(socket)));
      socket.on('error', reject);
    });
  }

  it('receives no message, even if one is sent in the same instant', async () => {
    const { emulator, world } = await start();
    await world.sqs.createQueue({ QueueName: 'q' });

    for (let round = 0; round < 40; round += 1) {
      const socket = await waitingPoll(emulator.port);
      // The poll was sent first, so it has been read when this request is answered.
      await world.depth('/q');
      socket.destroy();
      await world.send('/q', `a${round}`);
      const [message] = await world.receive('/q', { WaitTimeSeconds: 1 });

      expect(message?.Body).toBe(`a${round}`);
      expect(message?.Attributes?.ApproximateReceiveCount).toBe('1');
      await world.sqs.deleteMessage({ QueueUrl: '/q', ReceiptHandle: message!.ReceiptHandle });
    }
  });
});

describe('time limits', () => {
  it('expire messages after the retention period, and free queue names and purges after 60 seconds', async () => {
    let now = 1_700_000_000_000;
    const { world } = await start({ clock: () => now });
    const { QueueUrl } = await world.sqs.createQueue({ QueueName: 'q', Attributes: { MessageRetentionPeriod: '60' } });
    await world.send(QueueUrl!, 'a');
    await world.sqs.createQueue({ QueueName: 'deleted' });
    await world.sqs.deleteQueue({ QueueUrl: '/deleted' });
    await world.sqs.createQueue({ QueueName: 'purged' });
    await world.sqs.purgeQueue({ QueueUrl: '/purged' });

    now += 59_999;
    expect(await world.depth(QueueUrl!)).toEqual([1, 0, 0]);
    await expect(world.sqs.createQueue({ QueueName: 'deleted' })).rejects.toThrow(/60 seconds/);
    now += 1;

    expect(await world.depth(QueueUrl!)).toEqual([0, 0, 0]);
    await world.sqs.createQueue({ QueueName: 'deleted' });
    await world.sqs.purgeQueue({ QueueUrl: '/purged' });
  });

  it('count the retention in a dead-letter queue from the first send, and after a redrive from the move', async () => {
    let now = 1_700_000_000_000;
    const { world } = await start({ clock: () => now });
    const { source, dlq, dlqArn } = await world.pair(1);
    await world.send(source, 'a', 'b');
    await world.receive(source, { VisibilityTimeout: 0 });
    now += 2 * 86_400_000;
    await world.receive(source);
    expect(await world.depth(dlq)).toEqual([2, 0, 0]);

    await world.sqs.startMessageMoveTask({ SourceArn: dlqArn, MaxNumberOfMessagesPerSecond: 1 });
    await expect.poll(() => world.depth(source)).toEqual([1, 0, 0]);
    now += 3 * 86_400_000;

    expect(await world.depth(dlq)).toEqual([0, 0, 0]);
    expect(await world.depth(source)).toEqual([1, 0, 0]);
  });
});

describe('a deleted queue', () => {
  it('refuses a receive that waits for it', async () => {
    const { world } = await start();
    const url = await world.queue();
    const poll = world.receive(url, { WaitTimeSeconds: 20 }).catch((error: Error) => error.name);
    await world.receive(url, { WaitTimeSeconds: 1 });

    await world.sqs.deleteQueue({ QueueUrl: url });

    expect(await poll).toBe('QueueDoesNotExist');
  });

  it('fails a move task with it as the destination, and the remaining messages stay in the source', async () => {
    const { world } = await start();
    const { dlq, dlqArn } = await world.pair(1);
    const target = await world.queue();
    await world.send(dlq, '1', '2', '3');
    const DestinationArn = await world.arn(target);
    await world.sqs.startMessageMoveTask({ SourceArn: dlqArn, DestinationArn, MaxNumberOfMessagesPerSecond: 2 });
    await expect.poll(() => world.depth(target)).toEqual([1, 0, 0]);

    await world.sqs.deleteQueue({ QueueUrl: target });

    const newest = async () => (await world.sqs.listMessageMoveTasks({ SourceArn: dlqArn })).Results?.[0];
    await expect.poll(newest).toMatchObject({
      Status: 'FAILED',
      FailureReason: 'AWS.SimpleQueueService.NonExistentQueue',
    });
    expect(await world.depth(dlq)).toEqual([2, 0, 0]);
  });
});
