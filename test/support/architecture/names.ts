import { isIn, type Rule, type Violation } from './source-file.ts';

const BANNED = 'utils helpers common shared misc lib types interfaces constants manager service base'.split(' ');
// These mean nothing as the last word of a name either; the others can, as in `list-job-types`.
const BANNED_ENDING = /-(utils?|helpers?|manager|service|base)$/;

const KEBAB = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const MIGRATION = /^\d{4}_[a-z0-9]+(_[a-z0-9]+)*\.sql$/;
const CODE = ['core', 'api', 'functions', 'infra', 'local', 'cli', 'test', 'bench', 'examples', 'docs', 'migrations'];

function partsOf(path: string): string[] {
  return path.split('/').map((part) => part.split('.')[0] ?? '');
}

function rule(name: string, judge: (path: string) => string | undefined): Rule {
  return {
    name,
    check: ({ path }): Violation[] => {
      const message = isIn(path, CODE) ? judge(path) : undefined;
      return message === undefined ? [] : [{ path, line: 1, message }];
    },
  };
}

/** A file or folder has the name that a newcomer would search for. */
export const bannedNames = rule('banned names', (path) => {
  const bad = partsOf(path).find((part) => BANNED.includes(part) || BANNED_ENDING.test(part));
  return bad && `is called ${bad}, which does not describe its content`;
});

/** Files and folders are kebab-case; migrations are a number and snake_case, which sorts and reads as SQL does. */
export const kebabCase = rule('kebab-case', (path) => {
  const file = path.split('/').at(-1) ?? '';
  const folders = partsOf(path)
    .slice(0, -1)
    .filter((part) => !part.startsWith('__'));
  if (isIn(path, ['migrations']) && file.endsWith('.sql')) {
    return MIGRATION.test(file) ? undefined : `${file} must have a name such as 0001_what_it_adds.sql`;
  }
  const bad = [...folders, ...(file === 'README.md' ? [] : [file.split('.')[0] ?? ''])].find((p) => !KEBAB.test(p));
  return bad && `${bad} is not kebab-case`;
});
