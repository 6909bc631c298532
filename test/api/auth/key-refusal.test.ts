import { expect, it } from 'vitest';
import { openApi } from '../world.ts';

it('a key that nothing reads is refused with the reason', async () => {
  const { ask } = await openApi({ keyRefusal: 'this API reads no API keys' });

  const body = { name: 'unread', scopes: ['keys:admin'] };
  const answer = await ask('/admin/api-keys', { method: 'POST', body });

  expect({ status: answer.status, detail: answer.body.detail }).toEqual({
    status: 409,
    detail: 'this API reads no API keys',
  });
  expect((await ask('/admin/api-keys')).body.items).toEqual([]);
});
