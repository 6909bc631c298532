import { parseSync } from 'oxc-parser';

/** A node of the syntax tree, in the shape of ESTree. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** A node and its ancestors, the nearest first. */
export interface Place {
  readonly node: Node;
  readonly parents: readonly Node[];
}

export interface Import {
  /** The text between the quotes; undefined when it is computed. */
  readonly target: string | undefined;
  readonly start: number;
  /** Whether the other module loads with this one, with a call, or never since the import is only for types. */
  readonly when: 'load' | 'call' | 'never';
}

export interface Text {
  readonly value: string;
  readonly start: number;
}

export interface Syntax {
  readonly places: readonly Place[];
  readonly comments: readonly Text[];
}

/** Parses a TypeScript or JavaScript file; throws on a syntax error. */
export function parseSyntax(path: string, text: string): Syntax {
  const { program, comments, errors } = parseSync(path, text);
  if (errors[0] !== undefined) throw new Error(`${path} does not parse: ${errors[0].message}`);
  return { places: [...walk(program, [])], comments };
}

function* walk(value: unknown, parents: readonly Node[]): Generator<Place> {
  if (Array.isArray(value)) for (const item of value) yield* walk(item, parents);
  if (!isNode(value)) return;
  yield { node: value, parents };
  const inside = [value, ...parents];
  for (const child of Object.values(value)) yield* walk(child, inside);
}

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

const IMPORTING = new Set([
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
  'TSImportType',
]);

/** Returns every reference to another module: import, re-export, dynamic import and a type's `import('…')`. */
export function importsOf(syntax: Syntax | undefined): Import[] {
  return (syntax?.places ?? [])
    .filter(({ node }) => IMPORTING.has(node.type) && isNode(node.source))
    .map(({ node }) => ({ target: textOf(node.source), start: node.start, when: whenLoaded(node) }));
}

function whenLoaded({ type, importKind, exportKind }: Node): Import['when'] {
  if (type === 'ImportExpression') return 'call';
  return type === 'TSImportType' || importKind === 'type' || exportKind === 'type' ? 'never' : 'load';
}

/** Returns the text of a string, or of a template with `…` for each inserted value; undefined for other nodes. */
export function textOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node.type !== 'TemplateLiteral' || !Array.isArray(node.quasis)) return undefined;
  return node.quasis.map((quasi: { value: { raw: string } }) => quasi.value.raw).join('…');
}

/** Returns whether a template inserts a value. */
export function isFilledIn(node: Node): boolean {
  return Array.isArray(node.expressions) && node.expressions.length > 0;
}

/** Returns the name of an identifier, or undefined for another node. */
export function nameOf(node: unknown): string | undefined {
  return isNode(node) && node.type === 'Identifier' && typeof node.name === 'string' ? node.name : undefined;
}
