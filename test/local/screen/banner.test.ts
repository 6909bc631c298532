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
  [true, 'stopped; start it: npx millrace mail start'],
  [false, 'read it: npx millrace mail'],
])('the banner shows the command for the mailbox (stopped: %s)', (mailboxStopped, words) => {
  const parts = banner(stack, { fastRetries: false, samples: false, mailboxStopped });
  const text = parts.map((part) => (typeof part === 'string' ? part : part.text)).join('');

  expect(text).toMatch(new RegExp(`Mailbox +smtp://127.0.0.1:3 +${words}\n`));
});
