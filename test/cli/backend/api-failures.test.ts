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

/** Runs a command against a server that sends this response. */
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

describe('a response of the API', () => {
  it.each(['jobs:read;curl', '$(curl)', 'jobs:read or $(curl)', 'jobs:everything', ''])(
    'puts no required scope %j into a command that a person pastes',
    async (scope) => {
      const { stderr } = await ask(problem(403, { required_scope: scope }));

      expect(stderr).toBe('error: do this\n');
    },
  );

  it.each([
    [400, {}, 2, 'do this'],
    [404, { type: '/problems/unknown-job-type' }, 3, 'do this'],
    [409, {}, 5, 'do this'],
    [412, {}, 5, 'do this'],
    [422, {}, 2, 'do this'],
    [500, {}, 1, 'A title: do this (request req-1)'],
    [403, { required_scope: 'jobs:read or jobs:operate' }, 4, ': npx millrace keys create me --scope jobs:read'],
    [404, { type: '/problems/no-such-path' }, 7, 'is not the address of the API: the server has no such path'],
    [503, { type: '/problems/database-unavailable' }, 7, 'A title: do this (request req-1)'],
    [503, { detail: 'two\u001b[2J\nlines' }, 1, 'two\ufffd[2J lines (request req-1)'],
  ])('with status %i and the problem %j ends the command with code %i', async (status, more, code, sentence) => {
    const answer = await ask(problem(status, more));

    expect(answer).toMatchObject({ code, stdout: '' });
    expect(answer.stderr).toContain(sentence);
  });

  it('with status 429 is retried after its Retry-After, at most three times', async () => {
    const answer = await ask((response) => {
      response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '0' }).end('{"message":"Slow"}');
    });

    expect(answer).toMatchObject({ code: 1, stdout: '' });
    expect(answer.seen).toHaveLength(4);
    expect(answer.stderr).toContain('throttles requests: retrying in 0 s');
    expect(answer.stderr).toContain(`${answer.address}/ returned 429: Slow`);
  });

  it('with status 429 leads to a retry that can succeed', async () => {
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
    [[200, 'text/html'], '<html>Sign in</html>', 7, 'returned 200 without valid JSON (content type text/html)'],
    [[502, 'text/html'], '<html>Bad gateway</html>', 7, 'may come from a proxy or gateway in front of the API'],
    [[404, 'application/json'], '{"message":"Not Found"}', 7, 'returned 404: Not Found'],
    [[403, 'application/json'], '{"message":"Forbidden"}', 4, 'denied access: Forbidden'],
    [[500, 'application/json'], '{"message":"Internal Server Error"}', 1, 'returned 500: Internal Server Error'],
    [[200, 'application/json'], '{"items": 1}', 1, 'returned a response that this release does not expect'],
    [[200, 'application/json'], '', 7, 'without valid JSON'],
  ])('from another server, %j, does not count as one of the API', async ([status, type], body, code, sentence) => {
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

  it.each([301, 302, 307, 308])(
    'with status %i is not followed: the other server does not get the key',
    async (status) => {
      const elsewhere: string[] = [];
      const other = await listen((request, response) => {
        elsewhere.push(request.url ?? '');
        response.end('{}');
      });

      const answer = await ask((response) => response.writeHead(status, { location: `${other}/admin/jobs` }).end());

      expect(answer).toMatchObject({ code: 7, stdout: '' });
      expect(answer.stderr).toContain(`redirects to ${other}, which must not get the key`);
      expect(elsewhere).toEqual([]);
    },
  );

  it('that breaks off is reported with the address and without the key', async () => {
    const answer = await ask((response) => response.socket?.destroy());

    expect(answer).toMatchObject({ code: 7, stdout: '' });
    expect(answer.stderr).toMatch(/^error: cannot reach http:\/\/127\.0\.0\.1:\d+\/: /);
    expect(answer.stderr).not.toContain(secret);
  });

  it('that does not arrive within the limit fails with the limit', async () => {
    const url = await listen(() => undefined);

    const answer = openClient({ url, label: url }).send('/admin/jobs', { seconds: 0.1 });

    await expect(answer).rejects.toMatchObject({
      exitCode: 7,
      message: expect.stringContaining('no response within 0.1 s'),
    });
  });
});

it('a command exits with 7 and names the address when the API is unreachable', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.close();
  await once(server, 'close');

  const answers = await Promise.all(COMMANDS.map((args) => runCli([...args, '--api-url', address], { env })));

  for (const answer of answers) {
    expect(answer).toEqual({
      ...{ code: 7, stdout: '', stderr: `error: cannot reach ${address}/: connection refused\n` },
    });
  }
});
