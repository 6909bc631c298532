import { expect, it } from 'vitest';
import { stackOf } from '../../../infra/plan/handler-stacks.ts';

it('the stack of a handler depends on its name, not on other handlers', () => {
  // Known values: a change would move queues of existing deployments, which CloudFormation cannot do.
  expect(['send_reminder', 'make_thumbnail', 'index.vector'].map((name) => stackOf(name, 10))).toEqual([7, 9, 9]);
});

it('handlers are distributed so that a stack has room for its share', () => {
  const stacks = Array.from({ length: 300 }, (_, n) => stackOf(`handler_${n}`, 10));

  const sizes = [...Map.groupBy(stacks, (stack) => stack).values()].map(({ length }) => length);

  expect(new Set(stacks)).toEqual(new Set([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
  expect(Math.max(...sizes)).toBeLessThan(55);
});
