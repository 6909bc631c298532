import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { defineHandler } from '../../../core/handler/handler.ts';

const base = { jobType: 'sync', payload: z.object({}) };
const define = (options: object) => defineHandler({ ...base, run: async () => undefined, ...options });

it('a definition keeps the settings and secrets that it names', () => {
  const settings = { API_URL: 'required', PAGE_SIZE: { default: '50' }, PROXY: { default: '' } } as const;

  expect(define({ settings, secrets: ['API_TOKEN'] })).toMatchObject({ settings, secrets: ['API_TOKEN'] });
});

it('a run has exactly the named settings and secrets, as strings', () => {
  const definition = defineHandler({
    ...base,
    settings: { API_URL: 'required', PAGE_SIZE: { default: '50' } },
    secrets: ['API_TOKEN'],
    run: async ({ settings, secrets }) => {
      const all: string[] = [settings.API_URL, settings.PAGE_SIZE, secrets.API_TOKEN];
      // @ts-expect-error: the definition names no such setting.
      settings.API_URI;
      // @ts-expect-error: the definition names no such secret.
      secrets.API_URL;
      return all;
    },
  });
  const without = defineHandler({
    ...base,
    // @ts-expect-error: the definition names no setting.
    run: async ({ settings }) => settings.API_URL,
  });
  const together = defineHandler({
    ...base,
    secrets: ['API_TOKEN'],
    // @ts-expect-error: the definition names no such secret.
    runBatch: async (jobs) => new Map(jobs.map(({ jobId, secrets }) => [jobId, secrets.API_TOKN])),
  });

  expect([definition, without, together].every(({ jobType }) => jobType === 'sync')).toBe(true);
});

describe('a definition is refused that has', () => {
  const NAME = 'expected a name of 2 to 100 letters, digits or _, a letter first, got';
  const OURS = 'expected a name that neither Lambda nor Millrace uses, got';

  it.each([
    ['settings in a list', { settings: ['API_URL'] }, "settings: expected an object such as { API_URL: 'required' }"],
    ['a value in place of an option', { settings: { PAGE_SIZE: '50' } }, "settings.PAGE_SIZE: expected 'required' or"],
    ['a number as default', { settings: { PAGE_SIZE: { default: 50 } } }, "settings.PAGE_SIZE: expected 'required' or"],
    ['another option', { settings: { AB: { default: '', min: 1 } } }, "settings.AB: expected 'required' or { default"],
    ['a setting with a hyphen', { settings: { 'api-url': 'required' } }, `settings: ${NAME} "api-url"`],
    ['a setting of one letter', { settings: { A: 'required' } }, `settings: ${NAME} "A"`],
    ['a setting of Millrace', { settings: { MILLRACE_STAGE: 'required' } }, `settings: ${OURS}`],
    ['a setting of AWS', { settings: { AWS_REGION: 'required' } }, `settings: ${OURS} "AWS_REGION"`],
    ['a setting of Lambda', { settings: { LAMBDA_TASK_ROOT: 'required' } }, `settings: ${OURS}`],
    ['a setting of Node', { settings: { NODE_OPTIONS: 'required' } }, `settings: ${OURS}`],
    ['one secret', { secrets: 'API_TOKEN' }, "secrets: expected a list of names, such as ['API_TOKEN'], got"],
    ['secrets by name', { secrets: { API_TOKEN: 'required' } }, 'secrets: expected a list of names'],
    ['a secret that starts with a digit', { secrets: ['AB', '1B'] }, `secrets[1]: ${NAME} "1B"`],
    ['a secret without a name', { secrets: [undefined] }, `secrets[0]: ${NAME} nothing`],
    ['the variable of the database', { secrets: ['DATABASE_URL'] }, `secrets[0]: ${OURS} "DATABASE_URL"`],
    ['a secret twice', { secrets: ['AB', 'AB'] }, 'secrets[1]: expected each name once, got "AB"'],
    [
      'a secret that is a setting',
      { settings: { AB: 'required' }, secrets: ['AB'] },
      'secrets[0]: expected a name that is not in settings, got "AB"',
    ],
    [
      'too many secrets',
      { secrets: Array.from({ length: 21 }, (_, n) => `TOKEN_${n}`) },
      'secrets: expected at most 20',
    ],
  ])('%s', (_what, options, sentence) => {
    expect(() => define(options)).toThrow(`sync: ${sentence}`);
  });
});
