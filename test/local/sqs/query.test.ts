import fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type SqsEmulator, startSqs } from '../../../local/sqs/server.ts';
import { createWorld, type World } from '../../contract/sqs-world.ts';

const SIGNED = { authorization: 'AWS4-HMAC-SHA256 Credential=local/20261129/us-east-1/sqs/aws4_request' };

const emulator: SqsEmulator = await startSqs();
const world: World = createWorld(emulator.endpoint);
afterAll(async () => {
  await world.close();
  await emulator.close();
});

let name: string;
beforeEach(async () => {
  name = world.name();
  await world.sqs.createQueue({ QueueName: name });
});

/** Sends parameters as a form, as SDKs before 2023 do. */
async function post(parameters: Record<string, string> | string, path = '/', headers: object = SIGNED) {
  const body = new URLSearchParams(parameters);
  const response = await fetch(emulator.endpoint + path, { method: 'POST', body, headers: { ...headers } });
  return { status: response.status, type: response.headers.get('content-type'), xml: await response.text() };
}

describe('a response', () => {
  it('has the same elements, namespace and request id as on AWS', async () => {
    const { status, type, xml } = await post({ Action: 'GetQueueUrl', Version: '2012-11-05', QueueName: name });

    expect({ status, type }).toEqual({ status: 200, type: 'text/xml' });
    expect(xml.replace(/[0-9a-f-]{36}/, 'ID')).toBe(
      '<?xml version="1.0"?><GetQueueUrlResponse xmlns="http://queue.amazonaws.com/doc/2012-11-05/">' +
        '<GetQueueUrlResult>' +
        `<QueueUrl>${emulator.endpoint}/000000000000/${name}</QueueUrl></GetQueueUrlResult>` +
        '<ResponseMetadata><RequestId>ID</RequestId></ResponseMetadata></GetQueueUrlResponse>',
    );
  });

  it('has no result for an action that returns nothing, and an empty one for a receive without messages', async () => {
    const purged = await post({ Action: 'PurgeQueue', QueueUrl: `/${name}` });
    const received = await post({ Action: 'ReceiveMessage', QueueUrl: `/${name}` });

    expect(purged.xml).toContain('2012-11-05/"><ResponseMetadata>');
    expect(received.xml).toContain('<ReceiveMessageResult/>');
  });

  it('contains the older code of the error, and whose fault it is', async () => {
    const { status, xml } = await post({ Action: 'GetQueueUrl', QueueName: 'none' });

    expect(status).toBe(400);
    expect(xml).toContain(
      '<ErrorResponse xmlns="http://queue.amazonaws.com/doc/2012-11-05/"><Error><Type>Sender</Type>' +
        '<Code>AWS.SimpleQueueService.NonExistentQueue</Code><Message>The specified queue does not exist.</Message>',
    );
  });

  it.each([
    ['markup', '<a href="x">&amp;\'</a>]]>', '&#60;a href=&#34;x&#34;&#62;&#38;amp;&#39;&#60;/a&#62;]]&#62;'],
    ['line ends', 'a\r\nb\rc', 'a&#13;\nb&#13;c'],
    ['a character beyond 16 bits', '😀', '😀'],
  ])('preserves %s in a body', async (_what, MessageBody, written) => {
    await post({ Action: 'SendMessage', QueueUrl: `/${name}`, MessageBody });

    const { xml } = await post({ Action: 'ReceiveMessage', QueueUrl: `/${name}` });

    expect(xml).toContain(`<Body>${written}</Body>`);
  });

  it('contains no character that XML forbids, whatever it quotes', async () => {
    const { xml } = await post({ Action: 'Dance\u0000\u001b[31m' });

    expect(xml).toContain('The action Dance\ufffd\ufffd[31m is not valid');
  });
});

describe('a request', () => {
  it('may have its parameters in the URL', async () => {
    const url = `${emulator.endpoint}/?Action=SendMessage&Version=2012-11-05&QueueUrl=/${name}&MessageBody=a%20b+c`;

    const response = await fetch(url, { headers: SIGNED });

    expect(response.status).toBe(200);
    expect(await world.bodies(`/${name}`)).toEqual(['a b c']);
  });

  it('may name its queue only in the path', async () => {
    await post({ Action: 'SendMessage', MessageBody: 'a' }, `/000000000000/${name}/`);

    expect(await world.bodies(`/${name}`)).toEqual(['a']);
  });

  it.each([
    ['numbered', { 'AttributeName.1': 'QueueArn', 'AttributeName.2': 'DelaySeconds' }, 2],
    ['numbered with gaps and out of order', { 'AttributeName.12': 'QueueArn', 'AttributeName.3': 'DelaySeconds' }, 2],
    ['without a number, as the oldest clients send one item', { AttributeName: 'QueueArn' }, 1],
    ['empty', { AttributeName: '' }, 0],
  ])('may have a list that is %s', async (_how, list, count) => {
    const { status, xml } = await post({ Action: 'GetQueueAttributes', QueueUrl: `/${name}`, ...list });

    expect(status).toBe(200);
    expect(xml.match(/<Attribute>/g) ?? []).toHaveLength(count);
  });

  it.each([
    ['no action', '', 'InvalidAction'],
    ['an unknown action', 'Action=Dance', 'InvalidAction'],
    ['no queue', 'Action=SendMessage&MessageBody=a', 'MissingParameter'],
    ['a number that is a word', 'Action=ReceiveMessage&QueueUrl=/q&WaitTimeSeconds=soon', 'InvalidParameterValue'],
    ['a number out of range', 'Action=ReceiveMessage&QueueUrl=/q&WaitTimeSeconds=21', 'InvalidParameterValue'],
    [
      'a list that is also a value',
      'Action=GetQueueAttributes&QueueUrl=/q&AttributeName=a&AttributeName.1=b',
      'Invalid',
    ],
    ['a map without a name', 'Action=SetQueueAttributes&QueueUrl=/q&Attribute.1.Value=1', 'InvalidParameterValue'],
    ['a name that is too deep', `Action=ListQueues&${'a.'.repeat(50)}a=1`, 'InvalidParameterValue'],
    ['a name of the prototype', 'Action=ListQueues&__proto__.QueueNamePrefix=x&QueueNamePrefix.1=', 'Invalid'],
    ['entries that are text', 'Action=SendMessageBatch&QueueUrl=/q&SendMessageBatchRequestEntry.1=a', 'InvalidBatch'],
  ])('is refused with %s', async (_what, form, code) => {
    const { status, xml } = await post(form.replaceAll('/q&', `/${name}&`));

    expect(status).toBe(400);
    expect(xml).toMatch(new RegExp(`<Code>(AWS\\.SimpleQueueService\\.)?${code}`));
  });

  it('never causes an internal error, whatever its parameters', async () => {
    const words = [
      'Action',
      'Attribute',
      'AttributeName',
      'MessageAttribute',
      'SendMessageBatchRequestEntry',
      'QueueUrl',
    ];
    const part = fc.oneof(fc.constantFrom(...words, '1', '2', 'Name', 'Value', 'Id', '__proto__', ''), fc.string());
    const pair = fc.tuple(
      fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('.')),
      fc.string(),
    );
    const action = fc.constantFrom(
      'SendMessage',
      'SendMessageBatch',
      'SetQueueAttributes',
      'ReceiveMessage',
      'TagQueue',
    );

    await fc.assert(
      fc.asyncProperty(action, fc.array(pair, { maxLength: 6 }), async (Action, pairs) => {
        const form = new URLSearchParams([...pairs, ['Action', Action], ['QueueUrl', `/${name}`]]);
        expect((await post(form.toString())).status).toBeLessThan(500);
      }),
      { numRuns: 100 },
    );
  });
});

describe('a page from another site', () => {
  it.each([
    ['a form', 'POST', `${emulator.endpoint}/`],
    ['an image', 'GET', `${emulator.endpoint}/?Action=PurgeQueue&QueueUrl=/NAME`],
    [
      'a form to an address with a password',
      'POST',
      `${emulator.endpoint}/`,
      { authorization: 'Basic bG9jYWw6bG9jYWw=' },
    ],
  ])('cannot purge a queue with %s, even in a browser that does not send the origin of the page', async (...given) => {
    const [, method, url, headers = {}] = given;
    await world.send(`/${name}`, 'a');
    const body = method === 'POST' ? { body: new URLSearchParams({ Action: 'PurgeQueue', QueueUrl: `/${name}` }) } : {};

    const response = await fetch(url.replace('NAME', name), { method, headers, ...body });

    expect(response.status).toBe(403);
    expect(await response.text()).toContain('<Code>MissingAuthenticationToken</Code>');
    expect(await world.bodies(`/${name}`)).toEqual(['a']);
  });
});
