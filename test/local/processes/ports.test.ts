import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { freePort, startOnSamePort, startOnUsualPort } from '../../../local/processes/ports.ts';

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

it.each(['Port 9324 is in use: choose another for SQS with --port.', 'listen EADDRINUSE: address already in use'])(
  'starts a server again when its port was taken for a moment: %s',
  async (message) => {
    const tried: number[] = [];

    const { port } = await startOnUsualPort(
      'sqs',
      async (one) => {
        tried.push(one);
        if (tried.length < 3) throw new Error(message);
        return { port: one };
      },
      () => undefined,
    );

    expect(tried).toHaveLength(3);
    expect(port).toBe(tried[2]);
  },
);

it('does not start a server again after another failure', async () => {
  let tries = 0;
  const start = async () => {
    tries += 1;
    throw new Error('the data file cannot be read');
  };

  await expect(startOnUsualPort('sqs', start, () => undefined)).rejects.toThrow('the data file cannot be read');

  expect(tries).toBe(1);
});

it('finds a port even if another program binds each port in order just before it', async () => {
  const server = await startOnUsualPort(
    'sqs',
    async (port) => {
      // Five stacks that start at the same time check the ports in the same order.
      if (port < 9_331) {
        await occupy(port).catch(() => undefined);
        throw new Error(`Port ${port} is in use: choose another for SQS with --port.`);
      }
      return { port };
    },
    () => undefined,
  );

  expect(server.port).toBeGreaterThanOrEqual(9_331);
});

it('refuses to start a server again on another port, and stops it', async () => {
  const port = await freePort();
  const stopped: number[] = [];
  const start = async (preferred: number) => {
    const bound = await freePort(preferred);
    return { port: bound, stop: async () => void stopped.push(bound) };
  };

  expect(await startOnSamePort(start, port)).toMatchObject({ port });
  await occupy(port);

  await expect(startOnSamePort(start, port)).rejects.toThrow(`another program uses its port ${port}`);
  expect(stopped).toEqual([expect.not.toSatisfy((bound) => bound === port)]);
});
