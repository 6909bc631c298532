import { isIn, lineAt, type Rule } from './source-file.ts';

const SESSIONS = /pg_stat_activity\b[^`"]*/g;
// The cases of the rules themselves.
const CASES = 'test/support/architecture';
const CHOSEN = /\bdatname\b|\bpid = |\busing \(pid\)/;

/** A test looks only at the sessions of its own database: others run on the same server at the same time. */
export const ownSessions: Rule = {
  name: 'own sessions',
  check: ({ path, text }) =>
    (isIn(path, ['test']) && !isIn(path, [CASES]) && path.endsWith('.ts') ? [...text.matchAll(SESSIONS)] : [])
      .filter(([statement]) => !CHOSEN.test(statement))
      .map(({ index }) => ({ path, line: lineAt(text, index), message: 'reads the sessions of other databases' })),
};
