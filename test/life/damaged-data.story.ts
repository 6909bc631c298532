import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launch, makeProject, type Project } from '../support/project.ts';

const WAY_OUT = /; npx millrace dev --fresh deletes the data and starts from scratch\n$/;

let project: Project;
let data: string;
beforeAll(async () => {
  project = await makeProject();
  data = join(project.folder, '.millrace');
});
afterAll(() => project.remove());

it.each([
  ['anything.txt', 'contains no Postgres data'],
  ['millrace.password', 'Postgres did not start'],
])('npm start suggests --fresh when the database folder contains only %s', async (file, sentence) => {
  await rm(data, { recursive: true, force: true });
  await mkdir(join(data, 'postgres'), { recursive: true });
  await writeFile(join(data, 'postgres', file), 'x');

  const start = launch(project);

  expect(await start.exited).toBe(1);
  expect(start.output()).toContain(sentence);
  expect(start.output()).toMatch(WAY_OUT);
});

it('npm start refuses to start when .millrace is a file', async () => {
  await rm(data, { recursive: true, force: true });
  await writeFile(data, '');

  const start = launch(project);

  expect(await start.exited).toBe(2);
  expect(start.output()).toBe(
    `${data} is a file: move it away, because Millrace keeps its data in a folder with this name\n`,
  );
});
