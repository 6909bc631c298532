import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readJsonBody } from '../../api/json-body.ts';
import { compactJson, jsonText } from '../support/json-text.ts';

const read = (body: string) =>
  readJsonBody(
    new Request('http://api.example', { method: 'POST', body, headers: { 'content-type': 'application/json' } }),
  );

it('a part of a body keeps every digit, escape and level', async () => {
  await fc.assert(
    fc.asyncProperty(jsonText, async (json) => {
      const body = await read(`{"jobs": [0, {"payload": ${json}}]}`);

      expect(body?.textOf(['jobs', 1, 'payload'])).toBe(compactJson(json));
      expect(body?.textOf(['jobs', 2, 'payload'])).toBeUndefined();
    }),
  );
});
