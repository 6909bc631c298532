import { expect, it } from 'vitest';
import { banner } from '../../../local/screen/banner.ts';
import type { Stack } from '../../../local/stack.ts';

const stack = {
  services: {
    postgres: { current: () => ({ version: '18.4' }) },
    sqs: { ours: true },
    files: { url: 'http://127.0.0.1:58025' },
  },
  databaseUrl: 'postgres://postgres@127.0.0.1:54329/millrace',
  ...{ apiUrl: 'http://127.0.0.1:58377', smtpUrl: 'smtp://127.0.0.1:52525', sqsEndpoint: 'http://127.0.0.1:59324' },
  runner: { endpoint: 'http://127.0.0.1:59325' },
  handlers: { list: () => [], complaints: () => [] },
};

function textOf(more: object = {}, options: Partial<Parameters<typeof banner>[1]> = {}): string {
  const given = { fastRetries: false, samples: false, mailboxStopped: false, folder: 'jobs', run: 'npx' as const };
  const all = { ...given, ...options };
  const parts = banner({ ...stack, ...more } as unknown as Stack, all);
  return parts.map((part) => (typeof part === 'string' ? part : part.text)).join('');
}

it.each([
  [true, 'stopped: npx millrace mail start'],
  [false, 'read it: npx millrace mail'],
])('the banner shows the command for the mailbox (stopped: %s)', (mailboxStopped, words) => {
  expect(textOf({}, { mailboxStopped })).toMatch(new RegExp(`Mailbox +smtp://127.0.0.1:52525 +${words}\n`));
});

it('the banner fits 80 columns, however many handlers and samples there are', () => {
  const names = Array.from({ length: 30 }, (_, index) => `charge_card_${index}.key_${index}`);
  const list = () => names.map((jobType) => ({ definition: { jobType, routingKey: '' } }));
  const handlers = { ...stack.handlers, list };

  const text = textOf({ handlers }, { fastRetries: true, samples: true, mailboxStopped: true, run: 'pnpm' });

  expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
  for (const name of names) expect(text).toContain(name);
});

it.each([
  ['functions/handlers', '{"to": "ada@example.com"'],
  ['jobs', '<payload as JSON>'],
])('the banner shows the payload of a sample handler only if it is one: send_reminder in %s', (folder, payload) => {
  const list = () => [{ definition: { jobType: 'send_reminder', routingKey: '' } }];

  const text = textOf({ handlers: { ...stack.handlers, list } }, { folder });

  expect(text).toContain(`npx millrace enqueue send_reminder \\\n      '${payload}`);
});

const registration = { definition: { jobType: 'send_mail', routingKey: '' } };
const complaint = 'functions/handlers/x.ts:3: SyntaxError: no';

it.each([
  ['no file', [], [], 'Handlers   none; add a file to jobs\n'],
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
])('the banner names the handlers and what is missing: %s', (_what, list, complaints, lines) => {
  expect(textOf({ handlers: { list: () => list, complaints: () => complaints } })).toContain(lines);
});

it('the banner shows the address of the database without its password, and how to open it', () => {
  const text = textOf({ databaseUrl: 'postgres://postgres:s3cret@127.0.0.1:54329/millrace' });

  expect(text).toMatch(/Database +postgres:\/\/postgres@127\.0\.0\.1:54329\/millrace +npx millrace psql\n/);
  expect(text).not.toContain('s3cret');
});

const listed = (...jobTypes: string[]) => ({
  handlers: { ...stack.handlers, list: () => jobTypes.map((jobType) => ({ definition: { jobType, routingKey: '' } })) },
});

it.each([
  ['of a clone', ['a_first', 'send_reminder'], `enqueue send_reminder \\\n      '{"to": "ada@`],
  ['of millrace init', ['a_first', 'say_hello'], `enqueue say_hello \\\n      '{"name": "Ada"}'\n`],
  ['of the user', ['a_first'], `enqueue a_first \\\n      '<payload as JSON>'\n`],
])('the first command has a payload that the handler %s accepts, or none', (_whose, names, expected) => {
  expect(textOf(listed(...names), { folder: 'functions/handlers' })).toContain(expected);
});

it('the commands are those of the package manager that started the stack', () => {
  const text = textOf(listed('say_hello'), { run: 'pnpm' });

  expect(text).toContain('pnpm millrace enqueue say_hello');
  expect(text).not.toContain('npx');
});
