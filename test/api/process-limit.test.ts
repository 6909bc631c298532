import { expect, it } from 'vitest';
import { openApi } from './world.ts';

const { ask } = await openApi();

it('claims at most the given number of jobs', async () => {
  const { status, body } = await ask('/admin/jobs/process', { method: 'POST', body: { limit: 7 } });

  expect({ status, body }).toEqual({ status: 200, body: { claimed: 7, sent: 1 } });
});

it.each([{ limit: 0 }, { limit: 10_001 }, { limit: 1.5 }, { limit: '7' }, { batch_size: 7 }, [7]])(
  'rejects the body %j',
  async (body) => {
    const { status } = await ask('/admin/jobs/process', { method: 'POST', body });

    expect(status).toBe(422);
  },
);
