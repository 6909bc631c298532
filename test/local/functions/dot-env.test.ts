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
  const readDotEnv = openDotEnv({ project, fixed: { DATABASE_URL: 'own' }, printLine: (line) => lines.push(line) });
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
    'DATABASE_URL=postgres://elsewhere/x\nSMTP_URL=smtp://mail.example.com',
  );

  expect(variables).toEqual({ SMTP_URL: 'smtp://mail.example.com' });
  expect(lines).toEqual(['.env: DATABASE_URL is ignored: npm start sets it itself']);
});
