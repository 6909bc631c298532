import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { checkPayloadText, parsePayload, payloadJson } from '../../../core/handler/payload.ts';

const anything = { payload: z.unknown() };

describe('a payload with more than 100,000 values', () => {
  const many = (length: number) => `{"a":[${Array(length).fill('0').join(',')}]}`;
  const objects = `[${Array(100_000).fill('{}').join(', ')}]`;
  const nested = `[${Array(50_000).fill('[1]').join(',')}]`;

  it.each([many(340_000), many(99_999), objects, nested])('is refused by every interface %#', async (json) => {
    const fault = /^payload: has \d{6} JSON values, more than the limit of 100000: store it elsewhere/;

    await expect(parsePayload(json, anything.payload)).rejects.toThrow(fault);
    await expect(checkPayloadText(json)).rejects.toThrow(fault);
    expect(() => payloadJson(JSON.parse(json))).toThrow(fault);
  });

  it('is refused, and one of exactly 100,000 values is not', async () => {
    await expect(parsePayload(many(99_998), anything.payload)).resolves.toBeTypeOf('object');
  });

  it('is not confused with a long string', async () => {
    const json = JSON.stringify(`"${',[{'.repeat(100_000)}`);

    await expect(parsePayload(json, anything.payload)).resolves.toBeTypeOf('string');
  });
});
