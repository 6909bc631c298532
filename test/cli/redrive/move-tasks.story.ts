import { expect, it } from 'vitest';
import { moveAll } from '../../../cli/redrive/move-tasks.ts';

it('moveAll stops waiting for a task that the server drops as soon as it ends', async () => {
  const queues = {
    describe: async () => ({ arn: 'arn', depth: 0, retentionSeconds: 0 }),
    moveTasks: async () => [],
    startMove: async () => 'handle',
    cancelMove: async () => undefined,
  };
  const seen = { name: 'mail', url: 'queue', arn: 'arn', depth: 3, task: undefined, failure: undefined };
  const never = new AbortController().signal;

  const ended = await moveAll(queues as never, [seen], { rate: undefined, interrupted: never });

  expect(ended).toMatchObject([{ status: 'UNKNOWN', moved: 0, toMove: 3, left: 0 }]);
});
