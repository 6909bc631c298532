import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';

const GREET = (most: number) => `
import * as z from 'zod';
import { defineHandler } from '../../core/handler/handler.ts';

export default defineHandler({
  jobType: 'greet',
  payload: z.object({ name: z.string().max(${most}) }),
  run: async ({ payload }) => ({ greeting: \`Hello, \${payload.name}\` }),
});
`;

let project: Project;
let stack: RunningStack;
beforeAll(async () => {
  project = await makeProject({ 'greet.ts': GREET(5) });
  stack = await startUp(project);
});
afterAll(async () => {
  await stack?.stop();
  await project?.remove();
});

const request = async (path: string, body?: unknown) => {
  const response = await fetch(`${stack.state.apiUrl}${path}`, {
    ...(body !== undefined && {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: each test reads the fields that it expects
  const document: any = await response.json();
  return { status: response.status, location: response.headers.get('location'), body: document };
};

describe('the API of npm start', () => {
  it('listens at the address in dev.json and in the banner, and requires no credential', async () => {
    const { status, body } = await request('/readyz');

    expect({ status, body }).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(stack.output()).toContain(`API        ${stack.state.apiUrl}`);
  });

  it('enqueues a job and shows its success', async () => {
    const { status, location } = await request('/jobs', { job_type: 'greet', payload: { name: 'Ada' } });

    const done = await eventually(
      async () => {
        const reply = await request(location as string);
        expect(reply.body.status, stack.output()).toBe('succeeded');
        return reply;
      },
      { interval: 50 },
    );

    expect(status).toBe(201);
    expect(done.body.result).toEqual({ greeting: 'Hello, Ada' });
  });

  it('refuses a payload that the handler rejects, and accepts it after the handler changes', async () => {
    const before = await request('/jobs', { job_type: 'greet', payload: { name: 'Augusta' } });
    await project.writeHandler('greet.ts', GREET(50));

    const after = await eventually(
      async () => {
        const reply = await request('/jobs', { job_type: 'greet', payload: { name: 'Augusta' } });
        expect(reply.status, stack.output()).toBe(201);
        return reply;
      },
      { interval: 200 },
    );

    expect(before).toMatchObject({ status: 422, body: { errors: [{ pointer: '/payload/name' }] } });
    expect(after.body.job_type).toBe('greet');
  });

  it('runs a round of the dispatcher on request', async () => {
    const { status, body } = await request('/admin/jobs/process', {});

    expect({ status, body }).toEqual({ status: 200, body: { claimed: expect.any(Number), sent: expect.any(Number) } });
  });
});
