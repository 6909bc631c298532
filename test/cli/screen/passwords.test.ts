import { describe, expect, it } from 'vitest';
import { withoutPasswords } from '../../../cli/screen/passwords.ts';
import { runCli } from '../run-cli.ts';

const ADDRESSES = [
  'postgres://u:hunter2@h/db',
  'postgres://u@h/db?password=hunter2',
  'postgres://h/db?sslmode=disable&password=hunter2&user=u',
  'postgres://h/db?user=u&sslpassword=hunter2',
  'postgres:///db?PASSWORD=hun ter2',
  'postgres://u:hun ter2@h/db',
  "postgres://u:hun'ter2@h/db",
  'postgres://u:hun@ter2@h/db',
  'postgres://u:h/unter2@h/db',
  'postgres://u/v:hunter2@h/db',
  'postgres:/u:hunter2@h/db',
  'postgres//u:hunter2@h/db',
  'host=h user=u password=hunter2',
];

describe.each(ADDRESSES)('the password of %s', (address) => {
  it.each([
    ['the value of an option', ['jobs', 'list', '--limit', address]],
    ['an unknown command', [address]],
    ['an unknown subcommand', ['jobs', address]],
    ['an unknown option', ['jobs', 'list', `--database-ulr=${address}`]],
    ['a further argument', ['stats', address]],
    ['an argument that the command itself refuses', ['dlq', 'show', address]],
  ])('is not shown if the address is %s', async (_what, args) => {
    const { code, stderr } = await runCli(args);

    expect(code).toBe(2);
    expect(stderr).toContain('***');
    expect(stderr).not.toMatch(/hun|ter2/);
  });
});

it.each([
  ["option '--limit <n>' argument 'postgres://u:p@h/d' is invalid.", "argument 'postgres://u:***@h/d' is invalid."],
  [
    "argument 'postgres://h/d?password=p&user=u' is invalid.",
    "argument 'postgres://h/d?password=***&user=u' is invalid.",
  ],
  [
    "argument 'postgres://u@h/d?password=p' is invalid. More",
    "argument 'postgres://u@h/d?password=***' is invalid. More",
  ],
])('leaves the rest of the error: %s', (text, expected) => {
  expect(withoutPasswords(text)).toContain(expected);
});

it('leaves the example of an address', () => {
  const text = 'DATABASE_URL: the address is malformed; expected postgres://user:password@host:5432/name';

  expect(withoutPasswords(text)).toBe(text);
});

it.each(["unknown command 'ada@example.com'", "argument 'http://localhost:8080' is invalid.", ''])(
  'leaves an error without a password: %j',
  (text) => {
    expect(withoutPasswords(text)).toBe(text);
  },
);

it.each(['/', '://', '://:', ':/', '://u:p', 'password=', '?password=&', "password='"])(
  'masks a long argument that repeats %s',
  (part) => {
    const text = `://${part.repeat(300_000)}`;

    expect(withoutPasswords(text).length).toBeLessThanOrEqual(text.length * 2);
    expect(withoutPasswords(`${text}@`)).toMatch(/@$|\*\*\*$/);
  },
);
