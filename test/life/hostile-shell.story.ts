import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { HOSTILE_VARIABLES } from '../core/postgres/hostile-surroundings.ts';
import { eventually } from '../support/eventually.ts';
import { launch, makeProject, whenUp } from '../support/project.ts';
import { insertJob, untilJob } from '../support/stack-doors.ts';

/** Changes how pg reads columns, for every connection of its process. Its own index would load pg-native here. */
const SOURCE = `import defaults from 'pg/lib/defaults.js';
import types from 'pg-types';
import { defineHandler } from '../../core/handler/handler.ts';
import { z } from 'zod';
export default defineHandler({
  jobType: 'spoils', payload: z.object({ fails: z.boolean() }), maxAttempts: 1,
  async run({ payload }) {
    for (const oid of [16, 20, 23, 25, 1184, 3802]) types.setTypeParser(oid, () => 'not ours');
    defaults.parseInputDatesAsUTC = true;
    if (payload.fails) throw new Error('boom');
  },
});
`;
// The only variable that npm start documents.
const { AWS_ENDPOINT_URL_SQS: _documented, ...SHELL } = HOSTILE_VARIABLES;

it('npm start works with any variables in the shell and in .env, and with a handler that changes pg', async () => {
  const project = await makeProject({ 'spoils.ts': SOURCE });
  onTestFinished(() => project.remove());
  const lines = Object.entries(HOSTILE_VARIABLES).map(([name, value]) => `${name}="${value}"`);
  await writeFile(join(project.folder, '.env'), lines.join('\n'));

  const stack = await whenUp(project, launch(project, [], { env: SHELL }));
  const good = await insertJob(stack, 'spoils', { fails: false });
  await untilJob(stack, good, { status: 'succeeded' });
  const bad = await insertJob(stack, 'spoils', { fails: true });
  await untilJob(stack, bad, { status: 'dead_letter' });
  const later = await insertJob(stack, 'spoils', { fails: false });
  await untilJob(stack, later, { status: 'succeeded' });

  await eventually(() => {
    for (const id of [good, later]) expect(stack.output()).toMatch(new RegExp(`spoils ${id} .*succeeded`));
    expect(stack.output()).toMatch(new RegExp(`spoils ${bad} .*dead letter`));
  });
  expect(stack.output()).not.toMatch(/round failed|not ours|mirror failed|uncaught/);
  expect(await stack.stop()).toBe(0);
});
