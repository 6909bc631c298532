import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readState } from '../../local/state.ts';
import { eventually } from '../support/eventually.ts';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { insertJob, untilJob } from '../support/stack-doors.ts';
import { handlerSource } from './sources.ts';

const SYNTAX_ERROR = `${handlerSource('broken_syntax', 'return 1;')}\nconst = 3;\n`;
const THROWS = `import '../../core/handler.ts';\n\nthrow new Error('no such luck');\n`;
const WRONG_NAME = handlerSource('other_name', 'return 1;');

let project: Project;
let stack: RunningStack;

beforeAll(async () => {
  project = await makeProject({
    'steady.ts': handlerSource('steady', `return 'first';`),
    'broken-syntax.ts': SYNTAX_ERROR,
    'throws.ts': THROWS,
    'wrong-name.ts': WRONG_NAME,
    'no-export.ts': 'export const nothing = 1;\n',
    'missing-import.ts': `import { nothing } from './not-there.ts';\nexport default nothing;\n`,
    'fails-later.ts': `void Promise.reject(new Error('nobody waited'));\nsetInterval(() => undefined, 1_000);\n`,
  });
  stack = await startUp(project);
});

afterAll(() => project.remove());

it('starts without the files that are broken, and names each with its line and reason', async () => {
  const output = stack.output();

  expect(output).toMatch(/functions\/handlers\/throws\.ts:3: Error: no such luck/);
  expect(output).toMatch(/functions\/handlers\/broken-syntax\.ts:\d+: SyntaxError/);
  expect(output).toMatch(/functions\/handlers\/wrong-name\.ts: defines other_name: rename the file to other-name\.ts/);
  expect(output).toMatch(/functions\/handlers\/no-export\.ts: has no default export/);
  expect(output).toMatch(/functions\/handlers\/missing-import\.ts:1: .*not-there/);
  expect(output).toMatch(/fails-later\.ts:1/);
  expect(output).toMatch(/Handlers +steady\n/);
  await succeedsWith('steady', 'first');
});

it('runs the next job with the code that was saved', async () => {
  await project.writeHandler('steady.ts', handlerSource('steady', `return 'second';`));
  await eventually(() => expect(stack.output()).toContain('steady was reloaded'), { timeout: 10_000 });

  await succeedsWith('steady', 'second');
});

it('sees a save that puts another file in its place', async () => {
  const draft = join(project.folder, 'draft.ts');
  const own = join(project.folder, 'functions', 'handlers', 'steady.ts');
  await project.writeHandler('../../draft.ts', handlerSource('steady', `return 'third';`, `timeout: '2s',`));
  await rename(draft, own);

  await eventually(() => expect(stack.output().split('steady was reloaded')).toHaveLength(3), { timeout: 10_000 });

  await succeedsWith('steady', 'third');
  const [row] = await stack.query(`select timeout_seconds from millrace.handlers where job_type = 'steady'`);
  expect(row).toEqual({ timeout_seconds: 2 });
});

it('keeps the code that worked while a saved file is broken', async () => {
  await project.writeHandler(
    'steady.ts',
    `${handlerSource('steady', `return 'fourth';`)}\nthrow new Error('half done');`,
  );
  await eventually(() => expect(stack.output()).toMatch(/steady\.ts:\d+: Error: half done/), { timeout: 10_000 });

  await succeedsWith('steady', 'third');
});

it('takes up a new file with its queue, and lets a removed one go', async () => {
  const waiting = await insertJob(stack, 'newcomer', {});
  await project.writeHandler('newcomer.ts', handlerSource('newcomer', `return 'hello';`));
  await untilJob(stack, waiting, { status: 'succeeded', result: 'hello' });
  expect(await jobTypes()).toEqual(['newcomer', 'steady']);

  await project.removeHandler('newcomer.ts');
  await eventually(async () => expect(await jobTypes()).toEqual(['steady']), { timeout: 10_000 });

  expect(stack.output()).toContain('newcomer was removed; its jobs wait');
  expect(await stack.query(`select job_type from millrace.handlers`)).toEqual([{ job_type: 'steady' }]);
});

it('gives functions nothing of the environment that it was started in', async () => {
  await project.writeHandler('environment.ts', handlerSource('environment', 'return Object.keys(process.env);'));
  const id = await insertJob(stack, 'environment', {});

  const { result } = await untilJob(stack, id, { status: 'succeeded' });

  expect(result).toContain('DATABASE_URL');
  expect(result).not.toContain('HOME');
  expect((result as string[]).filter((name) => /^(npm_|VITEST)/.test(name))).toEqual([]);
});

it('prints no password but in the banner', async () => {
  const passwords = [new URL(stack.state.databaseUrl).password];
  const [banner, rest] = stack.output().split('Ctrl-C lets running jobs finish') as [string, string];

  for (const password of passwords) {
    expect(banner.split(password)).toHaveLength(2);
    expect(rest).not.toContain(password);
  }
});

it('ends although a file left a timer behind', async () => {
  expect(await stack.stop()).toBe(0);
  expect(await readdir(join(project.folder, '.millrace'))).not.toContain('dev.json');
});

async function succeedsWith(jobType: string, result: unknown): Promise<void> {
  const id = await insertJob(stack, jobType, {});
  await untilJob(stack, id, { status: 'succeeded', result });
}

async function jobTypes(): Promise<string[]> {
  const state = await readState(project.folder);
  return state?.handlers.map(({ jobType }) => jobType).sort() ?? [];
}
