import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { stripVTControlCharacters } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { runCli } from '../run-cli.ts';

const LETTER = {
  dead_letter_id: '1',
  job_id: null,
  ...{ job_type: null, routing_key: null, attempts: null, max_attempts: null, last_error: 'boom' },
  ...{ fingerprint: '5f65afc7', died_at: '2026-11-29T09:00:00Z', first_seen_at: null, last_seen_at: null },
};

/** Runs a command at a terminal by an API that answers every request with this document. */
async function ask(args: readonly string[], document: unknown) {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
  });
  server.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return runCli(args, { env: { MILLRACE_API_URL: url, NO_COLOR: '1' }, terminal: true });
}

const list = (items: readonly object[]) => ask(['dlq', 'list'], { items, next_cursor: null, has_more: false });

it.each(['1; curl example.com', '1 $(id)', '1`id`', '1\ncurl example.com', '1 > ~/.profile', '1 | sh', "'1"])(
  'no command is suggested with an id of another server that a shell would run: %j',
  async (id) => {
    const { code, stderr } = await list([{ ...LETTER, dead_letter_id: id }]);

    expect(code).toBe(0);
    expect(stderr).not.toContain('Next:');
  },
);

it('a command is suggested with an id of digits', async () => {
  const { stderr } = await list([LETTER]);

  expect(stripVTControlCharacters(stderr)).toContain('Next: npx millrace dlq show --stray 1\n');
});
