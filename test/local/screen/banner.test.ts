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
  databaseUrl: 'postgres://postgres:s3cret@127.0.0.1:4/millrace',
} as unknown as Stack;

it.each([
  [true, 'stopped; start it: npx millrace mail start'],
  [false, 'read it: npx millrace mail'],
])('the banner shows the command for the mailbox (stopped: %s)', (mailboxStopped, words) => {
  const text = banner(stack, { fastRetries: false, samples: false, mailboxStopped });

  expect(text).toMatch(new RegExp(`Mailbox +smtp://127.0.0.1:3 +${words}\n`));
});

it('the banner shows the address of the database without its password, and the command that prints it', () => {
  const text = banner(stack, { fastRetries: false, samples: false, mailboxStopped: false });

  expect(text).toMatch(
    /Database +postgres:\/\/postgres@127\.0\.0\.1:4\/millrace +with its password: npx millrace url\n/,
  );
  expect(text).not.toContain('s3cret');
});
