import { execFile, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ROLES, SCOPES } from '../../../core/access/scopes.ts';
import { STATUSES } from '../../../core/job.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { runCli } from '../run-cli.ts';

const exec = promisify(execFile);
const LAUNCHER = join(import.meta.dirname, '../../../cli/millrace.js');

const scriptFor = async (shell: string) => (await exec(process.execPath, [LAUNCHER, 'completion', shell])).stdout;
const bashScript = await scriptFor('bash');

/** Returns what bash offers for these words, of which the last is incomplete. Bash finds no program to start. */
async function complete(...words: string[]): Promise<string[]> {
  const text = `set -u; eval "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _millrace; if ((\${#COMPREPLY[@]})); then printf '%s\\n' "\${COMPREPLY[@]}"; fi`;
  const { stdout, stderr } = await exec('/bin/bash', ['--norc', '-c', text, 'bash', bashScript, ...words], {
    env: { PATH: '' },
  });
  expect(stderr).toBe('');
  return stdout.split('\n').slice(0, -1);
}

const SERIES = ['--since', '--until', '--step', '--job-type'];

describe('completion in bash', () => {
  it.each([
    ['a command', ['jo'], ['jobs']],
    ['a command of a group', ['jobs', 'l'], ['list']],
    ['an option', ['jobs', 'list', '--st'], ['--status']],
    ['an option of the program', ['jobs', 'list', '--j'], ['--jsonl', '--job-type', '--json']],
    ['an option of the default command', ['dlq', '--fail'], ['--fail-if-any']],
    ['options where a command has no words', ['stats', ''], ['--help', '-h', ...SERIES, ...global()]],
    ['all values of an option', ['jobs', 'list', '--status', ''], STATUSES],
    ['a value of an option', ['jobs', 'list', '--status', 'fa'], ['failed']],
    ['a further value after a comma', ['jobs', 'list', '--status', 'failed,de'], ['failed,dead_letter']],
    ['a value after =, where bash splits words', ['jobs', 'list', '--status', '=', 'fa'], ['failed']],
    ['a value with a colon, where bash splits words', ['keys', 'create', 'x', '--scope', 'jobs', ':', 'r'], ['read']],
    ['a value with a colon in one word', ['keys', 'create', 'x', '--scope', 'jobs:r'], ['jobs:read']],
    ['roles and scopes', ['keys', 'create', 'x', '--scope', ''], [...Object.keys(ROLES), ...SCOPES]],
    ['a command after an option and its value', ['--database-url', 'jobs', 'ke'], ['keys']],
    ['the choices of an argument', ['completion', ''], ['bash', 'zsh', 'fish']],
    ['nothing for an option with free values', ['enqueue', 'mail', '--at', ''], []],
    ['no option that a command rejects', ['jobs', 'show', '--jsonl'], []],
    ['nothing after an unknown command', ['nonsense', 'x'], []],
  ])('offers %s', async (_what, words, expected) => {
    const offered = await complete('millrace', ...words);

    expect(offered.toSorted()).toEqual(expected.toSorted());
  });

  it.each([
    [['npx', 'millrace', 'jobs', 'l'], ['list']],
    [['npx', '--no', 'millrace', 'jobs', 'l'], ['list']],
    [['./node_modules/.bin/millrace', 'jobs', 'l'], ['list']],
    [['npx', 'vitest', 'l'], []],
    [['npx', 'mill'], []],
  ])('recognises the program in %j', async (words, expected) => {
    expect(await complete(...words)).toEqual(expected);
  });

  it.each([[[]], [['jobs']], [['jobs', 'list']], [['dlq', 'discard']], [['redrive']], [['keys', 'create']]])(
    'offers all words in the help of %j',
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

  it('keeps an existing completion of npx', async () => {
    const text = `complete -W mine npx; eval "$1"; complete -p npx; complete -p millrace`;

    const { stdout } = await exec('/bin/bash', ['--norc', '-c', text, 'bash', bashScript]);

    expect(stdout).toBe(`complete -W 'mine' npx\ncomplete -F _millrace millrace\n`);
  });
});

describe.each(['zsh', 'fish'])('the script for %s', (shell) => {
  const missing = spawnSync(shell, ['-c', 'true']).error !== undefined;
  if (missing) console.warn(`not checked: the script for ${shell}, because ${shell} is not installed`);

  it.skipIf(missing)(
    `has a syntax that ${shell} accepts${missing ? ` (not run: ${shell} is not installed)` : ''}`,
    async () => {
      const file = join(await temporaryFolder(), 'script');
      await writeFile(file, await scriptFor(shell));

      const { stderr } = await exec(shell, ['-n', file]);

      expect(stderr).toBe('');
    },
  );

  it('contains the commands, options and values', async () => {
    const script = await scriptFor(shell);

    for (const word of ['dlq discard', '--fail-if-any', 'keys create --scope', ...STATUSES]) {
      expect(script).toContain(word);
    }
  });
});

it.each([[[]], [['powershell']]])('completion rejects another shell: %j', async (words) => {
  const { code, stdout, stderr } = await runCli(['completion', ...words]);

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/missing required argument 'shell'|Allowed choices are bash, zsh, fish/);
});

function global(): string[] {
  return ['--version', '-v', '--database-url', '--api-url', '--json'];
}
