import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { EXISTING, synthesise } from './synthesise.ts';

describe('synth', () => {
  it.each([
    ['throws while it is imported', "throw new Error('no key');", 'bad.ts:1: Error: no key'],
    [
      'exports nothing by default',
      'export const a = 1;',
      'bad.ts: has no default export; write `export default defineHandler({ … })`',
    ],
    ['does not compile', 'export default {', 'bad.ts'],
    ['ends the process', 'process.exit(0);', /bad\.ts: ends the process \(exit code 0\) while it is imported$/],
    [
      'never finishes its import',
      'await new Promise(() => undefined);',
      /bad\.ts: has a top-level await that never ends$/,
    ],
  ])('refuses a handler file that %s', async (_case, source, sentence) => {
    const handlers = await temporaryFolder();
    await writeFile(join(handlers, 'bad.ts'), source);

    const made = synthesise({ ...EXISTING, handlers });

    await expect(made).rejects.toThrow(sentence);
  });

  it.each([
    [
      'a concurrency of 1',
      'concurrency: 1',
      'bad.ts:3: SettingError: send_invoice: concurrency: expected a whole number from 2 to 1000, got 1',
    ],
    [
      'a batch size of 0',
      'batch: { size: 0 }',
      'bad.ts:3: SettingError: send_invoice: batch.size: expected a whole number from 1 to 10000, got 0',
    ],
    [
      'a memory of 64 MB',
      'memory: 64',
      'bad.ts:3: SettingError: send_invoice: memory: expected a whole number from 128 to 10240, got 64',
    ],
    [
      'a timeout above 880 s',
      "timeout: '895s'",
      'bad.ts:3: SettingError: send_invoice: timeout: expected whole seconds from 1s to 880s, got "895s"',
    ],
  ])('refuses a handler with %s and names file and line', async (_case, option, sentence) => {
    const handlers = await temporaryFolder();
    await writeFile(join(handlers, 'bad.ts'), sourceWith(option));

    const made = synthesise({ ...EXISTING, handlers });

    await expect(made).rejects.toThrow(sentence);
  });

  it('refuses a second file with the same job type', async () => {
    const handlers = await temporaryFolder();
    const source = sourceWith('');
    await writeFile(join(handlers, 'send-invoice.ts'), source);
    await writeFile(join(handlers, 'invoice.ts'), source);

    const made = synthesise({ ...EXISTING, handlers });

    await expect(made).rejects.toThrow('invoice.ts: defines send_invoice: send-invoice.ts already defines it');
  });
});

function sourceWith(option: string): string {
  const index = JSON.stringify(new URL('../../core/index.ts', import.meta.url).pathname);
  return `import { defineHandler } from ${index};
    const payload = { '~standard': { version: 1, vendor: 'x', validate: (value) => ({ value }) } };
    export default defineHandler({ jobType: 'send_invoice', payload, run: async () => undefined, ${option} });`;
}
