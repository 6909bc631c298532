import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { commandLines, inlineCode, ROOT, readDocument } from './documents.ts';

const run = promisify(execFile);
const readme = readDocument('README.md');
const lines = commandLines(readme);
const commands = lines.filter((line) => line.startsWith('npx millrace '));
/** Those within sentences, but for the ones that leave something to fill in. */
const spoken = inlineCode(readme).flatMap((code) => /npx millrace [^)…]*(?=[)]|$)/.exec(code) ?? []);
const patience = { timeout: 30_000, interval: 100 };

let project: Project;
let stack: RunningStack;

beforeAll(async () => {
  project = await makeProject();
  await symlink(join(ROOT, 'cli'), join(project.folder, 'cli'));
  const manifest = { name: 'millrace', version: '0.0.0', type: 'module', bin: { millrace: 'cli/millrace.js' } };
  await writeFile(join(project.folder, 'package.json'), JSON.stringify(manifest));
  // npx itself takes a second and more before it finds the command, which one test sees it do.
  await mkdir(join(project.folder, 'bin'));
  const shortcut = `#!/bin/sh\nshift\nexec '${process.execPath}' cli/millrace.js "$@"\n`;
  await writeFile(join(project.folder, 'bin', 'npx'), shortcut, { mode: 0o755 });
  stack = await startUp(project);
});
afterAll(async () => {
  await stack.stop();
  await project.remove();
});

/** As a person's shell does it, in the second terminal. */
async function type(line: string, env = { PATH: `${project.folder}/bin:${process.env.PATH}` }): Promise<string> {
  const { stdout } = await run('/bin/sh', ['-c', line], { cwd: project.folder, env: { ...process.env, ...env } });
  return stdout.trim();
}

async function statusOf(id: string): Promise<string | undefined> {
  const [job] = await stack.query<{ status: string }>('select status from millrace.jobs where id = $1', [id]);
  return job?.status;
}

it('starts with the two commands that stand first', () => {
  expect(lines.slice(0, 2)).toEqual(['npm ci', 'npm start']);
});

it('does in the second terminal, word for word, what the README says', async () => {
  const [insert, select, enqueue, show, mail] = commands as [string, string, string, string, string];

  const ids = [await type(insert), await type(enqueue)];
  await eventually(
    async () => expect(await Promise.all(ids.map(statusOf))).toEqual(['succeeded', 'succeeded']),
    patience,
  );
  const answers = await Promise.all([type(select), type(show), type(mail)]);

  expect(ids).toEqual(['5', '6']);
  expect(answers[0]).toMatch(/^6\tsucceeded\t1\t/);
  expect(answers[1]).toMatch(/status\tsucceeded/);
  expect(answers[2]?.split('\n')).toHaveLength(3);
}, 60_000);

it('has run the four sample jobs as the README says', async () => {
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

it('shows, tries again and discards a dead job', async () => {
  const [list, show, failed, retry, discard] = commands.slice(5) as [string, string, string, string, string];

  const seen = [...(await Promise.all([type(list), type(show), type(failed)])), await type(retry)];
  await eventually(async () => expect(await statusOf('4')).toBe('dead_letter'), patience);
  await type(discard);

  expect(commands).toHaveLength(10);
  expect(seen[0]).toMatch(/^4\tmake_thumbnail\tdead_letter/);
  expect(seen[1]).toMatch(/^stack\t/m);
  expect(seen[2]).toMatch(/^4\tmake_thumbnail\t1\t/);
  expect(seen[3]).toBe('redriven');
  expect(await statusOf('4')).toBe('cancelled');
}, 60_000);

it('deploys the handler when its file is saved, and runs what an application enqueues', async () => {
  const [handler, application] = readme.blocks.filter(({ language }) => language === 'ts');
  await project.writeHandler('charge-card.ts', handler!.code);
  await writeFile(join(project.folder, 'place-order.ts'), application!.code);
  await writeFile(join(project.folder, 'try.ts'), TRY);
  await stack.query('create table orders (name text primary key, cents integer)');
  await eventually(async () => {
    expect(await stack.query("select from millrace.handlers where job_type = 'charge_card'")).toHaveLength(1);
  }, patience);

  const { stdout } = await run(process.execPath, ['try.ts', stack.state.databaseUrl], { cwd: project.folder });
  const id = stdout.trim();
  await eventually(async () => expect(await statusOf(id)).toBe('succeeded'), patience);

  const [{ result, unique_key: key }] = (await stack.query('select * from millrace.jobs where id = $1', [id])) as [
    Record<string, unknown>,
  ];
  expect(result).toEqual({ charged: 4200, reference: `charge-${id}` });
  expect(key).toBe('charge-A-1');
  expect(await stack.query('select * from orders')).toEqual([{ name: 'A-1', cents: 4200 }]);
}, 60_000);

const TRY = `
import pg from 'pg';
import { placeOrder } from './place-order.ts';
const client = new pg.Client({ connectionString: process.argv[2] });
await client.connect();
console.log(await placeOrder(client, 'A-1', 4200));
await client.end();
`;

it('finds the command by npx itself', async () => {
  const url = await type('npx millrace url', { PATH: process.env.PATH ?? '' });

  expect(url).toBe(stack.state.databaseUrl);
});

it.each(spoken)('understands what stands in a sentence: %s', async (line) => {
  await expect(type(line)).resolves.toBeDefined();
});

it('knows the options of npm start', async () => {
  const wanted = inlineCode(readme).flatMap((code) => /^npm start -- (.*)$/.exec(code)?.[1]?.split(' ') ?? []);

  const help = await type('npx millrace up --help');

  expect(wanted).toContain('--fast-retries');
  expect(wanted.filter((option) => !help.includes(option))).toEqual([]);
});
