import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { defineHandler } from '../../../core/index.ts';
import type { ReadFile } from '../../../local/functions/handler-bundles.ts';
import { openTargetCheck } from '../../../local/functions/unknown-targets.ts';

function read(name: string, onDeadLetter?: string): [string, Promise<ReadFile>] {
  const definition = defineHandler({
    jobType: name,
    payload: z.object({}),
    ...(onDeadLetter === undefined ? {} : { onDeadLetter }),
    run: async () => undefined,
  });
  const file = { definition, name, file: `/shop/jobs/${name}.ts`, bundle: '', functionName: name, isNew: true };
  return [name, Promise.resolve(file)];
}

const broken = (name: string): [string, Promise<ReadFile>] => [name, Promise.resolve(`jobs/${name}.ts:1: broken`)];

describe('an onDeadLetter of a handler on this machine', () => {
  const UNKNOWN =
    'jobs/charge.ts: onDeadLetter: no handler is named tell_suport; did you mean tell_support? ' +
    '(the jobs for its dead letters wait)';

  it('that names no handler is reported once, and again after it was right', async () => {
    const lines: string[] = [];
    const check = openTargetCheck({ project: '/shop', printLine: (line) => lines.push(line) });

    await check(new Map([read('charge', 'tell_suport'), read('tell_support')]));
    await check(new Map([read('charge', 'tell_suport'), read('tell_support')]));
    expect(lines).toEqual([UNKNOWN]);

    await check(new Map([read('charge', 'tell_support'), read('tell_support')]));
    await check(new Map([read('charge', 'tell_suport'), read('tell_support')]));
    expect(lines).toEqual([UNKNOWN, UNKNOWN]);
  });

  it.each([
    ['that names a handler', [read('charge', 'tell_support'), read('tell_support')]],
    ['that names a handler whose file is broken', [read('charge', 'tell_support'), broken('tell_support')]],
    ['that is empty', [read('charge', '')]],
    ['that is absent', [read('charge')]],
  ])('%s is not reported', async (_what, files) => {
    const lines: string[] = [];
    const check = openTargetCheck({ project: '/shop', printLine: (line) => lines.push(line) });

    await check(new Map(files));

    expect(lines).toEqual([]);
  });
});
