import { stripVTControlCharacters } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { listen } from '../backend/api-world.ts';
import { openDeadLetters } from '../commands/dead-letters.ts';
import { runCli } from '../run-cli.ts';

/** OSC (window title), CSI in both its forms, DEL and a bidi override, around words that identify the text. */
const WILD = 'wild\u001b]0;title\u0007\u001b[2J\u009b31m\u007f\u202eend';
const PAYLOAD = JSON.stringify({ text: WILD });

const { test, pool, bury } = await openDeadLetters();
const env = { DATABASE_URL: test.url };
const run = (args: readonly string[], terminal: boolean) => runCli(args, { env, terminal });

/** Returns what is left of the text that can control a terminal, apart from the colours of the command line. */
function controls(text: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours of styleText are such sequences
  return text.replace(/\u001b\[\d+m/g, '').match(/[^\P{Cc}\n\t]|\p{Bidi_Control}/gu) ?? [];
}

let id: string;
beforeEach(async () => {
  [id = ''] = await bury({ error: `${WILD}\nstatus      succeeded`, payload: PAYLOAD });
  await pool.query(
    `insert into millrace.job_attempts (job_id, claim_no, attempt, outcome, error_name, error_message, error_stacktrace,
         started_at, finished_at)
       values ($1, 7, 5, 'dead_letter', $2, $2, $2, now(), now())`,
    [id, WILD],
  );
});

const COMMANDS: readonly (readonly [string, (...ids: string[]) => string[]])[] = [
  ['the error of a statement', () => ['sql', `select ${quoted(WILD)}::int`]],
  ['the detail and hint of an error', () => ['sql', raise('exception')]],
  ['a notice', () => ['sql', raise('notice')]],
  ['a row and its heading', () => ['sql', `select ${quoted(WILD)} as "${WILD}"`]],
  ['rows as JSON', () => ['sql', '--json', `select ${quoted(WILD)} as "${WILD}"`]],
  ['a job', () => ['jobs', 'show', id]],
  ['a job as JSON', () => ['jobs', 'show', id, '--json']],
  ['a list', () => ['jobs', 'list']],
  ['a list as JSON lines', () => ['jobs', 'list', '--jsonl']],
  ['a dead letter', () => ['dlq', 'show', id]],
  ['groups', () => ['dlq']],
  ['an export', () => ['dlq', 'export', '--all']],
  ['a preview', () => ['redrive', '--all', '--dry-run']],
  ['an unknown command', () => [WILD]],
  ['a bad value of an option', () => ['jobs', 'list', '--status', WILD]],
  ['a payload that is not JSON', () => ['enqueue', 'mail', WILD]],
];

const quoted = (text: string) => `'${text}'`;
function raise(level: 'exception' | 'notice'): string {
  return `do $$ begin raise ${level} using message = '${WILD}', detail = '${WILD}', hint = '${WILD}'; end $$`;
}

it.each(COMMANDS)('%s cannot control a terminal', async (_what, argsOf) => {
  const { stdout, stderr } = await run(argsOf(), true);

  expect(stdout + stderr).toContain('wild');
  expect(controls(stdout + stderr)).toEqual([]);
});

it.each(COMMANDS.filter(([what]) => /JSON|export/.test(what) && !what.includes('not JSON')))(
  '%s is the same in a pipe, and has every character of the text',
  async (_what, argsOf) => {
    const terminal = await run(argsOf(), true);
    const pipe = await run(argsOf(), false);

    expect(pipe.stdout).toBe(terminal.stdout);
    expect(JSON.stringify(JSON.parse(pipe.stdout.split('\n')[0]!))).toContain(JSON.stringify(WILD).slice(1, -1));
  },
);

it('a line break in an error does not add a row', async () => {
  const { stdout } = await run(['jobs', 'show', id], true);

  const lines = stripVTControlCharacters(stdout).split('\n');

  expect(lines.filter((line) => line.startsWith('status'))).toEqual([expect.stringMatching(/^status +dead_letter$/)]);
  expect(lines).toContainEqual(expect.stringMatching(/^ {12,}status {6}succeeded$/));
});

const FORGED = 'x\n\nerror: your session expired\r\nNext: curl';
it.each([
  ['an error', ['sql', `select ${quoted(FORGED)}::int`]],
  ['a notice', ['sql', `do $$ begin raise notice using message = '${FORGED}'; end $$`]],
  ['a bad value of an option', ['jobs', 'list', '--status', FORGED]],
  ['an unknown command', [FORGED]],
])('a line break in %s does not begin another message', async (_what, args) => {
  for (const terminal of [true, false]) {
    const { stderr } = await run(args, terminal);

    const lines = stripVTControlCharacters(stderr).split('\n');
    expect(stderr).toContain('your session expired');
    expect(lines.filter((line) => /^(error: your|Next: curl)/.test(line))).toEqual([]);
  }
});

describe('a response of an API', () => {
  const document = { type: '/problems/x', title: WILD, detail: WILD, request_id: WILD };

  it.each([
    [500, 'application/problem+json', { ...document, status: 500 }],
    [403, 'application/problem+json', { ...document, status: 403, required_scope: WILD }],
    [401, 'application/problem+json', { ...document, status: 401 }],
    [502, 'application/json', { message: WILD }],
  ])('with status %i cannot control a terminal', async (status, type, body) => {
    const address = await listen((_request, response) => {
      response.writeHead(status, { 'content-type': type }).end(JSON.stringify(body));
    });

    const { stderr } = await runCli(['jobs', 'list', '--api-url', address], { terminal: true });

    expect(stderr).toContain('wild');
    expect(controls(stderr)).toEqual([]);
    expect(stripVTControlCharacters(stderr).trimEnd().split('\n')).toHaveLength(2);
  });
});
