import { InvalidMessageContents } from '@aws-sdk/client-sqs';
import { expect } from 'vitest';
import { type Behaviour, eventually, refusal, refused } from './sqs-world.ts';

const MIB = 1_048_576;
const text = (StringValue: string) => ({ DataType: 'String', StringValue });

export const SENDING: Behaviour[] = [
  {
    name: 'a queue refuses a message above its MaximumMessageSize, in a batch only that entry',
    run: async ({ sqs, queue }) => {
      const QueueUrl = await queue({ MaximumMessageSize: '1024' });
      const long = 'x'.repeat(1025);

      const { Successful, Failed } = await sqs.sendMessageBatch({
        QueueUrl,
        Entries: [
          { Id: 'short', MessageBody: 'a' },
          { Id: 'long', MessageBody: long },
        ],
      });

      expect([Successful?.map(({ Id }) => Id), Failed?.map(({ Id }) => Id)]).toEqual([['short'], ['long']]);
      expect(Failed?.[0]).toMatchObject({ Code: 'InvalidParameterValue', SenderFault: true });
      await refused(sqs.sendMessage({ QueueUrl, MessageBody: long }), 'InvalidParameterValue');
    },
  },
  {
    name: 'a body of 1 MiB is accepted',
    run: async ({ sqs, queue, receive }) => {
      const QueueUrl = await queue();

      await sqs.sendMessage({ QueueUrl, MessageBody: 'x'.repeat(MIB) });

      expect((await receive(QueueUrl))[0]?.Body).toHaveLength(MIB);
    },
  },
  {
    name: 'a body of one byte more than 1 MiB is refused',
    run: async ({ sqs, queue }) => {
      const QueueUrl = await queue();

      await refused(sqs.sendMessage({ QueueUrl, MessageBody: 'x'.repeat(MIB + 1) }), 'InvalidParameterValue');
    },
  },
  {
    name: 'the size of a message counts its UTF-8 bytes and its attributes',
    run: async ({ sqs, queue }) => {
      const QueueUrl = await queue({ MaximumMessageSize: '1024' });
      const MessageAttributes = { name: text('x'.repeat(10)) };

      await refused(sqs.sendMessage({ QueueUrl, MessageBody: 'é'.repeat(513) }), 'InvalidParameterValue');
      await refused(
        sqs.sendMessage({ QueueUrl, MessageBody: 'x'.repeat(1005), MessageAttributes }),
        'InvalidParameterValue',
      );
      await sqs.sendMessage({ QueueUrl, MessageBody: 'x'.repeat(1004), MessageAttributes });
    },
  },
  {
    name: 'an empty body is refused',
    run: async ({ sqs, queue }) => {
      const QueueUrl = await queue();

      await refused(sqs.sendMessage({ QueueUrl, MessageBody: '' }), 'MissingParameter', 'InvalidParameterValue');
    },
  },
  {
    name: 'characters outside the allowed set are refused as InvalidMessageContents',
    run: async ({ sqs, queue }) => {
      const QueueUrl = await queue();

      for (const MessageBody of ['a\u0001', 'a\uFFFE', 'a\uFFFF']) {
        expect(await refusal(sqs.sendMessage({ QueueUrl, MessageBody }))).toBeInstanceOf(InvalidMessageContents);
      }
    },
  },
  {
    name: 'tab, CR, LF, emoji and U+FFFD arrive as they were sent',
    run: async ({ sqs, queue, bodies }) => {
      const QueueUrl = await queue();
      const MessageBody = 'a\tb\r\nc 😀 \uFFFD \u{10FFFF} "\\ <&>';

      await sqs.sendMessage({ QueueUrl, MessageBody });

      expect(await bodies(QueueUrl)).toEqual([MessageBody]);
    },
  },
  {
    name: 'a delay of 901 seconds is refused',
    run: async ({ sqs, queue }) => {
      const QueueUrl = await queue();

      await refused(sqs.sendMessage({ QueueUrl, MessageBody: 'a', DelaySeconds: 901 }), 'InvalidParameterValue');
    },
  },
  {
    name: "a delayed message is hidden until its own delay, or the queue's, ends",
    run: async ({ sqs, queue, bodies, send }) => {
      const [own, byQueue] = await Promise.all([queue(), queue({ DelaySeconds: '1' })]);
      const start = performance.now();
      await sqs.sendMessage({ QueueUrl: own, MessageBody: 'own', DelaySeconds: 1 });
      await send(byQueue, 'queue');

      for (const [url, body] of [
        [own, 'own'],
        [byQueue, 'queue'],
      ] as const) {
        const seen = await eventually(
          () => bodies(url),
          ({ length }) => length > 0,
        );
        expect(seen).toEqual([body]);
        // Two clocks may differ by a few milliseconds.
        expect(performance.now() - start).toBeGreaterThan(980);
      }
    },
  },
  {
    name: 'message attributes of every type arrive with the checksum the SDK verifies',
    run: async ({ sqs, queue, receive }) => {
      const QueueUrl = await queue();
      const MessageAttributes = {
        s: text('héllo'),
        n: { DataType: 'Number', StringValue: '-12.5' },
        b: { DataType: 'Binary', BinaryValue: new Uint8Array([0, 1, 254, 255]) },
        c: { DataType: 'String.uuid', StringValue: 'x' },
      };

      const sent = await sqs.sendMessage({ QueueUrl, MessageBody: 'a', MessageAttributes });
      const [message] = await receive(QueueUrl, { MessageAttributeNames: ['All'] });

      expect(message?.MessageAttributes?.s).toMatchObject(MessageAttributes.s);
      expect(message?.MessageAttributes?.n).toMatchObject(MessageAttributes.n);
      expect(message?.MessageAttributes?.c).toMatchObject(MessageAttributes.c);
      expect([...(message?.MessageAttributes?.b?.BinaryValue ?? [])]).toEqual([0, 1, 254, 255]);
      expect(sent.MD5OfMessageAttributes).toMatch(/^[0-9a-f]{32}$/);
      expect(message?.MD5OfMessageAttributes).toBe(sent.MD5OfMessageAttributes);
    },
  },
  {
    name: 'a receive returns only the requested message attributes',
    run: async ({ sqs, queue, receive }) => {
      const QueueUrl = await queue();
      const MessageAttributes = { 'a.x': text('1'), 'a.y': text('2'), b: text('3') };
      for (const MessageBody of ['1', '2']) await sqs.sendMessage({ QueueUrl, MessageBody, MessageAttributes });

      const [some] = await receive(QueueUrl, { MessageAttributeNames: ['a.*'], MaxNumberOfMessages: 1 });
      const [none] = await receive(QueueUrl, { MaxNumberOfMessages: 1 });

      expect(Object.keys(some?.MessageAttributes ?? {}).sort()).toEqual(['a.x', 'a.y']);
      expect(none?.MessageAttributes).toBeUndefined();
    },
  },
  {
    name: 'eleven message attributes are refused',
    run: async ({ sqs, queue }) => {
      const QueueUrl = await queue();
      const MessageAttributes = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`a${index}`, text('x')]));

      await refused(sqs.sendMessage({ QueueUrl, MessageBody: 'a', MessageAttributes }), 'InvalidParameterValue');
    },
  },
  {
    name: 'an attribute with a reserved name, an empty value or a Number that is not a number is refused',
    run: async ({ sqs, queue }) => {
      const QueueUrl = await queue();
      const sendWith = (name: string, value: { DataType: string; StringValue: string }) =>
        sqs.sendMessage({ QueueUrl, MessageBody: 'a', MessageAttributes: { [name]: value } });

      await refused(sendWith('AWS.x', text('1')), 'InvalidParameterValue');
      await refused(sendWith('amazon.x', text('1')), 'InvalidParameterValue');
      await refused(sendWith('a', text('')), 'InvalidParameterValue');
      await refused(sendWith('a', { DataType: 'Number', StringValue: 'ten' }), 'InvalidParameterValue');
      // A server that took the square of its length would not answer in time.
      await refused(
        sendWith('a', { DataType: 'Number', StringValue: `${'1'.repeat(200_000)}x` }),
        'InvalidParameterValue',
      );
    },
  },
  {
    name: 'the AWSTraceHeader system attribute arrives',
    run: async ({ sqs, queue, receive }) => {
      const QueueUrl = await queue();
      const header = 'Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1';

      await sqs.sendMessage({ QueueUrl, MessageBody: 'a', MessageSystemAttributes: { AWSTraceHeader: text(header) } });

      expect((await receive(QueueUrl))[0]?.Attributes?.AWSTraceHeader).toBe(header);
    },
  },
];
