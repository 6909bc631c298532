import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { readDocument } from '../docs/documents.ts';
import { eventually } from '../support/eventually.ts';
import { createLogin, openEngine } from '../support/runtime-engine.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const run = promisify(execFile);
const page = readDocument('docs/other-languages.md');
const engine = await openEngine();
const { pool } = engine;
const shop = await createLogin(engine.test, 'millrace_app');
await pool.query(`grant create on schema public to ${shop.name}`);
const owner = await pool.connect();
await owner.query(`set role ${shop.name}`);
await owner.query(page.blocks.find(({ language }) => language === 'sql')!.code);
owner.release(true);
afterAll(async () => {
  await engine.close();
  await shop.drop();
});
beforeEach(async () => {
  await pool.query('truncate millrace.jobs_live, millrace.jobs_finished, orders');
});

/** Reads a command that .ci/clients.sh sets. */
function command(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run .ci/clients.sh, which installs the languages`);
  return value;
}

/** Each language: writes its program into a folder, and returns how to start it. */
const LANGUAGES: Readonly<Record<string, (folder: string, code: string) => Promise<readonly string[]>>> = {
  python: async (folder, code) => {
    await writeFile(join(folder, 'place_order.py'), code);
    return [command('MILLRACE_TEST_PYTHON'), join(folder, 'place_order.py')];
  },
  ruby: async (folder, code) => {
    await writeFile(join(folder, 'place_order.rb'), code);
    return [command('MILLRACE_TEST_RUBY'), '-w', join(folder, 'place_order.rb')];
  },
  go: async (folder, code) => {
    await writeFile(join(folder, 'place_order.go'), code);
    for (const file of ['go.mod', 'go.sum']) await copyFile(join(import.meta.dirname, file), join(folder, file));
    await run(command('MILLRACE_TEST_GO'), ['vet', '.'], { cwd: folder });
    await run(command('MILLRACE_TEST_GO'), ['build', '-o', 'place_order', '.'], { cwd: folder });
    return [join(folder, 'place_order')];
  },
};

interface Run {
  /** The first line, as soon as the program has printed it. */
  readonly placed: Promise<string>;
  /** How the program ended. */
  readonly ended: Promise<{ code: unknown; stdout: string; stderr: string }>;
}

function start([file = '', ...args]: readonly string[]): Run {
  const env = { ...process.env, DATABASE_URL: shop.url };
  const child: ChildProcessByStdio<null, Readable, Readable> = spawn(file, args, {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  child.stdout.on('data', (data) => {
    stdout += data;
  });
  const stderr = text(child.stderr);
  const closed = once(child, 'close');
  const ended = closed.then(async ([code]) => ({ code, stdout, stderr: await stderr }));
  const placed = eventually(() => {
    expect(stdout).toContain('\n');
    return stdout.split('\n')[0]!;
  });
  // A program that ends without a line is examined by `ended`.
  placed.catch(() => undefined);
  return { placed, ended };
}

const jobs = async () =>
  (
    await pool.query(`select id, job_type, payload, unique_key, status, run_at > now() as later, inserted_by
    from millrace.jobs order by id`)
  ).rows;

describe.each(Object.entries(LANGUAGES))('the program in %s', (language, prepare) => {
  const code = page.blocks.find((block) => block.language === language)!.code;

  it('enqueues with its order or not at all, deduplicates, and follows its jobs to their end', async () => {
    const program = await prepare(await temporaryFolder(), code);

    const first = start(program);
    const [id, ...created] = (await first.placed).split(' ');
    const inserted = await jobs();
    const refused = await start(program).ended;
    await pool.query('truncate orders');
    const second = start(program);
    const repeated = await second.placed;
    const later = await jobs();
    await pool.query('select millrace.cancel($1)', [id]);
    const ends = await Promise.all([first.ended, second.ended]);

    const job = { id, job_type: 'charge_card', payload: { name: 'A-1', cents: 4200 }, unique_key: 'charge-A-1' };
    expect(inserted).toEqual([{ ...job, status: 'pending', later: true, inserted_by: shop.name }]);
    expect(refused).toMatchObject({ stdout: '', stderr: expect.stringContaining('duplicate key value') });
    expect(refused.code).toBe(1);
    expect(later).toEqual(inserted);
    expect([created[0]!.toLowerCase(), repeated.toLowerCase()]).toEqual(['false', `${id} true`]);
    expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    expect(ends.map(({ stdout }) => stdout.trimEnd().split('\n').at(-1))).toEqual(['cancelled', 'cancelled']);
  });
});

/** Each language: how to check the syntax of a file without running it. */
const CHECKS: Readonly<Record<string, () => readonly string[]>> = {
  python: () => [command('MILLRACE_TEST_PYTHON'), '-m', 'py_compile'],
  ruby: () => [command('MILLRACE_TEST_RUBY'), '-wc'],
};
const foreign = readDocument('docs/coming-from.md').blocks.filter(({ language }) => Object.hasOwn(CHECKS, language));

it.each(foreign)('the code of another job system parses: $place', async ({ code, language }) => {
  const file = join(await temporaryFolder(), 'job');
  await writeFile(file, code);
  const [program = '', ...args] = CHECKS[language]!();

  await expect(run(program, [...args, file])).resolves.toMatchObject({ stderr: '' });
});
