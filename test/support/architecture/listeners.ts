import { isIn, lineAt, type Rule } from './source-file.ts';
import { nameOf } from './syntax.ts';

const HOME = 'local/loopback/loopback-server.ts';
/** Classes and functions that create a server, in addition to methods named `listen`. */
const MAKERS = /^(createServer|createSecureServer|Server|SMTPServer|WebSocketServer|serve)$/;

/** One function opens the servers of a stack and refuses requests from other sites, so every server has the check. */
export const loopbackServers: Rule = {
  name: 'loopback servers',
  check: ({ path, text, syntax }) =>
    (isIn(path, ['local', 'cli']) && path !== HOME ? (syntax?.places ?? []) : [])
      .filter(({ node }) => {
        if (node.type !== 'CallExpression' && node.type !== 'NewExpression') return false;
        const callee = node.callee as typeof node | undefined;
        const called = nameOf(callee) ?? nameOf(callee?.property) ?? '';
        return MAKERS.test(called) || (called === 'listen' && node.type === 'CallExpression');
      })
      .map(({ node }) => ({ path, line: lineAt(text, node.start), message: `opens a server; use ${HOME}` })),
};
