import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readDocument } from '../docs/documents.ts';
import { execute, makeForeignProject, npm, type Packed, packAll } from '../packages/packed.ts';

/** Installed from npm, in a folder of the test. */
const JEST = 'jest@30.5.2';
const TEST = `
import { afterAll, afterEach, expect, test } from '@jest/globals';
import { defineHandler, enqueue } from 'millrace';
import { millraceMatchers, openTestDatabase } from 'millrace/testing';

expect.extend(millraceMatchers);
const sendReport = defineHandler({
  jobType: 'send_report',
  payload: { '~standard': { version: 1, vendor: 'app', validate: (value) => ({ value }) } },
  run: async () => 7,
});
const database = await openTestDatabase({ handlers: [sendReport] });
afterEach(() => database.clear());
afterAll(() => database.close());

test('a report is enqueued and runs', async () => {
  await enqueue(database, sendReport, { team: 'sales' }, { uniqueKey: 'tonight' });

  await expect(database).toHaveEnqueued(sendReport, { team: 'sales' }, { uniqueKey: 'tonight' });
  await expect(database).not.toHaveEnqueued('charge_order');
  expect((await database.drain())[0].result).toBe(7);
});

test('a failed assertion lists what was enqueued', async () => {
  await enqueue(database, sendReport, { team: 'sales' });

  await expect(database).toHaveEnqueued(sendReport, { team: 'support' });
});
`;

let packed: Packed;
let project: string;

beforeAll(async () => {
  packed = await packAll(['millrace', 'millrace-dev']);
  project = join(packed.folder, 'shop');
  await makeForeignProject(project, {
    'package.json': JSON.stringify({ private: true, type: 'module', jest: { testMatch: ['**/*.jest.mjs'] } }),
    'report.jest.mjs': TEST,
  });
  const files = Object.values(packed.files);
  const installed = await npm(project, 'install', '--no-audit', '--no-fund', '--prefer-offline', ...files, JEST);
  expect(installed).toMatchObject({ code: 0 });
});
afterAll(() => packed?.remove());

it('the matcher works with jest, with the option that the page names', async () => {
  const [, option = ''] = /`NODE_OPTIONS` contains\s+`(--[\w-]+)`/.exec(readDocument('docs/testing.md').text) ?? [];
  const variables = { NODE_OPTIONS: option, MILLRACE_TEST_DATABASE_URL: '', TMPDIR: packed.folder };

  const { code, stderr } = await execute(project, join(project, 'node_modules/.bin/jest'), [], variables);

  expect(stderr).toContain('Tests:       1 failed, 1 passed, 2 total');
  expect(stderr).toContain('had enqueued a job send_report with {"team":"support"}; it enqueued:');
  expect(code).toBe(1);
});
