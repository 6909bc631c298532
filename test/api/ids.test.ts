import { afterEach, expect, it, vi } from 'vitest';
import { Id } from '../../api/schemas.ts';

afterEach(() => vi.restoreAllMocks());

it.each(['1', '42', '9223372036854775807'])('an id can be %s', (id) => {
  expect(Id.parse(id)).toBe(id);
});

it.each(['9223372036854775808', '10000000000000000000', '9'.repeat(1000)])('%s is larger than the largest id', (id) => {
  expect(Id.safeParse(id).error?.message).toContain('is larger than the largest id');
});

it('digits that fill a request are refused without being converted, which takes quadratic time', () => {
  const convert = vi.spyOn(globalThis, 'BigInt');

  const { success } = Id.safeParse('9'.repeat(1_000_000));

  expect(success).toBe(false);
  expect(convert).not.toHaveBeenCalled();
});
