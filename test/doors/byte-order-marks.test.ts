import { expect, it } from 'vitest';
import { each, openDoors, run, same } from './world.ts';

const { engine, ask, cli, text } = await openDoors();

it('a byte order mark before a payload or a body is accepted', async () => {
  const doors = {
    typed: () => text['millrace enqueue']!({ payload: '\ufeff{"n": 1}' }),
    piped: () => text['millrace enqueue -']!({ payload: '\ufeff{"n": 1}' }),
    sent: async () => (await ask('/jobs', '\ufeff{"job_type": "work", "payload": {"n": 1}}')).body,
  };

  const answers = await each(doors, async (door) => (await run(engine, await door({}))).got);

  expect(answers).toEqual(same(doors, { n: 1 }));
});

it('a byte order mark before statements is accepted', async () => {
  const [typed, piped] = [await cli(['sql', '\ufeffselect 1 as one']), await cli(['sql'], '\ufeffselect 1 as one')];

  expect([typed.stdout, piped.stdout]).toEqual(['1\n', '1\n']);
});

it('a second byte order mark belongs to the text', async () => {
  const { refused } = (await text['millrace enqueue']!({ payload: '\ufeff\ufeff{}' })) as { refused: string };

  expect(refused).toContain('is not JSON');
});
