import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { openClient } from '../../../core/index.ts';

it.each([
  ['', 'the address is malformed'],
  ['api.example.com', 'the address is malformed'],
  [undefined, 'the address is malformed'],
  ['ftp://api.example.com', 'this is not the address of an API'],
  ['http://api.example.com', 'http:// to another machine would expose the key'],
  ['http://10.0.0.1:8377', 'http:// to another machine would expose the key'],
  ['http://127.0.0.1.example.com', 'http:// to another machine would expose the key'],
  ['https://ada:hunter2@api.example.com', 'must not contain credentials: pass the option key instead'],
  ['https://hunter2@api.example.com', 'must not contain credentials: pass the option key instead'],
  ['https://api.example.com/?key=hunter2', 'must not contain ? or #'],
  ['https://ada:hunter2@api example.com', 'the address is malformed'],
])('a client refuses the address %s, without printing it', (address, reason) => {
  const open = () => openClient({ url: address as string, key: 'k' });

  expect(open).toThrow(/^url: .*; expected https:\/\/host\/, or http:\/\/ on this machine$/);
  expect(open).toThrow(reason);
  expect(open).not.toThrow(/hunter2/);
});

it('an error contains one line of an answer, which cannot control a terminal', async () => {
  const problem = { type: '/problems/x', detail: `no\u001b[2J\nerror: \u202e${'x'.repeat(2000)}` };
  const server = createServer((_request, response) => response.writeHead(400).end(JSON.stringify(problem)));
  server.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const client = openClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });

  const { message } = await client.show('1').then(Object, (error: Error) => error);

  expect(message).toMatch(/ answered 400: no\ufffd\[2J error: \ufffdx{900,}…$/);
});
