import fc from 'fast-check';
import { expect, it } from 'vitest';
import { memberTexts } from '../../../cli/backend/by-api/document.ts';
import { compactJson, jsonText } from '../../support/json-text.ts';

it('the members of an answer keep every digit, escape and level', () => {
  fc.assert(
    fc.property(jsonText, jsonText, (payload, result) => {
      const answer = `{ "id": "1", "payload": ${payload},\n"result":${result} }`;

      expect([...memberTexts(answer)]).toEqual([
        ['id', '"1"'],
        ['payload', compactJson(payload)],
        ['result', compactJson(result)],
      ]);
    }),
  );
});

it('an answer without members has no texts', () => {
  expect(memberTexts('{}').size).toBe(0);
});
