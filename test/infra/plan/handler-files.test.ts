import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXISTING, synthesise } from '../synthesise.ts';

describe('one sentence for', () => {
  it.each([
    ['a handler file that throws at import', "throw new Error('no key');", 'bad.ts:1: Error: no key'],
    [
      'one that exports nothing',
      'export const a = 1;',
      'bad.ts: has no default export; write `export default defineHandler({ … })`',
    ],
    ['one that does not compile', 'export default {', 'bad.ts'],
  ])('%s', async (_case, source, sentence) => {
    const handlers = await mkdtemp(join(tmpdir(), 'millrace-handlers-'));
    await writeFile(join(handlers, 'bad.ts'), source);

    const made = synthesise({ ...EXISTING, handlers });

    await expect(made).rejects.toThrow(sentence);
  });

  it.each([
    [
      'concurrency 1',
      'concurrency: 1',
      'bad.ts:3: SettingError: concurrency: expected a whole number from 2 to 1000, got 1',
    ],
    [
      'batch 0',
      'batch: { size: 0 }',
      'bad.ts:3: SettingError: batch.size: expected a whole number from 1 to 10000, got 0',
    ],
    ['memory 64', 'memory: 64', 'bad.ts:3: SettingError: memory: expected a whole number from 128 to 10240, got 64'],
    [
      'a timeout and margin over 900 s',
      "timeout: '895s'",
      'bad.ts:3: SettingError: timeout: expected a whole number from 1 to 880, got 895',
    ],
  ])('%s', async (_case, option, sentence) => {
    const handlers = await mkdtemp(join(tmpdir(), 'millrace-handlers-'));
    await writeFile(join(handlers, 'bad.ts'), sourceWith(option));

    const made = synthesise({ ...EXISTING, handlers });

    await expect(made).rejects.toThrow(sentence);
  });

  it('a second file of one job type', async () => {
    const handlers = await mkdtemp(join(tmpdir(), 'millrace-handlers-'));
    const source = sourceWith('');
    await writeFile(join(handlers, 'send-invoice.ts'), source);
    await writeFile(join(handlers, 'invoice.ts'), source);

    const made = synthesise({ ...EXISTING, handlers });

    await expect(made).rejects.toThrow('invoice.ts: defines send_invoice: send-invoice.ts defines it already');
  });
});

function sourceWith(option: string): string {
  const index = JSON.stringify(new URL('../../../core/index.ts', import.meta.url).pathname);
  return `import { defineHandler } from ${index};
    const payload = { '~standard': { version: 1, vendor: 'x', validate: (value) => ({ value }) } };
    export default defineHandler({ jobType: 'send_invoice', payload, run: async () => undefined, ${option} });`;
}
