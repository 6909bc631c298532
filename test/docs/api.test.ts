import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ROUTES } from '../../api/routes.ts';
import { ROLES, SCOPES } from '../../core/access/scopes.ts';
import { ROOT, readDocument, tableBelow } from './documents.ts';

const page = readDocument('docs/api.md');
const code = (text = '') => [...text.matchAll(/`([^`]+)`/g)].map(([, word]) => word);

it('docs/api.md lists every operation with the scopes of its route', () => {
  const rows = tableBelow(page, 'Operations');

  const shown = rows.map(([operation, scopes, does]) => [code(operation)[0], code(scopes), does]);

  expect(shown).toEqual(
    ROUTES.map(({ method, path, scope, summary }) => [
      `${method.toUpperCase()} ${path}`,
      scope === 'none' ? [] : scope,
      summary,
    ]),
  );
});

it('docs/api.md lists the scopes of each role', () => {
  const rows = page.text.split('\n').flatMap((line) => /^\| `(\w+)` \| (.*) \|$/.exec(line) ?? []);
  const shown = Object.keys(ROLES).map((role) => [role, code(rows[rows.indexOf(role) + 1])]);

  const { admin, ...some } = Object.fromEntries(shown);

  expect(some).toEqual({ producer: ROLES.producer, viewer: ROLES.viewer, operator: ROLES.operator });
  expect(admin).toEqual([]);
  expect(ROLES.admin).toBe(SCOPES);
});

it('docs/api.md names exactly the settings that the code reads', () => {
  const files = [
    'api/auth/settings.ts',
    'core/access/token-settings.ts',
    'functions/api.ts',
    'cli/backend/by-api/client.ts',
  ];
  const sources = files.map((path) => readFileSync(`${ROOT}/${path}`, 'utf8'));
  const names = (text: string) => [...new Set(text.match(/MILLRACE_[A-Z_]+/g))].toSorted();

  const shown = names(page.text);

  expect(shown).toEqual(names(sources.join()).filter((name) => name !== 'MILLRACE_VERSION'));
});
