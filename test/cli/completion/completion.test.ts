import { execFile, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { STATUSES } from '../../../cli/options/values.ts';
import { ROLES, SCOPES } from '../../../core/access/scopes.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { runCli } from '../run-cli.ts';

const exec = promisify(execFile);
const LAUNCHER = join(import.meta.dirname, '../../../cli/millrace.js');

const scriptFor = async (shell: string) => (await exec(process.execPath, [LAUNCHER, 'completion', shell])).stdout;
const bashScript = await scriptFor('bash');

/** What bash offers for these words, the last of which is being typed. It finds no program that it could start. */
async function complete(...words: string[]): Promise<string[]> {
  const text = `set -u; eval "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _millrace; if ((\${#COMPREPLY[@]})); then printf '%s\\n' "\${COMPREPLY[@]}"; fi`;
  const { stdout, stderr } = await exec('/bin/bash', ['--norc', '-c', text, 'bash', bashScript, ...words], {
    env: { PATH: '' },
  });
  expect(stderr).toBe('');
  return stdout.split('\n').slice(0, -1);
}

describe('in bash', () => {
  it.each([
    ['a command', ['jo'], ['jobs']],
    ['a command of a group', ['jobs', 'l'], ['list']],
    ['an option', ['jobs', 'list', '--st'], ['--status']],
    ['an option of the program', ['jobs', 'list', '--j'], ['--jsonl', '--job-type', '--json']],
    ['an option of the default command', ['dlq', '--fail'], ['--fail-if-any']],
    ['an option where there is nothing else', ['stats', ''], ['--help', '-h', ...global()]],
    ['all values', ['jobs', 'list', '--status', ''], STATUSES],
    ['a value', ['jobs', 'list', '--status', 'fa'], ['failed']],
    ['another value', ['jobs', 'list', '--status', 'failed,de'], ['failed,dead_letter']],
    ['a value after =, which bash cuts off', ['jobs', 'list', '--status', '=', 'fa'], ['failed']],
    ['a value with a colon, where bash cuts', ['keys', 'create', 'x', '--scope', 'jobs', ':', 'r'], ['read']],
    ['a value with a colon, where it does not', ['keys', 'create', 'x', '--scope', 'jobs:r'], ['jobs:read']],
    ['roles and scopes', ['keys', 'create', 'x', '--scope', ''], [...Object.keys(ROLES), ...SCOPES]],
    ['a command after an option and its value', ['--database-url', 'jobs', 'ke'], ['keys']],
    ['an argument of fixed choice', ['completion', ''], ['bash', 'zsh', 'fish']],
    ['nothing for a value that can be anything', ['enqueue', 'mail', '--at', ''], []],
    ['nothing that a command refuses', ['jobs', 'show', '--jsonl'], []],
    ['nothing for nonsense', ['nonsense', 'x'], []],
  ])('completes %s', async (_what, words, expected) => {
    const offered = await complete('millrace', ...words);

    expect(offered.toSorted()).toEqual(expected.toSorted());
  });

  it.each([
    [['npx', 'millrace', 'jobs', 'l'], ['list']],
    [['npx', '--no', 'millrace', 'jobs', 'l'], ['list']],
    [['./node_modules/.bin/millrace', 'jobs', 'l'], ['list']],
    [['npx', 'vitest', 'l'], []],
    [['npx', 'mill'], []],
  ])('knows which program is meant: %j', async (words, expected) => {
    expect(await complete(...words)).toEqual(expected);
  });

  it.each([[[]], [['jobs']], [['jobs', 'list']], [['dlq', 'discard']], [['redrive']], [['keys', 'create']]])(
    'offers what the help of %j names',
    async (words) => {
      const { stdout } = await runCli([...words, '--help']);
      const listed = stdout.slice(stdout.indexOf('\nOptions:'));
      const named = [...listed.matchAll(/^ {2}(?:(-\w), )?(--[a-z-]+|[a-z]+)(?= )/gm)].flatMap(([, short, long]) =>
        short === undefined ? [long] : [short, long],
      );

      const offered = [...(await complete('millrace', ...words, '')), ...(await complete('millrace', ...words, '-'))];

      expect(named.length).toBeGreaterThan(5);
      expect([...new Set(offered)].toSorted()).toEqual([...new Set(named)].toSorted());
    },
  );

  it('leaves npx to whoever completes it already', async () => {
    const text = `complete -W mine npx; eval "$1"; complete -p npx; complete -p millrace`;

    const { stdout } = await exec('/bin/bash', ['--norc', '-c', text, 'bash', bashScript]);

    expect(stdout).toBe(`complete -W 'mine' npx\ncomplete -F _millrace millrace\n`);
  });
});

describe.each(['zsh', 'fish'])('for %s', (shell) => {
  const missing = spawnSync(shell, ['-c', 'true']).error !== undefined;
  if (missing) console.warn(`not run: the script for ${shell}, since ${shell} is not installed here`);

  it.skipIf(missing)(`is what ${shell} can read${missing ? ` (not run: no ${shell} here)` : ''}`, async () => {
    const file = join(await temporaryFolder(), 'script');
    await writeFile(file, await scriptFor(shell));

    const { stderr } = await exec(shell, ['-n', file]);

    expect(stderr).toBe('');
  });

  it('has the same words and values', async () => {
    const script = await scriptFor(shell);

    for (const word of ['dlq discard', '--fail-if-any', 'keys create --scope', ...STATUSES]) {
      expect(script).toContain(word);
    }
  });
});

it.each([[[]], [['powershell']]])('refuses another shell: %j', async (words) => {
  const { code, stdout, stderr } = await runCli(['completion', ...words]);

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/missing required argument 'shell'|Allowed choices are bash, zsh, fish/);
});

function global(): string[] {
  return ['--version', '-v', '--database-url', '--api-url', '--json'];
}
