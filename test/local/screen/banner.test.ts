import { expect, it } from 'vitest';
import { banner } from '../../../local/screen/banner.ts';
import type { Stack } from '../../../local/stack.ts';

const stack = {
  services: {
    postgres: { current: () => ({ version: '18.4' }) },
    sqs: { ours: true },
    files: { url: 'http://127.0.0.1:1' },
  },
  runner: { endpoint: 'http://127.0.0.1:2' },
  handlers: { list: () => [] },
  smtpUrl: 'smtp://127.0.0.1:3',
} as unknown as Stack;

it.each([
  [true, 'stopped: npx millrace mail start'],
  [false, 'read it: npx millrace mail'],
])('the banner shows the command for the mailbox (stopped: %s)', (mailboxStopped, words) => {
  const parts = banner(stack, { fastRetries: false, samples: false, mailboxStopped });
  const text = parts.map((part) => (typeof part === 'string' ? part : part.text)).join('');

  expect(text).toMatch(new RegExp(`Mailbox +smtp://127.0.0.1:3 +${words}\n`));
});

it('the banner fits 80 columns, however many handlers and samples there are', () => {
  const names = Array.from({ length: 30 }, (_, index) => `charge_card_${index}.key_${index}`);
  const handlers = { list: () => names.map((jobType) => ({ definition: { jobType, routingKey: '' } })) };
  const urls = {
    databaseUrl: 'postgres://postgres@127.0.0.1:54329/millrace',
    ...{ apiUrl: 'http://127.0.0.1:58377', smtpUrl: 'smtp://127.0.0.1:52525', sqsEndpoint: 'http://127.0.0.1:59324' },
    runner: { endpoint: 'http://127.0.0.1:59325' },
  };
  const services = { ...stack.services, files: { url: 'http://127.0.0.1:58025' } };
  const options = { fastRetries: true, samples: true, mailboxStopped: true };

  const parts = banner({ ...stack, ...urls, services, handlers } as unknown as Stack, options);

  const text = parts.map((part) => (typeof part === 'string' ? part : part.text)).join('');
  expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
  for (const name of names) expect(text).toContain(name);
});
