import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { statePath } from '../../local/state.ts';
import { eventually } from '../support/eventually.ts';
import { launch, makeProject, type Project, type RunningStack, startUp, whenUp } from '../support/project.ts';
import { insertJob, untilJob } from '../support/stack-doors.ts';
import { handlerSource } from './sources.ts';

const PATIENCE_MS = 600_000;

let project: Project;
let stack: RunningStack;

beforeAll(async () => {
  project = await makeProject({ 'quick.ts': handlerSource('quick', 'return 1;') });
});

afterAll(() => project.remove());

it(
  'one of two simultaneous starts succeeds, and the other prints the reason',
  async () => {
    const both = [launch(project), launch(project)];

    const loser = await Promise.race(both.map(async (start) => start.exited.then(() => start)));
    const winner = both.find((start) => start !== loser) as (typeof both)[number];
    stack = await whenUp(project, winner);

    expect(await loser.exited).toBe(5);
    expect(loser.output()).toMatch(/^Millrace (already runs in this folder|starts or runs in \S+) as process \d+/);
    expect(stack.state.pid).toBe(winner.process.pid);
  },
  PATIENCE_MS,
);

it('a second start prints the process and the address of the first, without the password', async () => {
  const second = launch(project);

  expect(await second.exited).toBe(5);
  const { port, password } = new URL(stack.state.databaseUrl);
  expect(second.output()).toContain(`process ${stack.state.pid}`);
  expect(second.output()).toContain(`127.0.0.1:${port}/millrace`);
  expect(second.output()).not.toContain(password);
});

it.each([
  ['gone', ''],
  ['damaged', '{bad'],
])('when dev.json is %s, a second start and every command name the process to stop', async (_how, text) => {
  const path = statePath(project.folder);
  const before = await readFile(path, 'utf8');
  await (text === '' ? rm(path) : writeFile(path, text));

  const second = launch(project);
  const code = await second.exited;
  const stats = await project.millrace('stats');

  await writeFile(path, before, { mode: 0o600 });
  const said = `in ${project.folder} as process ${stack.state.pid}, but .millrace/dev.json does not describe it`;
  const stop = `stop it with \`kill ${stack.state.pid}\`, then run npx millrace dev`;
  expect({ code, stats: stats.code }).toEqual({ code: 5, stats: 7 });
  for (const output of [second.output(), stats.stderr]) {
    expect(output).toContain(said);
    expect(output).toContain(stop);
  }
});

it(
  'npm start uses another port when one is in use, prints it, and keeps the data',
  async () => {
    const id = await insertJob(stack, 'quick', {});
    await untilJob(stack, id, { status: 'succeeded' });
    await stack.stop();
    const taken = await holdPortOfSqs();

    stack = await startUp(project);

    expect(stack.output()).toMatch(new RegExp(`port ${taken} is in use, sqs listens on \\d+`));
    await untilJob(stack, id, { status: 'succeeded' });
  },
  PATIENCE_MS,
);

it(
  'npm start -- --fresh starts from scratch, also after a kill and without handlers, and deploys the first handler',
  async () => {
    await stack.stop('SIGKILL');
    await project.removeHandler('quick.ts');

    stack = await startUp(project, ['--fresh']);

    expect(stack.output()).toMatch(/^deleting the data of earlier starts in \S+\.millrace: .*\bpostgres\b/);
    expect(stack.output()).toContain('none; add a file to functions/handlers');
    expect(await stack.query('select id from millrace.jobs')).toEqual([]);
    await project.writeHandler('quick.ts', handlerSource('quick', 'return 2;'));
    await eventually(() => expect(stack.output()).toContain('quick was added'));
    expect(await insertJob(stack, 'quick', {})).toBe('1');
    await untilJob(stack, '1', { status: 'succeeded', result: 2 });
    expect(await stack.stop()).toBe(0);
  },
  PATIENCE_MS,
);

it('millrace dev refuses a folder that is not a project, and creates nothing in it', async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), 'millrace-elsewhere-'));
  onTestFinished(() => rm(elsewhere, { recursive: true }));

  const launched = launch({ ...project, folder: elsewhere });

  expect(await launched.exited).toBe(2);
  expect(launched.output()).toContain(`no folder jobs or functions/handlers in ${elsewhere}`);
  await rm(join(elsewhere, '.millrace'), { recursive: true }).then(
    () => expect.unreachable('it made .millrace'),
    () => undefined,
  );
});

/** Takes a port, and records it as the one that SQS had at the last start: another project may hold the real one. */
async function holdPortOfSqs(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const path = join(project.folder, '.millrace/ports.json');
  await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), sqs: port }));
  return port;
}
