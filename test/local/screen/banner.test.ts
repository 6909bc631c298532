import { describe, expect, it } from 'vitest';
import { banner } from '../../../local/screen/banner.ts';
import type { Stack } from '../../../local/stack.ts';

const stack = {
  services: {
    postgres: { current: () => ({ version: '18.4' }) },
    sqs: { ours: true },
    files: { url: 'http://127.0.0.1:1' },
  },
  runner: { endpoint: 'http://127.0.0.1:2' },
  handlers: { list: () => [], complaints: () => [] },
  smtpUrl: 'smtp://127.0.0.1:3',
} as unknown as Stack;

it.each([
  [true, 'stopped; start it: npx millrace mail start'],
  [false, 'read it: npx millrace mail'],
])('the banner shows the command for the mailbox (stopped: %s)', (mailboxStopped, words) => {
  const text = banner(stack, { fastRetries: false, samples: false, mailboxStopped });

  expect(text).toMatch(new RegExp(`Mailbox +smtp://127.0.0.1:3 +${words}\n`));
});

describe('the banner', () => {
  const registration = { definition: { jobType: 'send_mail', routingKey: '' } };
  const complaint = 'functions/handlers/x.ts:3: SyntaxError: no';

  it.each([
    ['no file', [], [], 'Handlers   none; add a file to functions/handlers\n'],
    ['a good file', [registration], [], 'Handlers   send_mail\n'],
    [
      'a good file and a broken one',
      [registration],
      [complaint],
      `Handlers   send_mail\n             not loaded: ${complaint}; correct it and save it again\n`,
    ],
    [
      'two broken files',
      [],
      [complaint, 'functions/handlers/y.ts: why'],
      `Handlers   none\n             not loaded: ${complaint}; correct it and save it again\n` +
        '             not loaded: functions/handlers/y.ts: why; correct it and save it again\n',
    ],
  ])('names the handlers and what is missing: %s', (_what, list, complaints, lines) => {
    const handlers = { list: () => list, complaints: () => complaints };
    const options = { fastRetries: false, samples: false, mailboxStopped: false };

    expect(banner({ ...stack, handlers } as unknown as Stack, options)).toContain(lines);
  });
});
