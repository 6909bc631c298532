import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { openClient } from '../../../cli/backend/by-api/client.ts';
import { runCli } from '../run-cli.ts';
import { listen } from './api-world.ts';

const secret = `millrace_1_${randomBytes(16).toString('hex')}`;
const env = { MILLRACE_API_KEY: secret };
const COMMANDS = [['jobs', 'list'], ['jobs', 'show', '1'], ['stats'], ['jobs', 'retry', '1'], ['enqueue', 'a', '{}']];

/** What every command says to a server that answers so. */
async function ask(reply: (response: ServerResponse, request: IncomingMessage) => void, args = ['jobs', 'list']) {
  const seen: IncomingMessage[] = [];
  const address = await listen((request, response) => {
    seen.push(request);
    reply(response, request);
  });
  return { ...(await runCli([...args, '--api-url', address], { env })), address, seen };
}

const problem = (status: number, more: object) => (response: ServerResponse) => {
  const document = { type: '/problems/x', title: 'A title', status, detail: 'do this', request_id: 'req-1', ...more };
  response.writeHead(status, { 'content-type': 'application/problem+json' }).end(JSON.stringify(document));
};

describe('an answer', () => {
  it.each([
    [400, {}, 2, 'do this'],
    [404, { type: '/problems/unknown-job-type' }, 3, 'do this'],
    [409, {}, 5, 'do this'],
    [412, {}, 5, 'do this'],
    [422, {}, 2, 'do this'],
    [500, {}, 1, 'A title: do this (request req-1)'],
    [404, { type: '/problems/no-such-path' }, 7, 'is not where the API is: it answers, and has no such path'],
    [503, { type: '/problems/database-unavailable' }, 7, 'A title: do this (request req-1)'],
    [503, { detail: 'two\u001b[2J\nlines' }, 1, 'two\ufffd[2J lines (request req-1)'],
  ])('of %i ends with its code and its sentence', async (status, more, code, sentence) => {
    const answer = await ask(problem(status, more));

    expect(answer).toMatchObject({ code, stdout: '' });
    expect(answer.stderr).toContain(sentence);
  });

  it('of 429 is asked for again, as late as it says, and not for ever', async () => {
    const answer = await ask((response) => {
      response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '0' }).end('{"message":"Slow"}');
    });

    expect(answer).toMatchObject({ code: 1, stdout: '' });
    expect(answer.seen).toHaveLength(4);
    expect(answer.stderr).toContain('has too much to do: again in 0 s');
    expect(answer.stderr).toContain(`${answer.address}/ answered 429: Slow`);
  });

  it('of 429 is followed by the one that was wanted', async () => {
    const answer = await ask(
      (response, { headers }) => {
        const isFirst = answered++ === 0;
        expect(headers.authorization).toBe(`Bearer ${secret}`);
        response.writeHead(isFirst ? 429 : 200, { 'content-type': 'application/json', 'retry-after': '0' });
        response.end(isFirst ? '{}' : '{"items": [], "next_cursor": null, "has_more": false}');
      },
      ['jobs', 'list', '--json'],
    );

    expect(answer).toMatchObject({ code: 0, stdout: '{"items":[]}\n' });
  });
  let answered = 0;

  it.each<[[number, string], string, number, string]>([
    [[200, 'text/html'], '<html>Sign in</html>', 7, 'answered 200 with text/html and no JSON'],
    [[502, 'text/html'], '<html>Bad gateway</html>', 7, 'is a proxy or a gateway in front of it that answers'],
    [[404, 'application/json'], '{"message":"Not Found"}', 7, 'answered 404: Not Found'],
    [[403, 'application/json'], '{"message":"Forbidden"}', 4, 'does not let us in: Forbidden'],
    [[500, 'application/json'], '{"message":"Internal Server Error"}', 1, 'answered 500: Internal Server Error'],
    [[200, 'application/json'], '{"items": 1}', 1, 'answers otherwise than this release expects'],
    [[200, 'application/json'], '', 7, 'no JSON'],
  ])('of somebody else with %j is not taken for ours', async ([status, type], body, code, sentence) => {
    const answers = await Promise.all(
      [
        ['jobs', 'list'],
        ['jobs', 'show', '1'],
        ['jobs', 'retry', '1'],
      ].map((args) => ask((response) => response.writeHead(status, { 'content-type': type }).end(body), args)),
    );

    for (const answer of answers) {
      expect(answer).toMatchObject({ code, stdout: '' });
      expect(answer.stderr).toContain(sentence);
      expect(answer.stderr).not.toContain(secret);
    }
  });

  it.each([301, 302, 307, 308])('of %i leads nowhere: the key stays here', async (status) => {
    const elsewhere: string[] = [];
    const other = await listen((request, response) => {
      elsewhere.push(request.url ?? '');
      response.end('{}');
    });

    const answer = await ask((response) => response.writeHead(status, { location: `${other}/admin/jobs` }).end());

    expect(answer).toMatchObject({ code: 7, stdout: '' });
    expect(answer.stderr).toContain(`sends us on to ${other}, where the key does not go`);
    expect(elsewhere).toEqual([]);
  });

  it('that breaks off is told with the address and without the key', async () => {
    const answer = await ask((response) => response.socket?.destroy());

    expect(answer).toMatchObject({ code: 7, stdout: '' });
    expect(answer.stderr).toMatch(/^error: cannot reach http:\/\/127\.0\.0\.1:\d+\/: /);
    expect(answer.stderr).not.toContain(secret);
  });

  it('that does not come is a failure that names the limit', async () => {
    const url = await listen(() => undefined);

    const answer = openClient({ url, label: url }).tell('/admin/jobs', { seconds: 0.1 });

    await expect(answer).rejects.toMatchObject({
      exitCode: 7,
      message: expect.stringContaining('no answer within 0.1 s'),
    });
  });
});

it('is not reached where nothing listens, which is exit code 7 and the address', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.close();
  await once(server, 'close');

  const answers = await Promise.all(COMMANDS.map((args) => runCli([...args, '--api-url', address], { env })));

  for (const answer of answers) {
    expect(answer).toEqual({
      ...{ code: 7, stdout: '', stderr: `error: cannot reach ${address}/: nothing listens there\n` },
    });
  }
});
