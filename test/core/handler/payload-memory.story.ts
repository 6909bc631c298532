import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

const PAYLOAD = new URL('../../../core/handler/payload.ts', import.meta.url);
const ROOT = new URL('../../..', import.meta.url);

/** Lambda's runtime limits the spaces of the heap to 5% and 90% of the memory; a handler has 256 MB by default. */
const HEAP = ['--max-semi-space-size=12', '--max-old-space-size=230'];

/** Parses payloads in a new process, as a batch does, and returns its peak of memory in MB. */
function peak(payloads: string): number {
  const script = `
    const { parsePayload } = await import(${JSON.stringify(PAYLOAD.href)});
    const z = await import('zod');
    await Promise.allSettled(${payloads});
    console.log(Math.round(process.resourceUsage().maxRSS / 1024));`;
  return Number(
    execFileSync(process.execPath, [...HEAP, '--input-type=module', '-e', script], { encoding: 'utf8', cwd: ROOT }),
  );
}

it.each([
  ['one of 340,000 zeros', `[parsePayload('[' + Array(340_000).fill(0) + ']', z.array(z.string()))]`],
  [
    'ten of 99,000 values that do not match their schema',
    `Array.from({ length: 10 }, () => parsePayload('[' + Array(99_000).fill(0) + ']', z.array(z.string())))`,
  ],
  [
    'ten of 260,000 empty objects',
    `Array.from({ length: 10 }, () => parsePayload('[' + Array(260_000).fill('{}') + ']', z.unknown()))`,
  ],
])('payloads take less than 256 MB: %s', (_name, payloads) => {
  expect(peak(payloads)).toBeLessThan(256);
});
