import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openDotEnv } from '../../../local/functions/dot-env.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

async function read(mode: number, text: string) {
  const project = await temporaryFolder();
  await writeFile(join(project, '.env'), text);
  await chmod(join(project, '.env'), mode);
  const lines: string[] = [];
  const readDotEnv = openDotEnv({
    project,
    fixed: { DATABASE_URL: 'own', AWS_ENDPOINT_URL_SQS: 'own' },
    printLine: (line) => lines.push(line),
  });
  return { variables: await readDotEnv(), readDotEnv, lines, path: join(project, '.env') };
}

it('the variables are those in the file, except empty variables', async () => {
  const { variables, lines } = await read(0o600, 'KEY="a b"\n# no\nEMPTY=\nexport OTHER=1\n');

  expect(variables).toEqual({ KEY: 'a b', OTHER: '1' });
  expect(lines).toEqual([]);
});

it.each(['KEY=value', 'KEY=value\nOTHER=1', '# KEY\nKEY=value'])(
  'a byte order mark before %j changes no variable',
  async (text) => {
    const { variables } = await read(0o600, `\ufeff${text}`);

    expect(variables).toEqual((await read(0o600, text)).variables);
  },
);

it.each([0o644, 0o640, 0o604])(
  'a file with the mode %o is read, with a warning that others can read it',
  async (mode) => {
    const { variables, lines, path } = await read(mode, 'KEY=value');

    expect(variables).toEqual({ KEY: 'value' });
    expect(lines).toEqual([`other users on this machine can read ${path}: run chmod 600 .env`]);
  },
);

it('a project without the file, or with a folder of that name, has no variables', async () => {
  const [without, withFolder] = [await temporaryFolder(), await temporaryFolder()];
  await mkdir(join(withFolder, '.env'));

  for (const project of [without, withFolder]) {
    expect(await openDotEnv({ project, fixed: {}, printLine: expect.unreachable })()).toEqual({});
  }
});

it('the warning is printed again only if the file was not readable by others in between', async () => {
  const { readDotEnv, lines, path } = await read(0o644, 'KEY=value');
  await readDotEnv();
  const once = lines.length;

  await chmod(path, 0o600);
  await readDotEnv();
  await chmod(path, 0o644);
  await readDotEnv();

  expect([once, lines.length]).toEqual([1, 2]);
});

it('a variable of the stack is not replaced, and a line reports it', async () => {
  const { variables, lines } = await read(
    0o600,
    'DATABASE_URL=postgres://u:secret@elsewhere/x\nAWS_ENDPOINT_URL_SQS=x\nSMTP_URL=smtp://mail.example.com',
  );

  expect(variables).toEqual({ SMTP_URL: 'smtp://mail.example.com' });
  expect(lines).toEqual([
    '.env: AWS_ENDPOINT_URL_SQS is ignored: the stack sets it itself',
    '.env: DATABASE_URL is ignored: handlers get the database of this stack. To run the stack on yours, use ' +
      'npx millrace dev --database-url; to pass yours to handlers, give it another name',
  ]);
});

it.each([
  ['PORT', '.env:1: the line has no = and is ignored: write NAME=value'],
  ['# a\nA=1\nexport PORT', '.env:3: the line has no = and is ignored: write NAME=value'],
  ['=novalue', '.env:1: the line has no name before = and is ignored: write NAME=value'],
  ['BAD-NAME=1', '.env:1: the name is invalid: use letters, digits and _, and no digit first'],
  ['1ST=1', '.env:1: the name is invalid: use letters, digits and _, and no digit first'],
  ['A=1\nUNCLOSED="abc', '.env:2: UNCLOSED: the quotation mark " is not closed'],
  ["UNCLOSED='abc\nB=1", ".env:1: UNCLOSED: the quotation mark ' is not closed"],
  ['A="abc\nB="x"', '.env:1: A: the value continues to line 2, where its quotation mark " is closed'],
  ['A="abc" def', '.env:1: A: the text after the closing " is ignored'],
  ['A=1\n\nA=2', '.env:3: A is set again: the value in line 1 is unused'],
])('a slip in a line is reported with its number: %j', async (text, line) => {
  const { lines } = await read(0o600, text);

  expect(lines).toEqual([line]);
});

it.each([
  ['A="b" # a comment\r\nB=\'it "is"\'\r\n'],
  ['KEY="-----BEGIN-----\nMIIEabc+/\nabcd==\n-----END-----"\nB=1'],
  ['  export A = 1\nB=a=b\nC=`x`\nD="it\'s"\n   # A\nlower_case=1'],
])('a file without a slip causes no line: %j', async (text) => {
  const { lines } = await read(0o600, text);

  expect(lines).toEqual([]);
});

it('the slips of a saved file are reported, at most ten, and without its values', async () => {
  const { readDotEnv, lines, path } = await read(0o600, 'A=1');

  await writeFile(path, 'secret\n'.repeat(30));
  await readDotEnv();
  await readDotEnv();

  expect(lines).toHaveLength(11);
  expect(lines.at(-1)).toBe('.env: 20 more lines have a fault');
  expect(lines.join()).not.toContain('secret');
});
