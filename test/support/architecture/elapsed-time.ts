import { isIn, lineAt, type Rule } from './source-file.ts';
import { isNode, type Node, nameOf, type Place } from './syntax.ts';

const TEST = /\.(test|story)\.ts$/;

function isCall(node: unknown, object: string, property: string): boolean {
  if (!isNode(node) || node.type !== 'CallExpression' || !isNode(node.callee)) return false;
  return nameOf(node.callee.object) === object && nameOf(node.callee.property) === property;
}

/** Matches `Date.now() - begun`, but not the subtraction of a literal, which computes a date. */
function isAge(node: Node): boolean {
  if (node.type !== 'BinaryExpression' || node.operator !== '-') return false;
  return isCall(node.left, 'Date', 'now') && nameOf(node.right) !== undefined;
}

function readsClock({ node }: Place): boolean {
  return isCall(node, 'performance', 'now') || isCall(node, 'process', 'hrtime') || isAge(node);
}

/** A test counts pages, bytes, steps or processor time, since elapsed time depends on the machine. */
export const elapsedTime: Rule = {
  name: 'elapsed time',
  check: ({ path, text, syntax }) =>
    (isIn(path, ['test']) && TEST.test(path) ? (syntax?.places ?? []) : [])
      .filter(readsClock)
      .map(({ node }) => ({ path, line: lineAt(text, node.start), message: 'measures elapsed time; count the work' })),
};
