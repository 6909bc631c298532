import { expect, it } from 'vitest';
import * as z from 'zod';
import { defineHandler, openClient } from '../../../core/index.ts';
import { openBothWays } from '../../cli/backend/api-world.ts';

const { pool, url, adminKey: key } = await openBothWays();
const client = openClient({ url, key });
const mail = defineHandler({ jobType: 'mail', payload: z.object({ to: z.string() }), run: async () => 7 });

it('waits for a job of which only the id is known', async () => {
  const { id } = await client.enqueue(mail, { to: 'ada' });
  await pool.query(
    `select millrace.finish(array[$1::bigint], null, array['succeeded'], array['7'], array[null], null, null)`,
    [id],
  );

  expect(await client.wait(id)).toBe(7);
  await expect(client.wait(undefined as never)).rejects.toThrow(
    'job: expected the job that enqueue returned, or its id, got nothing',
  );
  await expect(client.wait(17 as never)).rejects.toThrow(/^job: expected .* got 17$/);
});

it('shows the progress that a handler reported', async () => {
  const { id } = await client.enqueue(mail, { to: 'ada' });
  const before = await client.show(id);
  await pool.query(
    `update millrace.jobs_live set progress = '{"fraction": 0.5, "text": "half", "at": "2027-01-31T02:00:00Z"}'
       where id = $1`,
    [id],
  );

  expect(before).toMatchObject({ progress: null });
  expect(await client.show(id)).toMatchObject({ progress: { fraction: 0.5, text: 'half' } });
});
