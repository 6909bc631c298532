import { isIn, lineAt, type Rule } from './source-file.ts';
import { isNode, type Node, nameOf, type Place, textOf } from './syntax.ts';

const GOVERNED = ['core', 'api', 'functions', 'infra', 'local', 'cli'];

/** Modules that open connections, the names that open them, and the files that may import these names. */
const MAKERS = [
  // The index of pg loads another driver when NODE_PG_FORCE_NATIVE is set.
  { module: /^pg$/, opens: /./, makers: [] },
  { module: /^pg(-pool|\/.*)$/, opens: /./, makers: ['core/postgres/connect.ts'] },
  {
    module: /^@aws-sdk\/client-/,
    opens: /(Client|^SQS|^Lambda|^Scheduler|^SecretsManager|^default|^\*)$/,
    makers: ['core/aws/clients.ts', 'core/settings/read-secret.ts'],
  },
];

/** Returns the names that a declaration imports, except types. */
function importedBy({ node, parents }: Place): { from: string; names: string[] } {
  if (node.type === 'ImportExpression') return { from: textOf(node.source) ?? '', names: ['*'] };
  const declaration = parents[0];
  const isValue = (one: Node | undefined) => one !== undefined && one.importKind !== 'type';
  if (!/^Import(Default|Namespace)?Specifier$/.test(node.type) || !isValue(node) || !isValue(declaration)) {
    return { from: '', names: [] };
  }
  const name = node.type === 'ImportSpecifier' ? (nameOf(node.imported) ?? 'default') : '*';
  return { from: (isNode(declaration?.source) && textOf(declaration.source)) || '', names: [name] };
}

/** One file opens connections to Postgres, and one opens AWS clients, so that no default of a library applies. */
export const clientMaker: Rule = {
  name: 'client maker',
  check: ({ path, text, syntax }) =>
    (isIn(path, GOVERNED) ? (syntax?.places ?? []) : []).flatMap((place) => {
      const { from, names } = importedBy(place);
      const claim = MAKERS.find(({ module, opens }) => module.test(from) && names.some((name) => opens.test(name)));
      if (claim === undefined || claim.makers.includes(path)) return [];
      const makers = claim.makers.join(' or ') || 'nothing';
      const message = `imports ${names.join(', ')} of ${from}; ${makers} opens connections with it`;
      return [{ path, line: lineAt(text, place.node.start), message }];
    }),
};
