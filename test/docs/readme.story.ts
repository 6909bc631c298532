import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { commandLines, inlineCode, readDocument, section } from './documents.ts';
import { openTerminal, type Terminal } from './terminal.ts';

const readme = readDocument('README.md');
const lines = commandLines(readme);
/** The commands within sentences, without those that the reader must complete or that read a file. */
const spoken = inlineCode(readme)
  .flatMap((code) => /npx millrace [^)…<]*(?=[)]|$)/.exec(code) ?? [])
  // `npm start` does not install psql.
  .filter((line) => line !== 'npx millrace psql');
const patience = { interval: 100 };

let terminal: Terminal;
let project: Terminal['project'];
let stack: Terminal['stack'];

beforeAll(async () => {
  terminal = await openTerminal();
  ({ project, stack } = terminal);
});
afterAll(() => terminal?.close());

async function statusOf(id: string): Promise<string | undefined> {
  const [job] = await stack.query<{ status: string }>('select status from millrace.jobs where id = $1', [id]);
  return job?.status;
}

it('the README starts with npm start', () => {
  expect(lines[0]).toBe('npm start');
});

it('the commands for the second terminal do what the README describes', async () => {
  const commands = commandLines(section(readme, 'Run it')).slice(1);
  const [insert, select, enqueue, show, mail] = commands as [string, string, string, string, string];

  const ids = [await terminal.type(insert), await terminal.type(enqueue)];
  await eventually(
    async () => expect(await Promise.all(ids.map(statusOf))).toEqual(['succeeded', 'succeeded']),
    patience,
  );
  const answers = await Promise.all([terminal.type(select), terminal.type(show), terminal.type(mail)]);

  expect(commands).toHaveLength(5);
  expect(ids).toEqual(['5', '6']);
  expect(answers[0]).toMatch(/^6\tsucceeded\t1\t/);
  expect(answers[1]).toMatch(/status\tsucceeded/);
  expect(answers[2]?.split('\n')).toHaveLength(3);
});

it('the four sample jobs end as the README describes', async () => {
  const jobs = await eventually(async () => {
    const found = await stack.query('select status, attempts from millrace.jobs where id <= 4 order by id');
    expect(found).toEqual([
      { status: 'succeeded', attempts: 1 },
      { status: 'succeeded', attempts: 1 },
      { status: 'succeeded', attempts: 2 },
      { status: 'dead_letter', attempts: 1 },
    ]);
    return found;
  }, patience);

  expect(jobs).toHaveLength(4);
});

it('saving the handler deploys it, and the job of the application runs', async () => {
  const commands = commandLines(section(readme, 'Enqueue in your own transaction'));
  const [create, place, list] = commands as [string, string, string];
  const [handler, application] = readme.blocks.filter(({ language }) => language === 'ts');
  await project.writeHandler('charge-card.ts', handler!.code);
  await writeFile(join(project.folder, 'place-order.ts'), application!.code);
  await eventually(async () => {
    expect(await stack.query("select from millrace.handlers where job_type = 'charge_card'")).toHaveLength(1);
  }, patience);

  await terminal.type(create);
  const id = await terminal.type(place);
  await eventually(async () => expect(await statusOf(id)).toBe('succeeded'), patience);
  const listed = await terminal.type(list);

  const [{ result, unique_key: key }] = (await stack.query('select * from millrace.jobs where id = $1', [id])) as [
    Record<string, unknown>,
  ];
  expect(result).toEqual({ charged: 4200, reference: `charge-${id}` });
  expect(key).toBe('charge-A-1');
  expect(listed).toMatch(new RegExp(`^${id}\tcharge_card\tsucceeded\t`));
  expect(commands).toHaveLength(3);
  expect(await stack.query('select * from orders')).toEqual([{ name: 'A-1', cents: 4200 }]);
});

it('the SQL runs as it is, beside the table of the TypeScript example', async () => {
  const [sql] = readme.blocks.filter(({ language }) => language === 'sql');
  await writeFile(join(project.folder, 'orders.sql'), sql!.code);

  const printed = await terminal.type('npx millrace sql < orders.sql');

  const lines = printed.trimEnd().split('\n');
  expect(lines.at(-1)).toBe('cancelled');
  expect(lines.filter((line) => /^\d+\tf$/.test(line)).length).toBeGreaterThanOrEqual(1);
  expect(await stack.query("select cents from orders where name = 'A-17'")).toEqual([{ cents: 4200 }]);
});

it('the commands over HTTP enqueue a job and read it', async () => {
  const [address, post, show, stats] = commandLines(section(readme, 'Over HTTP')) as [string, string, string, string];
  const type = (line: string) => terminal.type(`${address} && ${line}`);

  const made = JSON.parse(await type(post));
  await eventually(async () => expect(await statusOf(made.id)).toBe('succeeded'), patience);

  expect(JSON.parse(await type(show))).toMatchObject({ id: '1', status: 'succeeded' });
  expect(JSON.parse(await type(stats))).toHaveProperty('throughput');
});

it('npx finds the millrace command', async () => {
  const url = await terminal.type('npx millrace url', { PATH: process.env.PATH ?? '' });

  expect(url).toBe(stack.state.databaseUrl);
});

it.each(spoken)('the command within a sentence succeeds: %s', async (line) => {
  await expect(terminal.type(line)).resolves.toBeDefined();
});

it('npm start has the options that the README names', async () => {
  const wanted = inlineCode(readme).flatMap((code) => /^npm start -- (.*)$/.exec(code)?.[1]?.split(' ') ?? []);

  const help = await terminal.type('npx millrace dev --help');

  expect(wanted).toContain('--fast-retries');
  expect(wanted.filter((option) => !help.includes(option))).toEqual([]);
});
