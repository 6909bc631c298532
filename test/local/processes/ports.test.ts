import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../../local/processes/ports.ts';

async function occupy(port: number, host = '127.0.0.1'): Promise<void> {
  const server = createServer().listen(port, host);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
}

it('freePort returns the preferred port when it is free', async () => {
  const port = await freePort();

  expect(await freePort(port)).toBe(port);
});

it.each(['127.0.0.1', '0.0.0.0'])(
  'freePort returns the next port when the preferred one is in use on %s',
  async (host) => {
    const port = await freePort();
    await occupy(port, host);

    const next = await freePort(port);

    expect(next).toBeGreaterThan(port);
    expect(next).toBeLessThanOrEqual(port + 200);
  },
);

it('freePort returns no port to avoid', async () => {
  const port = await freePort();

  expect(await freePort(port, [port, port + 1])).toBeGreaterThan(port + 1);
});

it('freePort returns any free port when the range is exhausted', async () => {
  await occupy(65_535).catch(() => undefined);

  const port = await freePort(65_535);

  expect(port).toBeGreaterThan(0);
  expect(port).toBeLessThan(65_535);
});
