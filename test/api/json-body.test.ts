import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readJsonBody } from '../../api/json-body.ts';
import { jsonText } from '../support/json-text.ts';

const read = (body: string) =>
  readJsonBody(
    new Request('http://api.example', { method: 'POST', body, headers: { 'content-type': 'application/json' } }),
  );

it('a payload keeps the text that was sent', async () => {
  await fc.assert(
    fc.asyncProperty(jsonText, async (json) => {
      const body = await read(`{"jobs": [0, {"payload": ${json}}]}`);

      expect(body?.payloadOf(['jobs', 1])).toBe(json.trim());
      expect(body?.payloadOf(['jobs', 2])).toBeUndefined();
    }),
  );
});
